"""Strategies of a flag in an environment: to change them and to put them in order."""

from typing import Any

import pytest
from werkzeug.test import TestResponse

from sql.database import Connection, value
from sql.vocabulary import segments
from tests.support import fixtures
from tests.support.flag_environments import path, recorded, switched_on
from tests.support.strategies import CONSTRAINT, VARIANTS, tagged_flag
from tests.support.world import Caller, World, refused


def put(caller: Caller, strategy: str, sent: Any, **place: str) -> TestResponse:
    """Change a strategy of a flag."""
    return caller.put(path(f"/strategies/{strategy}", **place), json=sent)


def seen(caller: Caller, strategy: str) -> dict[str, Any]:
    """The strategy as it is read."""
    return caller.get(path(f"/strategies/{strategy}")).json


def full_strategy(world: World, conn: Connection, flag: int) -> str:
    """A strategy with a bit of everything."""
    parameters = {"rollout": "25", "groupId": "g", "stickiness": "userId"}
    strategy = world.strategy(flag, title="old", sort_order=3, parameters=parameters, constraints=[CONSTRAINT])
    fixtures.insert_variant(conn, flag, "development", strategy, name="old", weight=1000)
    fixtures.add_segment(conn, strategy, segments.insert(conn, "beta", []))
    return strategy


def test_every_field_of_a_strategy_can_be_changed(world, alice, conn):
    flag = tagged_flag(world)
    strategy, other = full_strategy(world, conn, flag), full_strategy_beside(world, flag)
    before, beside = seen(alice, strategy), seen(alice, other)
    segment = segments.insert(conn, "another", [])
    sent = {
        "id": "ignored",
        "featureName": None,
        "sortOrder": 3,
        "name": "remoteAddress",
        "title": "new",
        "disabled": True,
        "constraints": [],
        "variants": VARIANTS,
        "parameters": {"IPs": "127.0.0.1"},
        "segments": [segment],
    }
    since = world.last_event_id()
    answer = put(alice, strategy, sent)
    assert answer.status_code == 200
    assert answer.json == {
        "id": strategy,
        "name": "remoteAddress",
        "title": "new",
        "disabled": True,
        "featureName": "f",
        "sortOrder": 3,
        "constraints": [],
        "variants": VARIANTS,
        "parameters": {"IPs": "127.0.0.1"},
        "segments": [segment],
    }
    assert seen(alice, strategy) == answer.json
    assert seen(alice, other) == beside
    assert recorded(world, since) == ["feature-strategy-update"]
    (event,) = world.events(since)
    assert (event["data"], event["pre_data"], event["created_by_user_id"]) == (answer.json, before, alice.id)


def full_strategy_beside(world: World, flag: int) -> str:
    """Another strategy of the flag, with a variant."""
    other = world.strategy(flag, title="beside")
    fixtures.insert_variant(world.conn, flag, "development", other, name="beside", weight=1000)
    return other


def test_constraints_and_variants_that_are_left_out_go_and_the_rest_stays(world, alice, conn):
    strategy = full_strategy(world, conn, tagged_flag(world))
    before = seen(alice, strategy)
    assert put(alice, strategy, {}).json == before | {"constraints": [], "variants": []}
    since = world.last_event_id()
    assert put(alice, strategy, {}).status_code == 200
    assert world.events(since) == []


def test_a_change_without_effect_is_not_recorded(world, alice, conn):
    strategy = full_strategy(world, conn, tagged_flag(world))
    before, since = seen(alice, strategy), world.last_event_id()
    assert put(alice, strategy, before).json == before
    assert put(alice, strategy, before | {"id": 5}).json == before
    assert (seen(alice, strategy), world.events(since)) == (before, [])


@pytest.mark.parametrize(
    ("title", "kept"), [({}, "old"), ({"title": None}, None), ({"title": ""}, ""), ({"title": "x"}, "x")]
)
def test_a_title_that_is_null_is_no_title(world, alice, conn, title, kept):
    strategy = full_strategy(world, conn, tagged_flag(world))
    assert put(alice, strategy, title).json["title"] == kept


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ({"parameters": {}}, {"rollout": "100", "groupId": "f", "stickiness": "default"}),
        ({"parameters": {"rollout": "7", "stickiness": ""}}, {"rollout": "7", "groupId": "f", "stickiness": "default"}),
        ({"title": "x"}, {"rollout": "25", "groupId": "g", "stickiness": "userId"}),
    ],
)
def test_a_gradual_rollout_keeps_its_required_parameters(world, alice, conn, sent, kept):
    strategy = full_strategy(world, conn, tagged_flag(world))
    assert put(alice, strategy, sent).json["parameters"] == kept


