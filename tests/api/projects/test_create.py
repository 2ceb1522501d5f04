"""POST /api/admin/projects: what is made, of which id and environments, who owns it, and what the log says."""

from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from rules.access import digest
from sql import sessions
from sql.database import Connection, rows, value
from sql.vocabulary import environments
from tests.support.fingerprint import fingerprint
from tests.support.projects import stored
from tests.support.world import Caller, World, refused
from validators.projects.core import slug

PATH = "/api/admin/projects"


def make(caller: Caller, **body: Any) -> TestResponse:
    """Make a project."""
    return caller.post(PATH, json=body)


def linked(conn: Connection, project_id: str) -> list[str]:
    """The environments of a project."""
    found = rows(
        conn, "SELECT environment FROM project_environments WHERE project_id = %(id)s ORDER BY 1", {"id": project_id}
    )
    return [row["environment"] for row in found]


def test_a_name_is_enough(conn: Connection, world: World, eve: Caller) -> None:
    since = world.last_event_id()
    answer = make(eve, name="Mobile app")
    created = {
        "id": "mobile-app",
        "name": "Mobile app",
        "mode": "open",
        "defaultStickiness": "default",
        "featureLimit": None,
        "environments": ["development", "production"],
        "changeRequestEnvironments": [],
    }
    assert (answer.status_code, answer.json, answer.headers["Location"]) == (201, created, "projects/mobile-app")
    row = stored(conn, "mobile-app")
    now = row.pop("created_at")
    assert now == value(conn, "SELECT now()")
    assert {key: word for key, word in row.items() if word is not None} == {
        "id": "mobile-app",
        "name": "Mobile app",
        "mode": "open",
        "default_stickiness": "default",
    }
    assert linked(conn, "mobile-app") == ["development", "production"]
    [event] = world.events(since)
    assert event == {
        "id": event["id"],
        "created_at": event["created_at"],
        "type": "project-created",
        "created_by": "eve@example.org",
        "created_by_user_id": eve.id,
        "environment": None,
        "project": "mobile-app",
        "feature_name": None,
        "data": created,
        "pre_data": None,
        "tags": [],
    }


def test_all_fields_are_stored(conn: Connection, world: World, alice: Caller) -> None:
    since = world.last_event_id()
    body = {
        "description": "Ünlü 'app'",
        "mode": "private",
        "defaultStickiness": "userId",
        "featureLimit": 0,
        "environments": ["production"],
    }
    answer = make(alice, name="  Mobile  ", id="My.Mobile_~1", changeRequestEnvironments=[{"name": "x"}], **body)
    created = {"id": "My.Mobile_~1", "name": "  Mobile  ", "changeRequestEnvironments": []} | body
    assert (answer.status_code, answer.json, answer.headers["Location"]) == (201, created, "projects/My.Mobile_~1")
    row = stored(conn, "My.Mobile_~1")
    assert (row["name"], row["description"], row["mode"], row["default_stickiness"], row["feature_limit"]) == (
        "  Mobile  ",
        "Ünlü 'app'",
        "private",
        "userId",
        0,
    )
    assert linked(conn, "My.Mobile_~1") == ["production"]
    [event] = world.events(since)
    assert (event["project"], event["data"]) == ("My.Mobile_~1", created)


def test_terraform_finds_no_null_where_there_is_no_description(alice: Caller) -> None:
    for body in ({}, {"description": None}):
        created = make(alice, name="Mobile", **body).json
        assert created.keys() >= {"id", "name"}
        assert "description" not in created
    assert make(alice, name="Mobile", description="").json["description"] == ""


# Owners


def test_the_user_who_creates_a_project_owns_the_project(conn: Connection, eve: Caller) -> None:
    make(eve, name="Mobile", mode="private")
    found = rows(conn, "SELECT user_id, role_id, role_scope FROM project_user_roles WHERE project_id = 'mobile'")
    assert found == [{"user_id": eve.id, "role_id": 4, "role_scope": "project"}]
    assert eve.put(f"{PATH}/mobile", json={"name": "Mine"}).status_code == 200


def test_a_project_created_by_a_session_belongs_to_the_user(conn: Connection, app: Flask, eve: Caller) -> None:
    sessions.insert(conn, digest("a session"), eve.id or 0, 48)
    assert Caller(app).post(PATH, json={"name": "Mobile"}, headers={"Cookie": 'session="a session"'}).status_code == 201
    assert value(conn, "SELECT user_id FROM project_user_roles WHERE project_id = 'mobile'") == eve.id


def test_projects_of_api_tokens_have_no_owner(conn: Connection, world: World) -> None:
    since = world.last_event_id()
    assert make(world.api_key(name="the key"), name="Mobile").status_code == 201
    assert rows(conn, "SELECT FROM project_user_roles WHERE project_id = 'mobile'") == []
    [event] = world.events(since)
    assert (event["created_by"], event["created_by_user_id"]) == ("the key", None)


# Ids


