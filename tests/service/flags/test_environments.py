"""Flags in environments: read, and switched on and off, alone and in bulk."""

import time
from datetime import UTC, datetime
from typing import Any

import pytest
from psycopg.types.json import Json
from werkzeug.test import TestResponse

from sql.catalog import segments
from sql.database import Connection, value
from sql.flags import favorites as flag_favorites
from sql.people import roles
from tests.support import fixtures
from tests.support.fingerprint import fingerprint
from tests.support.flag_environments import path, recorded, strategies_of, switch, switched_on, tagged_flag
from tests.support.flags import BETA, PROJECT, event
from tests.support.flags import recorded as recorded_whole
from tests.support.strategies import CONSTRAINT, VARIANTS
from tests.support.wire import watched
from tests.support.world import Caller, refused

ACTIVATE = "?shouldActivateDisabledStrategies=true"
BLUE = {"name": "blue", "weight": 1000, "weightType": "variable", "stickiness": "default"}


def test_a_flag_is_read_in_one_environment(world, alice, conn):
    flag = world.flag("f", enabled_in=("development",))
    strategy = world.strategy(flag, disabled=True, parameters={"rollout": "5"})
    fixtures.insert_variant(conn, flag, "development", None, name="blue", weight=1000)
    report = {"project": "default", "flag": "f", "environment": "development", "app": "shop", "yes": 3, "no": 1}
    fixtures.report_usage(conn, [report | {"at": value(conn, "SELECT now()")}])
    seen = alice.get(path()).json
    assert seen == {
        "name": "f",
        "environment": "development",
        "type": "development",
        "enabled": True,
        "sortOrder": 1,
        "variantCount": 1,
        "hasStrategies": True,
        "hasEnabledStrategies": False,
        "lastSeenAt": seen["lastSeenAt"],
        "strategies": [alice.get(path(f"/strategies/{strategy}")).json],
        "variants": [BLUE | {"overrides": []}],
        "yes": 3,
        "no": 1,
    }
    assert seen["lastSeenAt"] is not None


def test_an_environment_that_was_linked_later_is_off_and_can_be_switched_on(world, alice, conn):
    world.flag("f")
    conn.execute("DELETE FROM flag_environments")
    seen = alice.get(path()).json
    assert (seen["enabled"], seen["strategies"], seen["variants"], seen["lastSeenAt"]) == (False, [], [], None)
    assert switch(alice, "on").status_code == 200
    assert switched_on(conn) == ["f/development"]


# --- On and off -------------------------------------------------------------------------------------------------------


def test_a_flag_is_switched_on_and_off_and_keeps_its_strategy(world, alice, conn):
    strategy = world.strategy(tagged_flag(world, enabled_in=("production",)))
    for to, type, places in (
        ("on", "feature-environment-enabled", ["f/development", "f/production"]),
        ("off", "feature-environment-disabled", ["f/production"]),
    ):
        since = world.last_event_id()
        answer = switch(alice, to)
        assert answer.status_code == 200
        # What a client of the MCP server reads.
        assert answer.json["name"] == "f"
        assert [(place["name"], place["enabled"]) for place in answer.json["environments"]] == [
            ("development", to == "on"),
            ("production", True),
        ]
        assert [(entry["id"], entry["disabled"]) for entry in strategies_of(answer)] == [(strategy, False)]
        assert switched_on(conn) == places
        assert recorded(world, since) == [type]
        (entry,) = world.events(since)
        assert (entry["data"], entry["pre_data"], entry["created_by_user_id"]) == (None, None, alice.id)
        before = fingerprint(conn)
        assert switch(alice, to).status_code == 200
        assert fingerprint(conn) == before


def test_the_response_is_the_flag_as_the_caller_sees_it(world, alice, conn):
    flag_favorites.add(conn, alice.id, tagged_flag(world))
    assert switch(alice, "on").json["favorite"] is True
    assert switch(alice, "off").json["favorite"] is True
    assert switch(world.api_key(), "on").json["favorite"] is False


