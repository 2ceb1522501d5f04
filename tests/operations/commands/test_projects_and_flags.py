"""flags project and flags flag: list, create, on, off, plan."""

import json

import pytest

from sql.database import connect
from tests.support.command_line import CommandLine, event
from tests.support.instance import ADMIN_KEY
from tests.support.world import Caller

ADMIN = "/api/admin/projects"


@pytest.fixture(scope="module")
def line(make_database, make_app):
    """The command line on a database of its own."""
    url = make_database()
    with connect(url) as conn:
        yield CommandLine(make_app(url, MAX_PROJECTS=4), conn)


@pytest.fixture(scope="module")
def admin(line):
    """An API token of an administrator."""
    return Caller(line.app, ADMIN_KEY)


def test_lists_omit_archived_flags_and_projects(line, admin):
    admin.post(ADMIN, json={"name": "Gone", "id": "gone"})
    for project, name in (("gone", "live"), ("gone", "archived"), ("default", "other")):
        assert admin.post(f"{ADMIN}/{project}/features", json={"name": name}).status_code == 201
    admin.delete(f"{ADMIN}/gone/features/archived")
    flags = json.loads(line.does("flag", "list", "--project", "gone", "--json"))
    assert [(item["name"], item["project"]) for item in flags] == [("live", "gone")]
    assert {"live", "other"} <= {item["name"] for item in line.lists("flag")}
    assert {item["id"]: item["flags"] for item in line.lists("project")} == {"default": 1, "gone": 1}
    admin.delete(f"{ADMIN}/gone/features/live")
    assert admin.post(f"{ADMIN}/archive/gone").status_code == 200
    assert [item["id"] for item in line.lists("project")] == ["default"]


def test_a_project_is_created_as_by_the_api(line, admin):
    options = ("--name", "Check out", "--description", "Pay", "--mode", "private")
    [by_command] = line.events_of(lambda: line.does("project", "create", *options))
    body = {"name": "Check in", "description": "Pay", "mode": "private"}
    [by_api] = line.events_of(lambda: admin.post(ADMIN, json=body))
    expected = by_api["data"] | {"id": "check-out", "name": "Check out"}
    times = {key: text for key, text in by_command["data"].items() if key.endswith("At")}
    assert by_command == event("project-created", project="check-out", data=expected | times)
    [listed] = [item for item in line.lists("project") if item["id"] == "check-out"]
    assert (listed["name"], listed["mode"], listed["flags"]) == ("Check out", "private", 0)
    assert "default" in line.does("project", "list")


def test_an_invalid_project_is_refused(line):
    create = ("project", "create", "--name")
    taken = "id: already used by a project, which may be archived or deleted; choose another id"
    assert line.refuses(*create, "x", "--id", "default") == taken
    assert line.refuses(*create, "x", "--mode", "hidden").startswith("mode: must be open, ")
    assert line.refuses(*create, " ") == "name: must not be blank"
    line.does(*create, "The last")
    assert line.refuses(*create, "x").startswith("There can be at most 4 live projects")


def test_a_flag_is_switched_as_by_the_api(line, admin):
    def switch(word):
        return line.events_of(lambda: line.does("flag", word, "pay", "--environment", "development"))

    def enabled():
        return [item["enabledIn"] for item in line.lists("flag") if item["name"] == "pay"]

    assert admin.post(f"{ADMIN}/default/features", json={"name": "pay"}).status_code == 201
    assert [(item["type"], item["created_by"], item["environment"]) for item in switch("on")] == [
        ("feature-strategy-add", "system", "development"),
        ("feature-environment-enabled", "system", "development"),
    ]
    assert enabled() == [["development"]]
    assert switch("on") == []
    expected = {"project": "default", "environment": "development", "feature_name": "pay"}
    assert switch("off") == [event("feature-environment-disabled", **expected)]
    assert enabled() == [[]]