SLUGS = [
    ("Mobile app", "mobile-app"),
    ("  Größe ÜBER alles!  ", "grosse-uber-alles"),
    ("Élan vital & Łódź", "elan-vital-lodz"),
    ("Ærø Þing, cœur", "aero-thing-coeur"),
    ("naïve—dash", "naive-dash"),
    ("e\u0301a", "ea"),
    ("v1.2_beta~3", "v1-2-beta-3"),
    ("100 %", "100"),
    ("日本語", "project"),
    ("---", "project"),
    ("🎉", "project"),
    ("A" * 255, "a" * 90),
    ("a" * 89 + " b", "a" * 89),
    ("İstanbul", "istanbul"),
    ("²", "2"),
]


@pytest.mark.parametrize(("name", "project_id"), SLUGS)
def test_an_id_is_made_of_the_name(alice: Caller, name: str, project_id: str) -> None:
    assert slug(name) == project_id
    assert make(alice, name=name).json["id"] == project_id
    assert make(alice, name=name, id="").json["id"] == f"{project_id}-1"
    assert make(alice, name=name).json["id"] == f"{project_id}-2"


def test_an_id_that_was_made_leaves_out_what_is_taken(world: World, alice: Caller) -> None:
    world.project("mobile", archived_at="2026-01-01T00:00:00Z")
    world.project("mobile-2")
    assert [make(alice, name="Mobile").json["id"] for _ in range(3)] == ["mobile-1", "mobile-3", "mobile-4"]


@pytest.mark.parametrize("word", ["archive", "revive", "validate", "roles"])
def test_an_id_cannot_be_a_word_of_another_path(conn: Connection, alice: Caller, word: str) -> None:
    before = fingerprint(conn)
    assert refused(make(alice, name="A", id=word)).startswith("id: must not be archive, ")
    assert fingerprint(conn) == before
    assert make(alice, name=word.upper()).json["id"] == f"{word}-1"
    assert make(alice, name=word, id=f"{word}s").status_code == 201
    assert make(alice, name=word, id=word.title()).status_code == 201


@pytest.mark.parametrize("fields", [{}, {"archived_at": "2026-01-01T00:00:00Z"}])
def test_an_id_is_taken_once(conn: Connection, world: World, alice: Caller, fields: dict[str, str]) -> None:
    world.project("mobile", **fields)
    before = fingerprint(conn)
    refused(make(alice, name="Mobile", id="mobile"), 409, "NameExistsError")
    assert fingerprint(conn) == before
    assert make(alice, name="Mobile", id="Mobile").status_code == 201


# Environments


def test_environments_are_all_that_are_enabled_or_those_that_are_named(conn: Connection, alice: Caller) -> None:
    environments.insert(conn, "staging", "preproduction", sort_order=0)
    environments.insert(conn, "retired", "test", enabled=False)
    assert make(alice, name="a").json["environments"] == ["staging", "development", "production"]
    assert make(alice, name="b", environments=[]).json["environments"] == []
    assert make(alice, name="c", environments=["retired", "staging", "retired"]).json["environments"] == [
        "staging",
        "retired",
    ]
    assert [linked(conn, project) for project in "abc"] == [
        ["development", "production", "staging"],
        [],
        ["retired", "staging"],
    ]


def test_an_unknown_environment_is_refused(conn: Connection, alice: Caller) -> None:
    before = fingerprint(conn)
    message = refused(make(alice, name="a", environments=["development", "Production", "nowhere"]))
    assert message == "environments: unknown environments: Production, nowhere"
    assert fingerprint(conn) == before


# Refusals


BAD: list[dict[str, Any]] = [
    *({"name": name} for name in (None, "", "a" * 256)),
    {},
    {"id": "mobile"},
    *({"name": "a", "id": word} for word in ("..", "a b", "a" * 101)),
    *({"name": "a", "mode": word} for word in ("Open", "hidden")),
    *({"name": "a", "featureLimit": limit} for limit in (-1, 2**31, "1")),
    *({"name": "a", "defaultStickiness": word} for word in ("",)),
    *({"name": "a", "environments": found} for found in ("development", ["a b"])),
    *({"name": "a", "description": word} for word in (1, "a" * 5001)),
    {"name": "a", "other": 1},
    {"name": "a", "environments": [{"name": "development"}]},
]


@pytest.mark.parametrize("body", BAD, ids=str)
def test_an_invalid_body_is_refused(conn: Connection, alice: Caller, body: dict[str, Any]) -> None:
    before = fingerprint(conn)
    refused(make(alice, **body))
    assert fingerprint(conn) == before


def test_the_number_of_live_projects_is_limited(
    conn: Connection, app: Flask, world: World, alice: Caller, monkeypatch: Any
) -> None:
    monkeypatch.setitem(app.config, "MAX_PROJECTS", value(conn, "SELECT count(*) FROM projects") + 1)
    world.project("old", archived_at="2026-01-01T00:00:00Z")
    assert make(alice, name="The last").status_code == 201
    before = fingerprint(conn)
    assert "at most" in refused(make(alice, name="One too many"))
    assert fingerprint(conn) == before
