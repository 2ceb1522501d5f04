"""flags project and flags flag: list, create, on, off."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sql.database import connect
from tests.support.command_line import CommandLine, event
from tests.support.instance import ADMIN_KEY
from tests.support.world import Caller


@pytest.fixture(scope="module")
def line(make_database: Callable[..., str], make_app: Callable[..., Any]) -> Iterator[CommandLine]:
    """The command line on a database of its own."""
    url = make_database()
    with connect(url) as conn:
        yield CommandLine(make_app(url, MAX_PROJECTS=4), conn)


@pytest.fixture(scope="module")
def admin(line: CommandLine) -> Caller:
    """An API token of an administrator."""
    return Caller(line.app, ADMIN_KEY)


def test_lists_omit_archived_flags_and_projects_and_flags_of_others(line: CommandLine, admin: Caller) -> None:
    admin.post("/api/admin/projects", json={"name": "Gone", "id": "gone"})
    for project, name in (("gone", "live"), ("gone", "archived"), ("default", "other")):
        assert admin.post(f"/api/admin/projects/{project}/features", json={"name": name}).status_code == 201
    admin.delete("/api/admin/projects/gone/features/archived")
    flags = json.loads(line.does("flag", "list", "--project", "gone", "--json"))
    assert [(item["name"], item["project"]) for item in flags] == [("live", "gone")]
    assert {"live", "other"} <= {item["name"] for item in line.lists("flag")}
    assert {item["id"]: item["flags"] for item in line.lists("project")} == {"default": 1, "gone": 1}
    admin.delete("/api/admin/projects/gone/features/live")
    assert admin.post("/api/admin/projects/archive/gone").status_code == 200
    assert [item["id"] for item in line.lists("project")] == ["default"]


def test_a_project_is_created_as_by_the_api(line: CommandLine, admin: Caller) -> None:
    options = ("--name", "Check out", "--description", "Pay", "--mode", "private")
    [by_command] = line.events_of(lambda: line.does("project", "create", *options))
    body = {"name": "Check in", "description": "Pay", "mode": "private"}
    [by_api] = line.events_of(lambda: admin.post("/api/admin/projects", json=body))
    expected = by_api["data"] | {"id": "check-out", "name": "Check out"}
    times = {key: text for key, text in by_command["data"].items() if key.endswith("At")}
    assert by_command == event("project-created", project="check-out", data=expected | times)
    [listed] = [item for item in line.lists("project") if item["id"] == "check-out"]
    assert (listed["name"], listed["mode"], listed["flags"]) == ("Check out", "private", 0)
    assert "default" in line.does("project", "list")


def test_a_project_that_cannot_be_created_is_refused(line: CommandLine) -> None:
    taken = "id: already used by a project, which may be archived or deleted; choose another id"
    assert line.refuses("project", "create", "--name", "x", "--id", "default") == taken
    assert line.refuses("project", "create", "--name", "x", "--mode", "hidden").startswith("mode: must be open, ")
    assert line.refuses("project", "create", "--name", " ") == "name: must not be blank"
    line.does("project", "create", "--name", "The last")
    assert line.refuses("project", "create", "--name", "x").startswith("There can be at most 4 live projects")


def test_a_flag_is_switched_as_by_the_api(line: CommandLine, admin: Caller) -> None:
    assert admin.post("/api/admin/projects/default/features", json={"name": "pay"}).status_code == 201
    on = line.events_of(lambda: line.does("flag", "on", "pay", "--environment", "development"))
    assert [(item["type"], item["created_by"], item["environment"]) for item in on] == [
        ("feature-strategy-add", "system", "development"),
        ("feature-environment-enabled", "system", "development"),
    ]
    assert [item["enabledIn"] for item in line.lists("flag") if item["name"] == "pay"] == [["development"]]
    assert line.events_of(lambda: line.does("flag", "on", "pay", "--environment", "development")) == []
    off = line.events_of(lambda: line.does("flag", "off", "pay", "--environment", "development"))
    expected = {"project": "default", "environment": "development", "feature_name": "pay"}
    assert off == [event("feature-environment-disabled", **expected)]
    assert [item["enabledIn"] for item in line.lists("flag") if item["name"] == "pay"] == [[]]


def test_unknown_flags_environments_and_projects_are_refused(line: CommandLine, admin: Caller) -> None:
    for name in ("known", "gone"):
        admin.post("/api/admin/projects/default/features", json={"name": name})
    admin.delete("/api/admin/projects/default/features/gone")
    for command in ("on", "off"):
        assert line.refuses("flag", command, "payy", "--environment", "development") == "No flag has the name payy."
        message = line.refuses("flag", command, "known", "--environment", "moon")
        assert message == "The project default has no environment moon."
        assert line.refuses("flag", command, "gone", "--environment", "development") == "The flag gone is archived."
    assert line.refuses("flag", "list", "--project", "chekout") == "project: unknown project chekout"
    assert "known" in line.does("flag", "list", "--project", "default")
