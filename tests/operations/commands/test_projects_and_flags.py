"""flags project and flags flag: list, create, on, off."""

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


def test_unknown_flags_environments_and_projects_are_refused(line, admin):
    for name in ("known", "gone"):
        admin.post(f"{ADMIN}/default/features", json={"name": name})
    admin.delete(f"{ADMIN}/default/features/gone")
    for command in ("on", "off"):
        for name, environment, message in (
            ("payy", "development", "No flag has the name payy."),
            ("known", "moon", "The project default has no environment moon."),
            ("gone", "development", "The flag gone is archived."),
        ):
            assert line.refuses("flag", command, name, "--environment", environment) == message
    assert line.refuses("flag", "list", "--project", "chekout") == "project: unknown project chekout"
    assert "known" in line.does("flag", "list", "--project", "default")