def test_switching_on_can_enable_all_disabled_strategies(world, alice, conn):
    flag = tagged_flag(world)
    places = ((2, True), (0, True), (1, False))
    ids = [world.strategy(flag, disabled=disabled, sort_order=place) for place, disabled in places]
    elsewhere = world.strategy(flag, "production", disabled=True)
    before = {strategy["id"]: strategy for strategy in alice.get(path("/strategies")).json}
    since = world.last_event_id()
    found = strategies_of(switch(alice, "on", ACTIVATE))
    assert [(strategy["id"], strategy["disabled"]) for strategy in found] == [(ids[n], False) for n in (1, 2, 0)]
    assert recorded(world, since) == ["feature-strategy-update"] * 2 + ["feature-environment-enabled"]
    assert [(event["pre_data"], event["data"]) for event in world.events(since)[:2]] == [
        (before[id], before[id] | {"disabled": False}) for id in (ids[1], ids[0])
    ]
    assert value(conn, "SELECT disabled FROM strategies WHERE id = %(id)s", {"id": elsewhere}) is True
    # A flag that is on is left alone.
    world.strategy(flag, disabled=True)
    state = fingerprint(conn)
    assert switch(alice, "on", ACTIVATE).status_code == 200
    assert fingerprint(conn) == state


@pytest.mark.parametrize("word", ["yes", "", "1", "True", "true&shouldActivateDisabledStrategies=true"])
def test_the_query_is_true_or_false(world, alice, conn, word):
    tagged_flag(world)
    message = refused(switch(alice, "on", f"?shouldActivateDisabledStrategies={word}"))
    assert "shouldActivateDisabledStrategies" in message
    assert switched_on(conn) == []


@pytest.mark.parametrize("to", ["on", "off"])
def test_a_switch_takes_any_body(world, alice, to):
    tagged_flag(world)
    for data, content_type in ((b"{not json", "text/plain"), (b"{}", "application/json"), (b"\xff", None)):
        assert alice.post(path(f"/{to}"), data=data, content_type=content_type).status_code == 200


def may(conn: Connection, *permissions: str, environment: str | None = None) -> int:
    """A role that holds these permissions."""
    role = roles.insert(conn, "Switcher")
    for permission in permissions:
        fixtures.allow(conn, role, permission, environment=environment)
    return role


def test_adding_a_strategy_needs_its_own_permission_too(world, victor, conn):
    disabled = world.strategy(tagged_flag(world), disabled=True)
    role = may(conn, "UPDATE_FEATURE_ENVIRONMENT")
    world.member("default", victor, role)
    before = fingerprint(conn)
    assert "CREATE_FEATURE_STRATEGY" in refused(switch(victor, "on"), 403, "NoAccessError")
    assert "UPDATE_FEATURE_STRATEGY" in refused(switch(victor, "on", ACTIVATE), 403, "NoAccessError")
    assert fingerprint(conn) == before
    fixtures.allow(conn, role, "UPDATE_FEATURE_STRATEGY", environment="development")
    assert switch(victor, "on", ACTIVATE).status_code == 200
    assert switch(victor, "off").status_code == 200
    assert switch(victor, "on").status_code == 200
    assert value(conn, "SELECT array_agg(id) FROM strategies") == [disabled]


def test_the_permissions_hold_in_their_environment(world, victor, conn):
    tagged_flag(world)
    role = may(conn, "UPDATE_FEATURE_ENVIRONMENT", "CREATE_FEATURE_STRATEGY", environment="development")
    world.member("default", victor, role)
    assert switch(victor, "on").status_code == 200
    for to in ("on", "off"):
        refused(switch(victor, to, environment="production"), 403, "NoAccessError")
    assert switched_on(conn) == ["f/development"]


@pytest.mark.parametrize(
    ("type", "sets"), [("production", True), ("development", False), ("preproduction", False), ("Production", False)]
)
def test_the_first_time_in_production_is_kept(world, alice, conn, type, sets):
    conn.execute("UPDATE environments SET type = %s WHERE name = 'development'", [type])
    now = value(conn, "SELECT now()")
    flag = tagged_flag(world)
    switch(alice, "on")
    assert value(conn, "SELECT first_in_production_at FROM flags") == (now if sets else None)
    long_ago = datetime(2024, 1, 1, tzinfo=UTC)
    fixtures.update(conn, "flags", flag, first_in_production_at=long_ago)
    switch(alice, "on", environment="production")
    assert value(conn, "SELECT first_in_production_at FROM flags") == long_ago


