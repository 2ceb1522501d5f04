"""Environments of a project, and their default strategies."""

import json
from typing import Any

import pytest

from serving.responses import json_text
from sql.catalog import environments, segments
from sql.database import Connection, rows, value
from sql.people import roles
from tests.support import fixtures
from tests.support.event_log import event, events
from tests.support.world import Caller, refused

LONG_AGO = "2026-01-01T00:00:00Z"


def url(project: str = "default", environment: str | None = None) -> str:
    """Where a project's environments are added, or where one is removed."""
    return f"/api/admin/projects/{project}/environments" + ("" if environment is None else f"/{environment}")


def states(conn: Connection) -> list[tuple[str, str, bool]]:
    """Every flag's states: flag, environment, enabled."""
    found = rows(
        conn, "SELECT name, environment, enabled FROM flag_environments JOIN flags ON flags.id = flag_id ORDER BY 1, 2"
    )
    return [tuple(row.values()) for row in found]


def read(caller: Caller, project: str = "default") -> list[dict[str, Any]]:
    """The environments of a project."""
    answer: Any = caller.get(f"/api/admin/environments/project/{project}")
    assert (answer.status_code, answer.json["version"]) == (200, 1)
    return answer.json["environments"]


def names(caller: Caller, project: str = "default") -> list[str]:
    """The names of the environments of a project."""
    return [environment["name"] for environment in read(caller, project)]


# --- Reading, adding and removing -------------------------------------------------------------------------------------


def test_linked_environments_are_listed_in_order_with_counts(world, victor, conn):
    for name, order in (("unlinked", 1), ("b-staging", 2), ("a-staging", 2)):
        environments.insert(conn, name, "preproduction", sort_order=order, enabled=name != "a-staging")
    conn.execute("UPDATE environments SET protected = true WHERE name = 'development'")
    world.project("gemini", ("a-staging", "development"))
    fixtures.add_project_environment(conn, "gemini", "b-staging", STORED)
    for name in ("one", "two"):
        world.flag(name, "gemini", enabled_in=("development",))
    world.flag("old", "gemini", enabled_in=("development", "a-staging"), archived_at=LONG_AGO)
    world.flag("other", enabled_in=("development", "production"))
    # Of gemini's keys, keys of all projects, and keys of others.
    world.api_key("client", projects=["gemini", "default"])
    world.api_key("client")
    world.api_key("client", projects=["default"])
    world.api_key("frontend", environment="a-staging", projects=["gemini"])
    keys = ["name", "type", "enabled", "protected", "sortOrder", "projectApiTokenCount", "projectEnabledToggleCount"]
    found = read(victor, "gemini")
    bare = [*keys, "visible"]
    assert [list(environment) for environment in found] == [bare, bare, [*keys, "defaultStrategy", "visible"]]
    assert [tuple(environment.values()) for environment in found] == [
        ("development", "development", True, True, 1, 2, 2, True),
        ("a-staging", "preproduction", False, False, 2, 1, 0, True),
        ("b-staging", "preproduction", True, False, 2, 0, 0, STORED, True),
    ]


def test_every_flag_gets_an_added_environment_switched_off(world, alice, conn):
    environments.insert(conn, "staging", "preproduction", enabled=False)
    world.project("gemini", ("production",))
    world.flag("live", enabled_in=("production",))
    archived = world.flag("archived", archived_at=LONG_AGO)
    deleted = world.flag("deleted", archived_at=LONG_AGO)
    conn.execute("DELETE FROM flag_environments WHERE flag_id = %s", [deleted])
    fixtures.update(conn, "flags", deleted, deleted_at="now")
    world.flag("elsewhere", "gemini")
    # A state that was left behind does not stay enabled.
    fixtures.add_flag_environment(conn, archived, "staging", enabled=True)
    before, since = {state for state in states(conn) if state[1] != "staging"}, world.last_event_id()
    answer = alice.post(url(), json={"environment": "staging"})
    assert (answer.status_code, answer.text) == (200, "")
    assert set(states(conn)) == {*before, ("live", "staging", False), ("archived", "staging", False)}
    assert names(alice) == ["development", "production", "staging"]
    assert "defaultStrategy" not in read(alice)[2]
    added = event("project-environment-added", alice, project="default", environment="staging")
    assert events(world, since) == [added]
    before, since = states(conn), world.last_event_id()
    message = refused(alice.post(url(), json={"environment": "staging"}), 409, "NameExistsError")
    assert message == "environment: the project already has this environment"
    assert (states(conn), world.events(since)) == (before, [])


