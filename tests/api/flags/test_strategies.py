"""Strategies of a flag in an environment: to see them and to add some, with all that a strategy can have."""

from typing import Any

import pytest
from werkzeug.test import TestResponse

from sql.database import Connection, value
from sql.people import roles
from sql.vocabulary import segments
from tests.support import fixtures
from tests.support.flag_environments import path, recorded
from tests.support.strategies import CONSTRAINT, VARIANTS, tagged_flag
from tests.support.world import Caller, refused


def add(caller: Caller, sent: Any, **place: str) -> TestResponse:
    """Add a strategy to a flag."""
    return caller.post(path("/strategies", **place), json=sent)


def number_of_strategies(conn: Connection) -> int:
    """How many there are."""
    return value(conn, "SELECT count(*) FROM strategies")


def test_a_strategy_is_added_with_all_its_fields(world, alice, conn):
    flag = tagged_flag(world)
    own, for_all = segments.insert(conn, "own", [], project="default"), segments.insert(conn, "for all", [])
    since = world.last_event_id()
    sent = {
        "name": "flexibleRollout",
        "title": "Ein Viertel 🐘",
        "disabled": True,
        "sortOrder": 7,
        "constraints": [{"operator": "IN", "contextName": "userId", "values": ["7", "3"], "inverted": True}],
        "variants": [VARIANTS[1] | {"weight": 1}, VARIANTS[0]],
        "parameters": {"rollout": 25, "groupId": "für alle", "stickiness": "sessionId"},
        "segments": [for_all, own, own],
    }
    answer = add(alice, sent)
    assert answer.status_code == 200
    created = answer.json
    # What clients cannot do without: the id, and texts as parameters.
    assert len(created["id"]) == 36
    assert created == {
        "id": created["id"],
        "name": "flexibleRollout",
        "title": "Ein Viertel 🐘",
        "disabled": True,
        "featureName": "f",
        "sortOrder": 7,
        "constraints": [CONSTRAINT],
        "variants": VARIANTS,
        "parameters": {
            "rollout": "25",
            "groupId": "für alle",
            "stickiness": "sessionId",
        },
        "segments": sorted([own, for_all]),
    }
    assert value(conn, "SELECT array_agg(flag_id || environment) FROM strategies") == [f"{flag}development"]
    assert recorded(world, since) == ["feature-strategy-add"]
    (event,) = world.events(since)
    assert (event["data"], event["pre_data"], event["created_by_user_id"]) == (created, None, alice.id)
    assert alice.get(path(f"/strategies/{created['id']}")).json == created
    assert alice.get(path("/strategies")).json == [created]
    assert alice.get(path("/strategies", environment="production")).json == []


def test_a_name_is_enough(world, alice):
    tagged_flag(world)
    created = add(alice, {"name": "default"}).json
    assert created == {
        "id": created["id"],
        "name": "default",
        "title": None,
        "disabled": False,
        "featureName": "f",
        "sortOrder": 0,
        "constraints": [],
        "variants": [],
        "parameters": {},
        "segments": [],
    }


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ({}, {"rollout": "100", "groupId": "f", "stickiness": "userId"}),
        ({"rollout": "5"}, {"rollout": "5", "groupId": "f", "stickiness": "userId"}),
        ({"stickiness": "", "groupId": "g"}, {"rollout": "100", "groupId": "g", "stickiness": "default"}),
    ],
)
def test_a_gradual_rollout_gets_missing_parameters(world, alice, conn, sent, kept):
    tagged_flag(world)
    conn.execute("UPDATE projects SET default_stickiness = 'userId' WHERE id = 'default'")
    assert add(alice, {"name": "flexibleRollout", "parameters": sent}).json["parameters"] == kept