# --- The default strategy ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["", "?shouldActivateDisabledStrategies=false", ACTIVATE, "?other=1"])
def test_switching_on_without_a_strategy_adds_a_full_rollout(world, alice, conn, query):
    tagged_flag(world)
    conn.execute("UPDATE projects SET default_stickiness = 'sessionId' WHERE id = 'default'")
    since = world.last_event_id()
    (strategy,) = strategies_of(switch(alice, "on", query))
    assert strategy == {
        "id": strategy["id"],
        "name": "flexibleRollout",
        "title": None,
        "disabled": False,
        "featureName": "f",
        "sortOrder": 0,
        "constraints": [],
        "variants": [],
        "parameters": {"rollout": "100", "groupId": "f", "stickiness": "sessionId"},
        "segments": [],
    }
    assert recorded(world, since) == ["feature-strategy-add", "feature-environment-enabled"]
    added = world.events(since)[0]
    assert (added["data"], added["pre_data"]) == (strategy, None)
    assert switched_on(conn) == ["f/development"]


def default_strategy(conn: Connection, **default: Any) -> None:
    """Let flags of project default get this strategy in development."""
    statement = (
        "UPDATE project_environments SET default_strategy = %s "
        "WHERE project_id = 'default' AND environment = 'development'"
    )
    conn.execute(statement, [Json(default)])


def test_switching_on_without_an_enabled_strategy_appends_the_default(world, alice, conn):
    old = world.strategy(tagged_flag(world), disabled=True, sort_order=4)
    default = {
        "name": "flexibleRollout",
        "title": "Bit by bit",
        "disabled": True,
        "sortOrder": 0,
        "constraints": [CONSTRAINT],
        "variants": VARIANTS,
        "parameters": {"rollout": "10", "groupId": "default"},
        "segments": [segments.insert(conn, "beta", [])],
    }
    default_strategy(conn, **default)
    since = world.last_event_id()
    first, second = strategies_of(switch(alice, "on"))
    assert (first["id"], first["disabled"]) == (old, True)
    parameters = {"rollout": "10", "groupId": "f", "stickiness": "default"}
    added = {"id": second["id"], "featureName": "f", "disabled": False, "sortOrder": 5, "parameters": parameters}
    assert second == default | added
    assert recorded(world, since) == ["feature-strategy-add", "feature-environment-enabled"]
    assert world.events(since)[0]["data"] == second
    # Its name is enough.
    world.flag("g")
    default_strategy(conn, name="userWithId", parameters={"userIds": "1,2"})
    (strategy,) = strategies_of(switch(alice, "on", flag="g"))
    assert (strategy["name"], strategy["parameters"], strategy["title"]) == ("userWithId", {"userIds": "1,2"}, None)


@pytest.mark.parametrize("gone", [{"name": "no-such-type"}, {"name": "default", "segments": [12345]}])
def test_an_unusable_default_strategy_is_409(world, alice, conn, gone):
    tagged_flag(world)
    default_strategy(conn, **gone)
    before = fingerprint(conn)
    assert "default strategy" in refused(switch(alice, "on"), 409, "ConflictError")
    assert fingerprint(conn) == before


def test_a_full_environment_takes_no_default_strategy(world, alice, conn):
    flag = tagged_flag(world)
    for _ in range(30):
        world.strategy(flag, disabled=True)
    before = fingerprint(conn)
    assert "30" in refused(switch(alice, "on"))
    assert fingerprint(conn) == before


# --- In bulk ----------------------------------------------------------------------------------------------------------


def switch_many(
    caller: Caller, to: str, *features: Any, query: str = "", environment: str = "development", **more: Any
) -> TestResponse:
    """Switch flags of project default."""
    body = {"features": list(features)} | more
    return caller.post(f"{PROJECT}/bulk_features/environments/{environment}/{to}{query}", json=body)