def test_a_flag_with_change_requests_is_changed_with_an_option_only(line, admin):
    config = f"{ADMIN}/default/environments/production/change-requests/config"
    assert admin.post(f"{ADMIN}/default/features", json={"name": "guarded"}).status_code == 201
    admin.put(config, json={"changeRequestsEnabled": True})
    message = (
        "Change requests are on in environment production of the project default. Propose the change, or use "
        "--skip-change-requests."
    )
    for command in (("plan", "--step", "10@now"), ("on",), ("off",)):
        whole = "flag", command[0], "guarded", "--environment", "production", *command[1:]
        assert line.refuses(*whole) == message
        line.does(*whole, "--skip-change-requests")
    line.does("flag", "plan", "guarded", "--environment", "production")
    line.does("flag", "on", "guarded", "--environment", "development")
    # Later tests switch other flags there.
    admin.put(config, json={"changeRequestsEnabled": False})


def test_a_flag_is_rolled_out_in_steps(line, admin):
    whole = ("flag", "plan", "ramp", "--environment", "production")

    def plan(*options):
        return line.does(*whole, *options)

    strategies = f"{ADMIN}/default/features/ramp/environments/production/strategies"
    assert admin.post(f"{ADMIN}/default/features", json={"name": "ramp"}).status_code == 201
    old = admin.post(strategies, json={"name": "flexibleRollout", "parameters": {"groupId": "g"}}).json["id"]
    steps = ("--step", "10@now", "--step", "50@2099-12-02T09:00:00+01:00", "--until", "2099-12-24T08:00:00Z")
    rows = [row.split() for row in plan(*steps, "--replaces", old).splitlines()]
    assert [row[1:2] + row[3:] for row in rows] == [["PERCENT", "REACHED"], ["10", "True"], ["50", "False"]]
    assert (rows[1][0], rows[2][2]) == (old, "2099-12-02T08:00:00.000Z")
    assert [one["parameters"]["groupId"] for one in admin.get(strategies).json] == ["g", "g"]
    assert plan("--skip").count("True") == 2
    assert plan().count("True") == 2
    plan("--step", "60@now", "--step", "70@2099-12-02T09:00:00Z", "--replaces", old)
    assert "Switch it on with ./flags flag on ramp --environment production." in line.run(*whole).stderr
    line.does("flag", "on", "ramp", "--environment", "production")
    assert line.run(*whole).stderr == ""
    assert plan("--stop").count("\n") == 1
    assert [one["parameters"]["rollout"] for one in admin.get(strategies).json] == ["60"]


def test_invalid_plans_are_refused(line, admin):
    admin.post(f"{ADMIN}/default/features", json={"name": "steep"})
    refused = ("flag", "plan", "steep", "--environment", "production")
    assert line.refuses(*refused, "--stop") == "The flag has 0 plans in production, not one."
    assert line.refuses(*refused, "--step", "ten@now").startswith("steps.0.percent: must be a whole number")
    assert line.refuses(*refused, "--step", "10@noon").startswith("steps.0.at: must be a date-time")
    assert line.refuses(*refused, "--step", "10@now", "--step", "5@2099-12-02T09:00:00Z").startswith("steps.1.percent")
    assert line.refuses(*refused, "--step", "10@now", "--replaces", "x").startswith("The flag has no such strategy")
    for wrong in (("--stop", "--skip"), ("--until", "2099-12-02T09:00:00Z")):
        assert "Use --step, --stop or --skip." in line.run(*refused, *wrong).output


def test_unknown_flags_environments_and_projects_are_refused(line, admin):
    for name in ("known", "gone"):
        admin.post(f"{ADMIN}/default/features", json={"name": name})
    admin.delete(f"{ADMIN}/default/features/gone")
    for command in ("on", "off", "plan"):
        for name, environment, message in (
            ("payy", "development", "No flag has the name payy."),
            ("known", "moon", "The project default has no environment moon."),
            ("gone", "development", "The flag gone is archived."),
        ):
            assert line.refuses("flag", command, name, "--environment", environment) == message
    assert line.refuses("flag", "list", "--project", "chekout") == "project: unknown project chekout"
    assert "known" in line.does("flag", "list", "--project", "default")