def test_unknown_and_invalid_environments_cannot_be_added(world, alice):
    since = world.last_event_id()
    for environment in ("nowhere", "Production", "a b", "x" * 100):
        refused(alice.post(url(), json={"environment": environment}), 404, "NotFoundError")
    for body in ({}, {"environment": None}, {"environment": ""}, {"environment": 1}, {"name": "qa"}):
        refused(alice.post(url(), json=body))
    assert (len(read(alice)), world.events(since)) == (2, [])


def test_an_archived_project_gets_no_environment_and_can_lose_one(world, alice):
    world.project("archived", ("production",), archived_at=LONG_AGO)
    since = world.last_event_id()
    for environment in ("development", "production"):
        refused(alice.post(url("archived"), json={"environment": environment}), 404, "NotFoundError")
    assert (names(alice, "archived"), world.events(since)) == (["production"], [])
    assert alice.delete(url("archived", "production")).status_code == 200
    assert read(alice, "archived") == []


def test_removing_an_environment_deletes_only_its_strategies_and_variants(world, alice, conn):
    world.project("gemini")
    found = [
        world.flag("live", enabled_in=("production",), first_in_production_at=LONG_AGO),
        world.flag("archived", enabled_in=("production",), archived_at=LONG_AGO),
        world.flag("elsewhere", "gemini", enabled_in=("production",)),
    ]
    for flag in found:
        for environment in ("development", "production"):
            strategy = world.strategy(flag, environment)
            fixtures.insert_variant(conn, flag, environment, strategy, name="blue", weight=1000)
            fixtures.insert_variant(conn, flag, environment, None, name="red", weight=1000)
    world.api_key("client", environment="production", projects=["default"])
    since = world.last_event_id()
    answer = alice.delete(url("default", "production"), data="ignored", content_type="text/plain")
    assert (answer.status_code, answer.text) == (200, "")
    assert names(alice) == ["development"]
    assert [(name, enabled) for name, _, enabled in states(conn)] == [
        *(("archived", False), ("elsewhere", False), ("elsewhere", True), ("live", False)),
    ]
    for table, number in (("strategies", 4), ("variants", 8)):
        assert value(conn, f"SELECT count(*) FROM {table}") == number, table  # pyright: ignore
    date = "SELECT iso(first_in_production_at) FROM flags WHERE name = 'live'"
    assert value(conn, date) == "2026-01-01T00:00:00.000Z"
    assert value(conn, "SELECT count(*) FROM api_keys WHERE environment = 'production'") == 1
    assert events(world, since) == [
        event("project-environment-removed", alice, project="default", environment="production")
    ]


def test_removing_an_environment_that_is_not_linked_changes_nothing(world, alice, conn):
    environments.insert(conn, "staging", "preproduction")
    # A state without a link belongs to no project.
    fixtures.add_flag_environment(conn, world.flag("checkout"), "staging", enabled=True)
    before, since = states(conn), world.last_event_id()
    for environment in ("staging", "nowhere", "a%20b"):
        answer = alice.delete(url("default", environment))
        assert (answer.status_code, answer.text) == (200, "")
    assert (states(conn), world.events(since)) == (before, [])


