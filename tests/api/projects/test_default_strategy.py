"""The strategy that flags of a project get in an environment when they have none."""

import json
from typing import Any

import pytest
from werkzeug.test import TestResponse

from serving.responses import json_text
from sql.database import Connection, value
from sql.people import roles
from sql.vocabulary import environments, segments
from tests.support import fixtures
from tests.support.project_environments import STRATEGY, logged, read
from tests.support.world import Caller, refused

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
BARE = STRATEGY | {"parameters": {}}


def put(caller: Caller, strategy: Any, project: str = "default", environment: str = "production") -> TestResponse:
    """Set a default strategy, with its keys in the order in which they stand here."""
    place = f"/api/admin/projects/{project}/environments/{environment}/default-strategy"
    return caller.post(place, data=json.dumps(strategy), content_type="application/json")


def kept(conn: Connection, environment: str = "production") -> str | None:
    """What the table holds, as text."""
    place = "project_id = 'default' AND environment = %(name)s"
    statement = f"SELECT default_strategy::text FROM project_environments WHERE {place}"
    return value(conn, statement, {"name": environment})


def test_a_default_strategy_is_kept_and_answered_in_one_order_of_keys(world, alice, conn):
    since = world.last_event_id()
    answer = put(alice, FULL)
    assert answer.status_code == 200
    assert answer.text == json_text(STORED)
    assert kept(conn) == json.dumps(STORED, ensure_ascii=False, separators=(",", ":"))
    assert kept(conn, "development") is None
    assert [environment.get("defaultStrategy") for environment in read(alice)] == [None, STORED]
    # The overview has it too.
    overview = alice.get("/api/admin/projects/default/overview").json
    assert [environment.get("defaultStrategy") for environment in overview["environments"]] == [None, STORED]
    assert logged(world, since, alice, "production") == [("default-strategy-updated", STORED, None)]


def test_a_default_strategy_is_replaced_and_the_same_again_is_no_event(world, alice, conn):
    put(alice, FULL)
    since = world.last_event_id()
    assert put(alice, STORED).json == STORED
    assert world.events(since) == []
    answer = put(alice, {"name": "flexibleRollout"})
    assert answer.json == BARE == json.loads(kept(conn) or "")
    assert logged(world, since, alice, "production") == [("default-strategy-updated", BARE, STORED)]


def test_a_default_strategy_from_sql_can_be_replaced(alice, conn):
    fixtures.add_project_environment(conn, "default", make(conn), {"name": "flexibleRollout"})
    assert put(alice, FULL, environment="staging").json == STORED


def make(conn: Connection) -> str:
    """A third environment."""
    environments.insert(conn, "staging", "preproduction")
    return "staging"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": "default"}, "name"),
        ({"name": "userWithId"}, "name"),
        ({"name": "flexiblerollout"}, "name"),
        ({"name": None}, "name"),
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
)
def test_an_invalid_body_is_refused(world, alice, conn, change, field):
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
    assert refused(put(alice, BARE | {"segments": [foreign]})).startswith("segments: ")
    many = [segments.insert(conn, f"segment {number}", []) for number in range(6)]
    assert refused(put(alice, BARE | {"segments": many})).startswith("segments: ")
    assert (kept(conn), world.events(since)) == (before, [])


def test_only_environments_of_the_project_have_a_default_strategy(world, alice, conn):
    make(conn)
    since = world.last_event_id()
    for environment in ("staging", "nowhere"):
        refused(put(alice, FULL, environment=environment), 404, "NotFoundError")
    assert world.events(since) == []


def test_the_right_to_do_just_this_is_enough(world, victor, conn):
    role = roles.insert(conn, "Strategist")
    fixtures.add_project_user(conn, "default", victor.id, role)
    refused(put(victor, FULL), 403, "NoAccessError")
    fixtures.allow(conn, role, "PROJECT_DEFAULT_STRATEGY_READ")
    refused(put(victor, FULL), 403, "NoAccessError")
    fixtures.allow(conn, role, "PROJECT_DEFAULT_STRATEGY_WRITE")
    assert put(victor, FULL).status_code == 200
    world.project("gemini")
    refused(put(victor, FULL, "gemini"), 403, "NoAccessError")
    refused(victor.post("/api/admin/projects/default/environments", json={"environment": "x"}), 403, "NoAccessError")


def test_a_flag_without_a_strategy_gets_the_default_when_switched_on(world, alice):
    put(alice, FULL)
    world.flag("checkout")
    assert alice.post("/api/admin/projects/default/features/checkout/environments/production/on").status_code == 200
    strategy = alice.get("/api/admin/projects/default/features/checkout/environments/production/strategies").json[0]
    expected = {key: STORED[key] for key in ("name", "title", "constraints", "variants", "segments")}
    assert {key: strategy[key] for key in expected} == expected
    assert strategy["parameters"] == STORED["parameters"] | {"groupId": "checkout"}
