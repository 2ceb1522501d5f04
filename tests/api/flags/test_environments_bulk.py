"""Switching several flags at once: all or none, and each as if it were the only one."""

import time
from datetime import UTC, datetime
from typing import Any

import pytest
from werkzeug.test import TestResponse

from sql.database import value
from sql.people import roles
from tests.support import fixtures
from tests.support.flag_environments import switched_on
from tests.support.wire import watched
from tests.support.world import Caller, refused


def switch_many(
    caller: Caller, to: str, *features: str, query: str = "", environment: str = "development"
) -> TestResponse:
    """Switch flags of project default."""
    path = f"/api/admin/projects/default/bulk_features/environments/{environment}/{to}{query}"
    return caller.post(path, json={"features": list(features)})


def done(response: TestResponse) -> bool:
    """Whether the answer is 200 without a body."""
    return (response.status_code, response.data) == (200, b"")


def test_several_flags_are_switched_each_as_if_alone(world, alice, conn):
    bare, _on, dim = world.flag("bare"), world.flag("on", enabled_in=("development",)), world.flag("dim")
    fixtures.tag(conn, bare, "simple", "beta")
    strategy = world.strategy(dim)
    since = world.last_event_id()
    assert done(switch_many(alice, "on", "dim", "on", "bare", "dim"))
    assert switched_on(conn) == ["bare/development", "dim/development", "on/development"]
    recorded = [
        (event["type"], event["feature_name"], event["tags"], event["environment"], event["project"])
        for event in world.events(since)
    ]
    tags = [{"type": "simple", "value": "beta"}]
    assert recorded == [
        ("feature-strategy-add", "bare", tags, "development", "default"),
        ("feature-environment-enabled", "dim", [], "development", "default"),
        ("feature-environment-enabled", "bare", tags, "development", "default"),
    ]
    assert value(conn, "SELECT parameters FROM strategies WHERE id <> %(id)s", {"id": strategy})["groupId"] == "bare"
    since = world.last_event_id()
    assert done(switch_many(alice, "off", "on", "bare"))
    assert switched_on(conn) == ["dim/development"]
    assert [(event["type"], event["feature_name"]) for event in world.events(since)] == [
        ("feature-environment-disabled", "on"),
        ("feature-environment-disabled", "bare"),
    ]
    since = world.last_event_id()
    assert done(switch_many(alice, "off", "on", "bare"))
    assert world.events(since) == []


def test_a_bulk_switch_can_enable_disabled_strategies(world, alice, conn):
    for name in ("a", "b"):
        world.strategy(world.flag(name), disabled=True)
    since = world.last_event_id()
    assert done(switch_many(alice, "on", "a", "b", query="?shouldActivateDisabledStrategies=true"))
    assert value(conn, "SELECT array_agg(disabled) FROM strategies") == [False, False]
    assert [event["type"] for event in world.events(since)] == ["feature-strategy-update"] * 2 + [
        "feature-environment-enabled"
    ] * 2


@pytest.mark.parametrize("to", ["on", "off"])
@pytest.mark.parametrize("unknown", ["unknown", "of-hermes", "archived", "A", "", "a\u00e9"])
def test_an_unknown_flag_prevents_the_whole_bulk_switch(world, alice, conn, to, unknown):
    world.project("hermes")
    world.flag("of-hermes", "hermes")
    world.flag("archived", archived_at=datetime.now(UTC))
    world.flag("a", enabled_in=("development",) if to == "off" else ())
    before, since = switched_on(conn), world.last_event_id()
    message = refused(switch_many(alice, to, "a", unknown), 404, "NotFoundError")
    assert message == f"features: unknown or archived flags: {unknown}"
    assert (switched_on(conn), world.events(since)) == (before, [])


@pytest.mark.parametrize("to", ["on", "off"])
@pytest.mark.parametrize("features", [[], ["a"]])
def test_an_environment_that_is_not_linked_is_404_even_for_no_flag(world, alice, conn, to, features):
    conn.execute("INSERT INTO environments (name, type, sort_order) VALUES ('unlinked', 'test', 9)")
    world.flag("a")
    refused(switch_many(alice, to, *features, environment="unlinked"), 404, "NotFoundError")
    assert done(switch_many(alice, to))


def test_a_forbidden_strategy_prevents_the_whole_bulk_switch(world, victor, conn):
    for name in ("a", "b"):
        flag = world.flag(name)
        if name == "a":
            world.strategy(flag)
    role = roles.insert(conn, "Switcher")
    fixtures.allow(conn, role, "UPDATE_FEATURE_ENVIRONMENT")
    world.member("default", victor, role)
    since = world.last_event_id()
    refused(switch_many(victor, "on", "a", "b"), 403, "NoAccessError")
    assert (switched_on(conn), world.events(since)) == ([], [])
    assert done(switch_many(victor, "on", "a"))


@pytest.mark.parametrize("to", ["on", "off"])
@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        {"features": "a"},
        {"features": [1]},
        {"features": None},
        {"features": [], "more": 1},
        {"features": ["a"] * 1001},
    ],
)
def test_a_body_that_does_not_fit_is_400(world, alice, conn, to, body: Any):
    world.flag("a")
    refused(alice.post(f"/api/admin/projects/default/bulk_features/environments/development/{to}", json=body))
    assert switched_on(conn) == []


def test_a_body_is_needed_and_the_query_is_strict(world, alice):
    world.flag("a")
    path = "/api/admin/projects/default/bulk_features/environments/development/on"
    refused(alice.post(path))
    refused(alice.post(path, data="features=a", content_type="text/plain"), 415, "ContentTypeError")
    refused(switch_many(alice, "on", "a", query="?shouldActivateDisabledStrategies=1"))


THOUSAND = [f"flag-{number}" for number in range(1000)]


@pytest.mark.timing
def test_a_thousand_flags_take_less_than_two_seconds(alice, conn):
    conn.execute(
        "INSERT INTO flags (name, project_id) SELECT 'flag-' || number, 'default' "
        "FROM generate_series(0, 999) AS number"
    )
    for to in ("on", "off"):
        start = time.monotonic()
        assert done(switch_many(alice, to, *THOUSAND))
        assert time.monotonic() - start < 2
        assert len(switched_on(conn)) == (1000 if to == "on" else 0)


def test_many_flags_cost_no_more_round_trips_than_one(alice, conn):
    conn.execute(
        "INSERT INTO flags (name, project_id) SELECT 'flag-' || number, 'default' FROM generate_series(0, 29) AS number"
    )
    assert alice.get("/api/admin/user").status_code == 200
    trips = []
    for names in (THOUSAND[:1], THOUSAND[1:30]):
        with watched(conn) as on:
            assert done(switch_many(alice, "on", *names))
        with watched(conn) as off:
            assert done(switch_many(alice, "off", *names))
        trips.append((on.round_trips, off.round_trips))
    assert trips[0] == trips[1]