def test_the_last_environment_can_be_removed_and_is_fresh_when_added_again(world, alice, conn):
    world.strategy(world.flag("checkout", enabled_in=("development", "production")), "production")
    put(alice, BARE)
    for environment in ("development", "production"):
        assert alice.delete(url("default", environment)).status_code == 200
    assert (read(alice), states(conn)) == ([], [])
    assert alice.post(url(), json={"environment": "production"}).status_code == 200
    assert states(conn) == [("checkout", "production", False)]
    assert value(conn, "SELECT count(*) FROM strategies") == 0
    assert "defaultStrategy" not in read(alice)[0]


# --- The default strategy ---------------------------------------------------------------------------------------------

FULL = {
    "segments": [],
    "parameters": {"stickiness": "userId", "rollout": 25, "groupId": "é"},
    "variants": [
        {"stickiness": "default", "weightType": "variable", "name": "red", "weight": 0},
        {
            "stickiness": "default",
            "weightType": "fix",
            "name": "blue",
            "weight": 300,
            "payload": {"type": "string", "value": "b"},
        },
    ],
    "constraints": [{"operator": "IN", "contextName": "userId", "values": ["7"]}],
    "sortOrder": 3,
    "disabled": None,
    "title": "Everyone",
    "name": "flexibleRollout",
}
STORED = {
    "name": "flexibleRollout",
    "title": "Everyone",
    "disabled": False,
    "sortOrder": 3,
    "constraints": [
        {"contextName": "userId", "operator": "IN", "values": ["7"], "inverted": False, "caseInsensitive": False}
    ],
    "variants": [
        {
            "name": "blue",
            "weight": 300,
            "weightType": "fix",
            "stickiness": "default",
            "payload": {"type": "string", "value": "b"},
        },
        {"name": "red", "weight": 700, "weightType": "variable", "stickiness": "default"},
    ],
    "parameters": {"stickiness": "userId", "rollout": "25", "groupId": "é"},
    "segments": [],
}
BARE = {
    "name": "flexibleRollout",
    "title": None,
    "disabled": False,
    "constraints": [],
    "variants": [],
    "parameters": {},
    "segments": [],
}


def put(caller: Caller, strategy: Any, project: str = "default", environment: str = "production") -> Any:
    """Set a default strategy, with its keys in this order."""
    place = f"{url(project, environment)}/default-strategy"
    return caller.post(place, data=json.dumps(strategy), content_type="application/json")


def kept(conn: Connection, environment: str = "production") -> str | None:
    """The stored default strategy as text."""
    place = "project_id = 'default' AND environment = %(name)s"
    statement = f"SELECT default_strategy::text FROM project_environments WHERE {place}"
    return value(conn, statement, {"name": environment})


def test_a_default_strategy_is_stored_returned_and_replaced(world, alice, conn):
    def updated(data: Any, pre_data: Any) -> list[dict[str, Any]]:
        place = {"project": "default", "environment": "production"}
        return [event("default-strategy-updated", alice, **place, data=data, pre_data=pre_data)]

    since = world.last_event_id()
    answer = put(alice, FULL)
    assert (answer.status_code, answer.text) == (200, json_text(STORED))
    assert kept(conn) == json.dumps(STORED, ensure_ascii=False, separators=(",", ":"))
    assert kept(conn, "development") is None
    for found in (read(alice), alice.get("/api/admin/projects/default/overview").json["environments"]):
        assert [environment.get("defaultStrategy") for environment in found] == [None, STORED]
    assert events(world, since) == updated(STORED, None)
    since = world.last_event_id()
    assert put(alice, STORED).json == STORED
    assert world.events(since) == []
    answer = put(alice, {"name": "flexibleRollout"})
    assert answer.json == BARE == json.loads(kept(conn) or "")
    assert events(world, since) == updated(BARE, STORED)
    # One from SQL may have fewer properties.
    environments.insert(conn, "staging", "preproduction")
    fixtures.add_project_environment(conn, "default", "staging", {"name": "flexibleRollout"})
    assert put(alice, FULL, environment="staging").json == STORED