def test_a_new_strategy_comes_behind_the_others(world, alice):
    tagged_flag(world)
    places = [
        add(alice, {"name": "default"} | more).json["sortOrder"]
        for more in ({}, {}, {"sortOrder": 9}, {}, {"sortOrder": 0}, {}, {"sortOrder": -(2**31)})
    ]
    assert places == [0, 1, 9, 10, 0, 11, -(2**31)]
    assert [strategy["sortOrder"] for strategy in alice.get(path("/strategies")).json] == [-(2**31), 0, 0, 1, 9, 10, 11]
    assert add(alice, {"name": "default"}, environment="production").json["sortOrder"] == 0


def test_behind_the_last_number_there_is_no_other(world, alice):
    tagged_flag(world)
    assert [add(alice, {"name": "default"} | more).json["sortOrder"] for more in ({"sortOrder": 2**31 - 1}, {})] == [
        2**31 - 1
    ] * 2


REFUSED: list[tuple[str, Any]] = [
    ("name", {}),
    ("name", {"name": ""}),
    ("name", {"name": None}),
    ("name", {"name": "no-such-type"}),
    ("body", []),
    ("more", {"name": "default", "more": 1}),
    ("title", {"name": "default", "title": 5}),
    ("disabled", {"name": "default", "disabled": "true"}),
    ("sortOrder", {"name": "default", "sortOrder": -(2**31) - 1}),
    ("sortOrder", {"name": "default", "sortOrder": 1.0}),
    ("sortOrder", {"name": "default", "sortOrder": 2**31}),
    ("constraints", {"name": "default", "constraints": {}}),
    ("constraints.0.contextName", {"name": "default", "constraints": [{"contextName": "noField", "operator": "IN"}]}),
    ("constraints.0.operator", {"name": "default", "constraints": [{"contextName": "userId", "operator": "LIKE"}]}),
    (
        "constraints.0.value",
        {"name": "default", "constraints": [{"contextName": "userId", "operator": "NUM_EQ", "value": "x"}]},
    ),
    ("constraints", {"name": "default", "constraints": [CONSTRAINT] * 31}),
    ("constraints.0.values", {"name": "default", "constraints": [CONSTRAINT | {"values": ["1"] * 251}]}),
    ("variants", {"name": "default", "variants": [VARIANTS[0]] * 2}),
    ("variants", {"name": "default", "variants": [VARIANTS[0] | {"weightType": "fix"}]}),
    ("variants.0.weight", {"name": "default", "variants": [VARIANTS[0] | {"weight": 1001}]}),
    (
        "variants.0.payload.value",
        {"name": "default", "variants": [VARIANTS[0] | {"payload": {"type": "number", "value": "x"}}]},
    ),
    (
        "variants.0.overrides",
        {"name": "default", "variants": [VARIANTS[0] | {"overrides": [{"contextName": "userId", "values": ["7"]}]}]},
    ),
    ("parameters.rollout", {"name": "default", "parameters": {"rollout": []}}),
    ("parameters.rollout", {"name": "default", "parameters": {"rollout": []}}),
    ("parameters.rollout", {"name": "default", "parameters": {"rollout": 2**63}}),
    ("parameters.rollout", {"name": "default", "parameters": {"rollout": -(10**400)}}),
    ("segments", {"name": "default", "segments": [4711]}),
    ("segments", {"name": "default", "segments": [2**63 - 1]}),
    ("segments.0", {"name": "default", "segments": ["1"]}),
]


def test_an_empty_list_of_overrides_is_ignored(world, alice):
    tagged_flag(world)
    sent = {"name": "default", "variants": [VARIANTS[0] | {"overrides": []}]}
    added = add(alice, sent).json
    assert "overrides" not in added["variants"][0]
    since = world.last_event_id()
    assert alice.put(path(f"/strategies/{added['id']}"), json=sent).json == added
    assert world.events(since) == []


@pytest.mark.parametrize(("field", "sent"), REFUSED)
def test_an_invalid_body_is_refused_and_adds_nothing(world, alice, conn, field, sent):
    tagged_flag(world)
    since = world.last_event_id()
    message = refused(add(alice, sent))
    assert message.startswith(f"{field}: "), message
    assert (number_of_strategies(conn), world.events(since)) == (0, [])