def done(response: TestResponse) -> bool:
    """Whether the answer is 200 without a body."""
    return (response.status_code, response.data) == (200, b"")


def test_several_flags_are_switched_each_as_if_alone(world, alice, conn):
    bare, dim = world.flag("bare"), world.flag("dim")
    world.flag("on", enabled_in=("development",))
    fixtures.tag(conn, bare, "simple", "beta")
    strategy = world.strategy(dim)
    since = world.last_event_id()
    assert done(switch_many(alice, "on", "dim", "on", "bare", "dim"))
    assert switched_on(conn) == ["bare/development", "dim/development", "on/development"]
    added, first, second = recorded_whole(world, since, alice)
    place = {"environment": "development"}
    assert added.pop("data")["featureName"] == "bare"
    assert added == event("feature-strategy-add", "bare", tags=[BETA], **place)
    assert first == event("feature-environment-enabled", "dim", **place)
    assert second == event("feature-environment-enabled", "bare", tags=[BETA], **place)
    assert value(conn, "SELECT parameters FROM strategies WHERE id <> %(id)s", {"id": strategy})["groupId"] == "bare"
    since = world.last_event_id()
    for _ in range(2):
        assert done(switch_many(alice, "off", "on", "bare"))
    assert switched_on(conn) == ["dim/development"]
    off = "feature-environment-disabled"
    assert recorded_whole(world, since) == [event(off, "on", **place), event(off, "bare", tags=[BETA], **place)]


def test_a_bulk_switch_can_enable_disabled_strategies(world, alice, conn):
    for name in ("a", "b"):
        world.strategy(world.flag(name), disabled=True)
    since = world.last_event_id()
    assert done(switch_many(alice, "on", "a", "b", query=ACTIVATE))
    assert value(conn, "SELECT array_agg(disabled) FROM strategies") == [False, False]
    types = ["feature-strategy-update"] * 2 + ["feature-environment-enabled"] * 2
    assert [event["type"] for event in world.events(since)] == types


@pytest.mark.parametrize("to", ["on", "off"])
def test_an_unknown_flag_prevents_the_whole_bulk_switch(world, alice, conn, to):
    world.flag("of-hermes", world.project("hermes"))
    world.flag("archived", archived_at=datetime.now(UTC))
    world.flag("a", enabled_in=("development",) if to == "off" else ())
    before = fingerprint(conn)
    for unknown in ("unknown", "of-hermes", "archived", "A", "", "aé"):
        message = refused(switch_many(alice, to, "a", unknown), 404, "NotFoundError")
        assert message == f"features: unknown or archived flags: {unknown}"
    assert fingerprint(conn) == before


@pytest.mark.parametrize("to", ["on", "off"])
def test_an_environment_that_is_not_linked_is_404_even_for_no_flag(world, alice, conn, to):
    conn.execute("INSERT INTO environments (name, type, sort_order) VALUES ('unlinked', 'test', 9)")
    world.flag("a")
    for features in ([], ["a"]):
        refused(switch_many(alice, to, *features, environment="unlinked"), 404, "NotFoundError")
    assert done(switch_many(alice, to))


def test_a_forbidden_strategy_prevents_the_whole_bulk_switch(world, victor, conn):
    world.strategy(world.flag("a"))
    world.flag("b")
    world.member("default", victor, may(conn, "UPDATE_FEATURE_ENVIRONMENT"))
    before = fingerprint(conn)
    refused(switch_many(victor, "on", "a", "b"), 403, "NoAccessError")
    assert fingerprint(conn) == before
    assert done(switch_many(victor, "on", "a"))


@pytest.mark.parametrize("to", ["on", "off"])
def test_an_invalid_bulk_switch_is_refused(world, alice, conn, to):
    world.flag("a")
    for features, more in (([1], {}), ([], {"more": 1}), (["a"] * 1001, {}), ([], {"features": None})):
        refused(switch_many(alice, to, *features, **more))
    assert switched_on(conn) == []
    refused(switch_many(alice, "on", "a", query="?shouldActivateDisabledStrategies=1"))


