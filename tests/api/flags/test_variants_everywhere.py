"""The deprecated operations on the variants of a flag in all environments."""

from typing import Any

import pytest

from sql.database import rows, value
from sql.people import roles
from tests.support import fixtures
from tests.support.fingerprint import fingerprint
from tests.support.strategies import tagged_flag
from tests.support.world import Caller, World, refused

PATH = "/api/admin/projects/default/features/f/variants"
BLUE = {"name": "blue", "weight": 500, "weightType": "variable", "stickiness": "default", "overrides": []}
RED = BLUE | {"name": "red"}


def patch(caller: Caller, *steps: Any):
    """Patch the variants of all environments."""
    return caller.request("PATCH", PATH, json=list(steps))


def furnish(world: World) -> None:
    """Flag f with variants blue and red in production, others called blue in development, and one of a strategy."""
    flag = tagged_flag(world)
    for environment, name, weight in (
        ("production", "blue", 1),
        ("production", "red", 999),
        ("development", "blue", 1000),
    ):
        fixtures.insert_variant(world.conn, flag, environment, None, name=name, weight=weight)
    fixtures.insert_variant(world.conn, flag, "development", world.strategy(flag), name="of the strategy", weight=1000)


def stored(world: World) -> list[tuple[str, str, int]]:
    """The variants of flags: environment, name and weight."""
    statement = """
        SELECT environment, name, weight FROM variants WHERE strategy_id IS NULL ORDER BY environment, name
    """
    return [tuple(row.values()) for row in rows(world.conn, statement)]


def test_the_variants_of_all_environments_are_listed_once(world, victor):
    furnish(world)
    assert victor.get(PATH).json == {"version": 1, "variants": [BLUE | {"weight": 1000}, RED | {"weight": 999}]}
    world.flag("g")
    assert victor.get(PATH.replace("/f/", "/g/")).json == {"version": 1, "variants": []}


def test_variants_are_set_in_all_environments_and_each_change_is_recorded(world, alice):
    furnish(world)
    fixtures.insert(world.conn, "environments", name="staging", type="test", sort_order=9)
    fixtures.add_project_environment(world.conn, "default", "staging")
    fixtures.insert(world.conn, "environments", name="elsewhere", type="test", sort_order=9)
    world.project("hermes", environments=("elsewhere",))
    since = world.last_event_id()
    assert alice.put(PATH, json=[RED, BLUE]).json == {"version": 1, "variants": [BLUE, RED]}
    places = ("development", "production", "staging")
    assert stored(world) == [(place, name, 500) for place in places for name in ("blue", "red")]
    events = world.events(since)
    assert [(event["type"], event["environment"]) for event in events] == [
        ("feature-environment-variants-updated", place) for place in places
    ]
    assert [event["data"] for event in events] == [{"variants": [BLUE, RED]}] * 3
    assert [len(event["pre_data"]["variants"]) for event in events] == [1, 2, 0]
    assert value(world.conn, "SELECT count(*) FROM variants WHERE strategy_id IS NOT NULL") == 1
    since = world.last_event_id()
    assert alice.put(PATH, json=[BLUE, RED]).status_code == patch(alice).status_code == 200
    assert world.events(since) == []


def test_a_patch_of_the_whole_list_is_set_in_all_environments(world, alice):
    furnish(world)
    step = {"op": "replace", "path": "/1/name", "value": "green"}
    answer = patch(alice, step, {"op": "test", "path": "/0/weight", "value": 1000})
    assert answer.json == {"version": 1, "variants": [BLUE, BLUE | {"name": "green"}]}
    assert stored(world) == [(p, name, 500) for p in ("development", "production") for name in ("blue", "green")]
    assert alice.put(PATH, json=[]).json == {"version": 1, "variants": []}
    assert stored(world) == []


def test_what_does_not_fit_is_refused_and_nothing_changes(world, alice, conn):
    furnish(world)
    before = fingerprint(conn)
    assert refused(alice.put(PATH, json=[BLUE, BLUE])) == "body: must not contain a name twice"
    assert refused(alice.put(PATH, json={})) == "body: must be a JSON array"
    assert refused(patch(alice, {"op": "remove", "path": "/7"})) == "0.path: does not exist in the document"
    assert refused(patch(alice, {"op": "remove", "path": "/0/name"})) == "0.name: is required"
    assert fingerprint(conn) == before


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH"])
def test_an_archived_flag_has_none(world, alice, method):
    world.flag("f", archived_at=value(world.conn, "SELECT now()"))
    body = {} if method == "GET" else {"json": []}
    refused(alice.request(method, PATH, **body), 404, "NotFoundError")


def test_the_permission_is_that_for_all_environments(world, victor, conn):
    furnish(world)
    for name, permission in (("One", "UPDATE_FEATURE_ENVIRONMENT_VARIANTS"), ("All", "UPDATE_FEATURE_VARIANTS")):
        refused(victor.put(PATH, json=[]), 403, "NoAccessError")
        refused(patch(victor), 403, "NoAccessError")
        role = roles.insert(conn, name)
        fixtures.allow(conn, role, permission)
        world.member("default", victor, role)
    assert victor.put(PATH, json=[]).status_code == patch(victor).status_code == 200