def test_parameters_that_are_not_spoken_of_stay_as_they_are(world, alice):
    strategy = world.strategy(tagged_flag(world), parameters={"rollout": "1"})
    assert put(alice, strategy, {"disabled": True}).json["parameters"] == {"rollout": "1"}


@pytest.mark.parametrize(
    ("field", "sent"),
    [
        ("body", []),
        ("more", {"more": 1}),
        ("name", {"name": "no-such-type"}),
        ("disabled", {"disabled": 1}),
        ("constraints.0.contextName", {"constraints": [CONSTRAINT | {"contextName": "noField"}]}),
        ("constraints", {"constraints": [CONSTRAINT] * 31}),
        ("variants", {"variants": [VARIANTS[0] | {"weightType": "fix"}]}),
        ("segments", {"segments": [4711]}),
    ],
)
def test_an_invalid_body_is_refused_and_changes_nothing(world, alice, conn, field, sent):
    strategy = full_strategy(world, conn, tagged_flag(world, enabled_in=("development",)))
    before, since = seen(alice, strategy), world.last_event_id()
    assert refused(put(alice, strategy, sent)).startswith(f"{field}: ")
    assert (seen(alice, strategy), switched_on(conn), world.events(since)) == (before, ["f/development"], [])


def test_constraints_above_the_limit_may_stay_but_not_grow(world, alice):
    strategy = world.strategy(tagged_flag(world), constraints=[CONSTRAINT] * 40)
    assert len(put(alice, strategy, {"constraints": [CONSTRAINT] * 35}).json["constraints"]) == 35
    refused(put(alice, strategy, {"constraints": [CONSTRAINT] * 36}))


def test_a_strategy_is_not_changed_from_elsewhere(world, alice):
    strategy = world.strategy(tagged_flag(world), title="old")
    world.flag("g")
    before, since = seen(alice, strategy), world.last_event_id()
    for place in ({"flag": "g"}, {"environment": "production"}):
        refused(put(alice, strategy, {"title": "new"}, **place), 404, "NotFoundError")
    assert (seen(alice, strategy), world.events(since)) == (before, [])


@pytest.mark.parametrize(
    ("on", "is_disabled", "others_disabled", "goes_off"),
    [
        (True, False, [], True),
        (True, False, [True], True),
        (True, False, [False], False),
        (True, True, [True], False),
        (False, False, [], False),
    ],
)
def test_disabling_the_last_enabled_strategy_switches_off_first(
    world, alice, conn, on, is_disabled, others_disabled, goes_off
):
    flag = tagged_flag(world, enabled_in=("development",) if on else ())
    strategy = world.strategy(flag, disabled=is_disabled)
    for disabled in others_disabled:
        world.strategy(flag, disabled=disabled)
    since = world.last_event_id()
    assert put(alice, strategy, {"disabled": True, "title": "off"}).json["disabled"] is True
    assert switched_on(conn) == (["f/development"] if on and not goes_off else [])
    assert recorded(world, since) == ["feature-environment-disabled"] * goes_off + ["feature-strategy-update"]
    assert world.events(since)[0]["data"] is None or not goes_off


def test_a_change_of_another_kind_leaves_the_flag_on(world, alice, conn):
    strategy = world.strategy(tagged_flag(world, enabled_in=("development",)))
    assert put(alice, strategy, {"title": "new"}).status_code == 200
    assert switched_on(conn) == ["f/development"]


@pytest.mark.parametrize("unwritable", ["feature-environment-disabled", "feature-strategy-update"])
def test_a_change_is_rolled_back_if_its_events_fail(world, alice, conn, unwritable):
    strategy = full_strategy(world, conn, tagged_flag(world, enabled_in=("development",)))
    before = seen(alice, strategy)
    conn.execute(f"ALTER TABLE events ADD CONSTRAINT refuse CHECK (type <> '{unwritable}') NOT VALID")
    refused(put(alice, strategy, {"disabled": True}), 500, "InternalError")
    assert (seen(alice, strategy), switched_on(conn)) == (before, ["f/development"])