THOUSAND = [f"flag-{number}" for number in range(1000)]


def add_many(conn: Connection, number: int) -> None:
    """Create the first of these flags."""
    conn.execute(
        "INSERT INTO flags (name, project_id) SELECT name, 'default' FROM unnest(%s::text[]) AS name",
        [THOUSAND[:number]],
    )


@pytest.mark.timing
def test_a_thousand_flags_take_less_than_two_seconds(alice, conn):
    add_many(conn, 1000)
    for to in ("on", "off"):
        start = time.monotonic()
        assert done(switch_many(alice, to, *THOUSAND))
        assert time.monotonic() - start < 2
        assert len(switched_on(conn)) == (1000 if to == "on" else 0)


def test_many_flags_cost_no_more_round_trips_than_one(alice, conn):
    add_many(conn, 30)
    assert alice.get("/api/admin/user").status_code == 200
    trips = []
    for names in (THOUSAND[:1], THOUSAND[1:30]):
        with watched(conn) as on:
            assert done(switch_many(alice, "on", *names))
        with watched(conn) as off:
            assert done(switch_many(alice, "off", *names))
        trips.append((on.round_trips, off.round_trips))
    assert trips[0] == trips[1]


# --- Elsewhere --------------------------------------------------------------------------------------------------------

# Of every operation on a flag in an environment: method, path below it, body.
OPERATIONS: list[tuple[str, str, Any]] = [
    ("GET", "", None),
    ("POST", "/on", None),
    ("POST", "/off", None),
    ("GET", "/strategies", None),
    ("POST", "/strategies", {"name": "default"}),
    ("GET", "/strategies/{id}", None),
    ("PUT", "/strategies/{id}", {"title": "new"}),
    ("PATCH", "/strategies/{id}", [{"op": "replace", "path": "/title", "value": "new"}]),
    ("DELETE", "/strategies/{id}", None),
    ("POST", "/strategies/set-sort-order", []),
    ("GET", "/variants", None),
    ("PUT", "/variants", []),
    ("PATCH", "/variants", [{"op": "replace", "path": "", "value": []}]),
]
ELSEWHERE = [
    {"project": "hermes"},
    {"flag": "unknown"},
    {"flag": "of-hermes"},
    {"flag": "archived"},
    {"flag": "F"},
    {"environment": "unlinked"},
    {"environment": "unknown"},
    {"environment": "Development"},
]


@pytest.mark.parametrize("place", ELSEWHERE, ids=str)
def test_records_of_another_project_flag_or_environment_are_404(world, alice, conn, place):
    world.project("hermes")
    conn.execute("INSERT INTO environments (name, type, sort_order) VALUES ('unlinked', 'test', 9)")
    ids = {}
    for name, project, archived_at in (
        ("f", "default", None),
        ("of-hermes", "hermes", None),
        ("archived", "default", datetime.now(UTC)),
    ):
        flag = world.flag(name, project, enabled_in=("development",), archived_at=archived_at)
        fixtures.add_flag_environment(conn, flag, "unlinked")
        for environment in ("development", "unlinked"):
            ids[name, environment] = world.strategy(flag, environment)
            fixtures.insert_variant(conn, flag, environment, None, name="blue", weight=1000)
    # Of the flag that is asked about, so that nothing but the place is wrong.
    asked = (place.get("flag", "f"), place.get("environment", "development"))
    strategy = ids.get(asked, ids["f", "development"])
    # A strategy of another flag or environment is not found in the right place either.
    places = [place] if strategy == ids["f", "development"] else [place, {}]
    before = fingerprint(conn)
    for method, what, body in OPERATIONS:
        # The list shows the strategies of archived flags too.
        if (method, what) == ("GET", "/strategies") and "archived" in asked:
            continue
        sent = [{"id": strategy, "sortOrder": 9}] if what.endswith("order") else body
        for words in places if "{id}" in what else [place]:
            address = path(what.format(id=strategy), **words)
            response = alice.request(method, address, **({} if sent is None else {"json": sent}))
            refused(response, 404, "NotFoundError")
    assert fingerprint(conn) == before