def test_segments_must_be_of_the_project_or_of_all_and_not_too_many(world, alice, conn):
    tagged_flag(world)
    world.project("hermes")
    foreign = segments.insert(conn, "foreign", [], project="hermes")
    refused(add(alice, {"name": "default", "segments": [foreign]}))
    six = [segments.insert(conn, f"segment {number}", []) for number in range(6)]
    refused(add(alice, {"name": "default", "segments": six}))
    assert number_of_strategies(conn) == 0
    assert add(alice, {"name": "default", "segments": six[:5]}).status_code == 200


def test_thirty_strategies_are_enough(world, alice, conn):
    flag = tagged_flag(world)
    for number in range(29):
        world.strategy(flag, sort_order=number)
    assert add(alice, {"name": "default"}).json["sortOrder"] == 29
    since = world.last_event_id()
    assert "30" in refused(add(alice, {"name": "default"}))
    assert (number_of_strategies(conn), world.events(since)) == (30, [])
    assert add(alice, {"name": "default"}, environment="production").status_code == 200


def test_adding_needs_the_permission_in_that_environment(world, victor, conn):
    tagged_flag(world)
    role = roles.insert(conn, "Strategist")
    fixtures.allow(conn, role, "CREATE_FEATURE_STRATEGY", environment="development")
    world.member("default", victor, role)
    assert add(victor, {"name": "default"}).status_code == 200
    refused(add(victor, {"name": "default"}, environment="production"), 403, "NoAccessError")
    refused(victor.put(path("/strategies/x"), json={}), 403, "NoAccessError")
    refused(victor.delete(path("/strategies/x")), 403, "NoAccessError")
    refused(victor.post(path("/strategies/set-sort-order"), json=[]), 403, "NoAccessError")
    assert number_of_strategies(conn) == 1


def test_a_body_is_needed_and_must_be_json(world, alice, conn):
    tagged_flag(world)
    refused(alice.post(path("/strategies")))
    refused(
        alice.post(path("/strategies"), data=b'{"name": "default"}', content_type="text/plain"), 415, "ContentTypeError"
    )
    # Form comes before what is there.
    refused(add(alice, {}, flag="unknown"))
    assert number_of_strategies(conn) == 0


def test_strategies_are_listed_in_their_order_with_all_that_they_have(world, alice, conn):
    flag = world.flag("f")
    late = world.strategy(flag, sort_order=5, name="default")
    early = world.strategy(flag, sort_order=1, title="first")
    fixtures.insert_variant(conn, flag, "development", early, name="blue", weight=1000)
    listed = alice.get(path("/strategies")).json
    assert [strategy["id"] for strategy in listed] == [early, late]
    assert listed == [alice.get(path(f"/strategies/{id}")).json for id in (early, late)]
    assert [variant["name"] for variant in listed[0]["variants"]] == ["blue"]


def test_a_strategy_of_another_flag_is_not_seen_here(world, alice):
    world.flag("f")
    foreign = world.strategy(world.flag("g"))
    refused(alice.get(path(f"/strategies/{foreign}")), 404, "NotFoundError")
    refused(alice.get(path(f"/strategies/{foreign}", environment="production", flag="g")), 404, "NotFoundError")
    assert alice.get(path(f"/strategies/{foreign}", flag="g")).status_code == 200


def test_a_new_strategy_is_rolled_back_if_its_event_fails(world, alice, conn):
    tagged_flag(world)
    conn.execute("ALTER TABLE events ADD CONSTRAINT refuse CHECK (type <> 'feature-strategy-add') NOT VALID")
    refused(add(alice, {"name": "default", "variants": VARIANTS}), 500, "InternalError")
    assert (number_of_strategies(conn), value(conn, "SELECT count(*) FROM variants")) == (0, 0)