# --- Order ------------------------------------------------------------------------------------------------------------


def sort(caller: Caller, *places: Any) -> TestResponse:
    """Give strategies their places."""
    return caller.post(path("/strategies/set-sort-order"), json=list(places))


def order(conn: Connection) -> dict[str, int]:
    """The places of all strategies."""
    return value(conn, "SELECT json_object_agg(title, sort_order) FROM strategies")


def three(world: World) -> list[str]:
    """Three strategies of flag f: a, b and c."""
    flag = tagged_flag(world)
    return [world.strategy(flag, title=title, sort_order=place) for place, title in enumerate("abc")]


def test_strategies_are_put_in_order(world, alice, conn):
    a, b, c = three(world)
    since = world.last_event_id()
    answer = sort(alice, {"id": a, "sortOrder": 2}, {"id": c, "sortOrder": -1})
    assert (answer.status_code, answer.data) == (200, b"")
    assert order(conn) == {"a": 2, "b": 1, "c": -1}
    assert [strategy["id"] for strategy in alice.get(path("/strategies")).json] == [c, b, a]
    assert recorded(world, since) == ["strategy-order-changed"]
    (event,) = world.events(since)
    assert (event["data"], event["pre_data"]) == ({"strategyIds": [c, b, a]}, {"strategyIds": [a, b, c]})


def test_the_same_order_is_not_recorded(world, alice, conn):
    a, _, c = three(world)
    since = world.last_event_id()
    for places in ([], [{"id": a, "sortOrder": 0}, {"id": c, "sortOrder": 2}]):
        assert sort(alice, *places).status_code == 200
    assert (order(conn), world.events(since)) == ({"a": 0, "b": 1, "c": 2}, [])


@pytest.mark.parametrize("elsewhere", ["unknown", "of-production", "of-g"])
def test_an_order_with_a_foreign_strategy_changes_nothing(world, alice, conn, elsewhere):
    a, *_ = three(world)
    flag = value(conn, "SELECT id FROM flags")
    others = {
        "of-production": world.strategy(flag, "production", title="p"),
        "of-g": world.strategy(world.flag("g"), title="g"),
    }
    before, since = order(conn), world.last_event_id()
    answer = sort(alice, {"id": a, "sortOrder": 7}, {"id": others.get(elsewhere, elsewhere), "sortOrder": 8})
    refused(answer, 404, "NotFoundError")
    assert (order(conn), world.events(since)) == (before, [])


@pytest.mark.parametrize(
    "place",
    [
        {},
        {"sortOrder": -(2**31) - 1},
        {"sortOrder": 1.0},
        {"sortOrder": "1"},
        {"sortOrder": 2**31},
        {"sortOrder": None},
        {"more": 1},
    ],
)
def test_a_place_that_does_not_fit_is_400(world, alice, conn, place):
    a, *_ = three(world)
    refused(sort(alice, {"id": a} | ({"sortOrder": 5} if "more" in place else {}) | place))
    assert order(conn) == {"a": 0, "b": 1, "c": 2}


def test_a_strategy_has_one_place(world, alice, conn):
    a, *_ = three(world)
    refused(sort(alice, {"id": a, "sortOrder": 5}, {"id": a, "sortOrder": 6}))
    refused(alice.post(path("/strategies/set-sort-order"), json={"id": a, "sortOrder": 5}))
    refused(alice.post(path("/strategies/set-sort-order")))
    assert order(conn) == {"a": 0, "b": 1, "c": 2}


def test_a_constraint_that_was_kept_without_values_is_no_obstacle(world, alice):
    asked = {"contextName": "userId", "operator": "NUM_EQ", "value": "1"}
    strategy = world.strategy(world.flag("f"), constraints=[asked])
    assert put(alice, strategy, {"constraints": [asked]}).status_code == 200
    assert seen(alice, strategy)["constraints"] == [asked | {"values": [], "inverted": False, "caseInsensitive": False}]