@pytest.mark.parametrize(
    ("change", "field"),
    [
        *(({"name": name}, "name") for name in ("default", "userWithId", "flexiblerollout", None)),
        ({"other": 1}, "other"),
        ({"title": "a\0"}, "title"),
        ({"parameters": {"a\0": "b"}}, "parameters"),
        ({"parameters": {"rollout": []}}, "parameters.rollout"),
        ({"disabled": "no"}, "disabled"),
        ({"constraints": [{"contextName": "nowhere", "operator": "IN"}]}, "constraints.0.contextName"),
        ({"constraints": [{"contextName": "userId", "operator": "IS"}]}, "constraints.0.operator"),
        ({"constraints": [{"contextName": "userId", "operator": "IN"}] * 31}, "constraints"),
        ({"constraints": [{"contextName": "tier", "operator": "IN", "values": ["silver"]}]}, "constraints.0"),
        ({"variants": [{"name": "a", "weight": 1, "weightType": "fix", "stickiness": "default"}]}, "variants"),
        ({"segments": [2**40]}, "segments"),
        ({"segments": ["1"]}, "segments.0"),
    ],
    ids=str,
)
def test_an_invalid_default_strategy_is_refused(world, alice, conn, change, field):
    conn.execute("""INSERT INTO context_fields (name, legal_values) VALUES ('tier', '[{"value": "gold"}]')""")
    put(alice, FULL)
    before, since = kept(conn), world.last_event_id()
    assert refused(put(alice, STORED | change)).startswith(f"{field}: ")
    assert (kept(conn), world.events(since)) == (before, [])


def test_segments_are_global_or_of_the_project_and_not_too_many(world, alice, conn):
    world.project("gemini")
    shared, own, foreign = (
        segments.insert(conn, f"of {project}", [], project=project) for project in (None, "default", "gemini")
    )
    assert put(alice, BARE | {"segments": [own, shared, own]}).json["segments"] == [shared, own]
    since, before = world.last_event_id(), kept(conn)
    many = [segments.insert(conn, f"segment {number}", []) for number in range(6)]
    for wrong in ([foreign], many):
        assert refused(put(alice, BARE | {"segments": wrong})).startswith("segments: ")
    assert (kept(conn), world.events(since)) == (before, [])


def test_only_environments_of_the_project_have_a_default_strategy(alice, conn):
    environments.insert(conn, "staging", "preproduction")
    for environment in ("staging", "nowhere"):
        refused(put(alice, FULL, environment=environment), 404, "NotFoundError")


def test_the_permission_for_default_strategies_is_enough(world, victor, conn):
    role = roles.insert(conn, "Strategist")
    fixtures.add_project_user(conn, "default", victor.id, role)
    fixtures.allow(conn, role, "PROJECT_DEFAULT_STRATEGY_READ")
    refused(put(victor, FULL), 403, "NoAccessError")
    fixtures.allow(conn, role, "PROJECT_DEFAULT_STRATEGY_WRITE")
    assert put(victor, FULL).status_code == 200
    world.project("gemini")
    refused(put(victor, FULL, "gemini"), 403, "NoAccessError")
    refused(victor.post(url(), json={"environment": "x"}), 403, "NoAccessError")


def test_a_flag_without_a_strategy_gets_the_default_when_switched_on(world, alice):
    put(alice, FULL)
    world.flag("checkout")
    place = "/api/admin/projects/default/features/checkout/environments/production"
    assert alice.post(f"{place}/on").status_code == 200
    [strategy] = alice.get(f"{place}/strategies").json
    expected = {key: STORED[key] for key in ("name", "title", "constraints", "variants", "segments")}
    expected["parameters"] = STORED["parameters"] | {"groupId": "checkout"}
    assert {key: strategy[key] for key in expected} == expected
