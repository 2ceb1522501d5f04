"""Import: strategies, variants and states in the environment."""

import json

import pytest

from sql.database import value
from sql.vocabulary import segments
from tests.support import fixtures
from tests.support.documents import IMPORT, ROLLOUT, body, bring_in, document, flag, happened, place, state, strategy
from tests.support.world import refused

ID = "b4ad7b8a-3f5d-4a0c-9d6e-1c2b3a4d5e6f"
OTHER_ID = "c5be8c9b-4a6e-4b1d-8e7f-2d3c4b5e6f70"
BLUE = {"name": "blue", "weight": 1000, "weightType": "variable", "stickiness": "default", "overrides": []}


def test_strategies_are_replaced_with_what_is_in_the_document(world, conn, alice):
    segment, other = segments.insert(conn, "beta", []), segments.insert(conn, "norway", [])
    id = world.flag("f", enabled_in=("development",))
    world.strategy(id, parameters=ROLLOUT)
    fixtures.tag(conn, id, "simple", "web")
    [gone], before = place(world)["strategies"], world.last_event_id()
    constraint = {"contextName": "userId", "operator": "IN", "values": ["7"]}
    variants = [{"name": name, "weight": 0, "weightType": "variable", "stickiness": "default"} for name in ("b", "a")]
    wanted = strategy(
        id=ID,
        title="New",
        disabled=False,
        sortOrder=4,
        constraints=[constraint],
        variants=variants,
        segments=[900, 901],
        name="default",
        parameters={},
    )
    data = document(
        "f",
        featureStrategies=[wanted],
        segments=[{"id": 900, "name": "norway"}, {"id": 901, "name": "beta"}],
        contextFields=[],
    )
    bring_in(alice, data)
    [created] = place(world)["strategies"]
    assert created == {
        "id": ID,
        "name": "default",
        "title": "New",
        "disabled": False,
        "featureName": "f",
        "sortOrder": 4,
        "constraints": [constraint | {"inverted": False, "caseInsensitive": False}],
        "variants": [
            {"name": name, "weight": 500, "weightType": "variable", "stickiness": "default"} for name in ("a", "b")
        ],
        "parameters": {},
        "segments": [segment, other],
    }
    removed, added, _ = world.events(before)
    assert (removed["type"], removed["data"], removed["pre_data"]) == ("feature-strategy-remove", None, gone)
    assert (added["type"], added["data"], added["pre_data"]) == ("feature-strategy-add", created, None)
    for event in (removed, added):
        assert (event["project"], event["feature_name"], event["environment"]) == ("default", "f", "development")
        assert event["tags"] == [{"type": "simple", "value": "web"}]


def test_strategies_get_what_every_new_one_gets(world, conn, alice):
    conn.execute("UPDATE projects SET default_stickiness = 'userId' WHERE id = 'default'")
    entries = [
        strategy(parameters={}),
        strategy(parameters={"rollout": 5, "stickiness": ""}),
        strategy(name="default", parameters={}),
    ]
    bring_in(alice, document("f", featureStrategies=entries))
    assert [one["parameters"] for one in place(world)["strategies"]] == [
        {"rollout": "100", "groupId": "f", "stickiness": "userId"},
        {"rollout": "5", "stickiness": "default", "groupId": "f"},
        {},
    ]
    assert [one["sortOrder"] for one in place(world)["strategies"]] == [0, 1, 2]


def test_strategies_of_one_sort_order_stay_in_theirs(world, alice):
    entries = [strategy(title=title, sortOrder=0) for title in ("zebra", "ape", "lion", "cat")]
    bring_in(alice, document("f", featureStrategies=entries))
    assert [one["title"] for one in place(world)["strategies"]] == ["zebra", "ape", "lion", "cat"]


@pytest.mark.parametrize("id", [None, "not-a-uuid", "", ID + "0"])
def test_an_id_that_is_none_becomes_a_new_one(world, alice, id):
    bring_in(alice, document("f", featureStrategies=[strategy() if id is None else strategy(id=id)]))
    [created] = place(world)["strategies"]
    assert created["id"] != id
    assert len(created["id"]) == len(ID)


def test_an_id_that_another_strategy_has_becomes_a_new_one(world, alice):
    world.strategy(world.flag("taken"), strategy_id=ID)
    world.strategy(world.flag("f"), "production", strategy_id=OTHER_ID)
    bring_in(alice, document("f", featureStrategies=[strategy(id=ID), strategy(id=OTHER_ID, title="b")]))
    assert {one["id"] for one in place(world)["strategies"]} & {ID, OTHER_ID} == set()
    assert len(place(world)["strategies"]) == 2


def test_an_id_that_stands_twice_is_that_of_the_first(world, alice):
    bring_in(alice, document("f", "g", featureStrategies=[strategy("f", id=ID), strategy("g", id=ID)]))
    assert place(world, "f")["strategies"][0]["id"] == ID
    assert place(world, "g")["strategies"][0]["id"] != ID


def test_an_id_of_this_flag_is_free_when_its_strategy_goes(world, alice):
    world.strategy(world.flag("f"), strategy_id=ID, parameters=ROLLOUT)
    before = world.last_event_id()
    bring_in(alice, document("f", featureStrategies=[strategy(id=ID, title="changed")]))
    assert [(one["id"], one["title"]) for one in place(world)["strategies"]] == [(ID, "changed")]
    assert happened(world, before)[:2] == [("feature-strategy-remove", "f"), ("feature-strategy-add", "f")]


def test_equal_strategies_are_matched_by_id_first(world, alice):
    id = world.flag("f")
    for strategy_id in (ID, OTHER_ID):
        world.strategy(id, strategy_id=strategy_id, parameters=ROLLOUT)
    before = world.last_event_id()
    bring_in(
        alice,
        document(
            "f", featureStrategies=[strategy(sortOrder=0), strategy(sortOrder=0, id=ID), strategy(sortOrder=0, id="x")]
        ),
    )
    ids = [one["id"] for one in place(world)["strategies"]]
    assert len(set(ids)) == 3
    assert {ID, OTHER_ID} < set(ids)
    assert happened(world, before) == [("feature-strategy-add", "f"), ("features-imported", None)]
    bring_in(alice, document("f", featureStrategies=[strategy(sortOrder=0, id=OTHER_ID)]))
    assert [one["id"] for one in place(world)["strategies"]] == [OTHER_ID]


def test_variants_are_replaced_and_an_empty_list_clears_them(world, alice):
    before = world.last_event_id()
    payload, overrides = {"type": "csv", "value": "a,b"}, [{"contextName": "userId", "values": ["7"]}]
    red = {"name": "red", "weight": 5, "payload": payload, "overrides": overrides}
    whole = BLUE | {"name": "red", "payload": payload, "overrides": overrides}
    bring_in(alice, document("f", featureEnvironments=[state(variants=[red])]))
    assert place(world)["variants"] == [whole]
    bring_in(alice, document("f", featureEnvironments=[state(variants=[])]))
    assert place(world)["variants"] == []
    first, second = (event for event in world.events(before) if event["type"] == "feature-environment-variants-updated")
    assert (first["data"], first["pre_data"]) == ({"variants": [whole]}, {"variants": []})
    assert (second["data"], second["pre_data"]) == ({"variants": []}, {"variants": [whole]})
    assert (first["project"], first["feature_name"], first["environment"]) == ("default", "f", "development")


def test_overrides_of_variants_of_strategies_are_ignored(world, alice):
    variant = {"name": "red", "weight": 1000, "weightType": "variable", "stickiness": "default"}
    sent = variant | {"overrides": [{"contextName": "userId", "values": ["7"]}]}
    bring_in(alice, document("f", featureStrategies=[strategy(variants=[sent])]))
    assert [one["variants"] for one in place(world)["strategies"]] == [[variant]]


def test_states_are_set_and_off_comes_first_and_on_last(world, alice):
    for name, on in (("a", ("development",)), ("b", ()), ("c", ("development",))):
        world.strategy(world.flag(name, enabled_in=on), parameters=ROLLOUT)
    before = world.last_event_id()
    new = [strategy(name, title="new") for name in ("a", "b")]
    kept = strategy("c", sortOrder=0)
    states = [state("a", enabled=False), state("b", enabled=True), state("c", enabled=True)]
    bring_in(alice, document("a", "b", "c", featureStrategies=[*new, kept], featureEnvironments=states))
    assert [place(world, name)["enabled"] for name in "abc"] == [False, True, True]
    assert happened(world, before) == [
        ("feature-environment-disabled", "a"),
        ("feature-strategy-remove", "a"),
        ("feature-strategy-remove", "b"),
        ("feature-strategy-add", "a"),
        ("feature-strategy-add", "b"),
        ("feature-environment-enabled", "b"),
        ("features-imported", None),
    ]
    assert {event["environment"] for event in world.events(before)} == {"development"}


def test_the_first_time_in_production_is_remembered(conn, alice):
    statement = "SELECT first_in_production_at = now() FROM flags WHERE name = 'f'"
    wanted = document("f", featureStrategies=[strategy()], featureEnvironments=[state(enabled=True)])
    bring_in(alice, wanted)
    assert value(conn, statement) is None
    bring_in(alice, wanted, environment="production")
    assert value(conn, statement) is True
    conn.execute(
        "UPDATE flags SET first_in_production_at = '2020-01-01Z'; UPDATE flag_environments SET enabled = false"
    )
    bring_in(alice, wanted, environment="production")
    assert value(conn, statement) is False


@pytest.mark.parametrize("there", [[], [strategy(disabled=True)]], ids=["none", "disabled ones"])
def test_a_state_that_is_on_gets_the_default_strategy(world, alice, there):
    data = document("f", featureStrategies=there, featureEnvironments=[state(enabled=True)])
    bring_in(alice, data)
    [*_, created] = place(world)["strategies"]
    assert (place(world)["enabled"], created["disabled"], created["sortOrder"]) == (True, False, len(there))
    assert (created["name"], created["parameters"]) == (
        "flexibleRollout",
        {"rollout": "100", "groupId": "f", "stickiness": "default"},
    )
    before = world.last_event_id()
    bring_in(alice, data)
    assert happened(world, before) == [("features-imported", None)]


def set_default(conn, strategy):
    """Give project default a default strategy in development."""
    statement = (
        "UPDATE project_environments SET default_strategy = %s "
        "WHERE project_id = 'default' AND environment = 'development'"
    )
    conn.execute(statement, [json.dumps(strategy)])


def test_the_strategy_by_hand_is_that_of_the_project(world, conn, alice):
    id = segments.insert(conn, "beta", [])
    constraint = {"contextName": "gone", "operator": "IN", "values": ["1"], "inverted": False, "caseInsensitive": False}
    default = {
        "name": "flexibleRollout",
        "title": "Usual",
        "disabled": True,
        "segments": [id],
        "sortOrder": 9,
        "constraints": [constraint],
    }
    set_default(conn, default | {"parameters": {"rollout": "5", "stickiness": "userId", "groupId": "all"}})
    data = document("f", featureEnvironments=[state(enabled=True)])
    bring_in(alice, data)
    [created] = place(world)["strategies"]
    assert created.pop("id")
    assert created == default | {
        "featureName": "f",
        "disabled": False,
        "sortOrder": 0,
        "variants": [],
        "parameters": {"rollout": "5", "stickiness": "userId", "groupId": "f"},
    }
    before = world.last_event_id()
    bring_in(alice, data)
    assert happened(world, before) == [("features-imported", None)]


@pytest.mark.parametrize("gone", [{"name": "gone"}, {"name": "default", "segments": [10**6]}])
def test_an_unusable_default_strategy_is_an_error_where_needed(world, conn, alice, gone):
    set_default(conn, gone)
    data = document("f", featureEnvironments=[state(enabled=True)])
    assert refused(alice.post(IMPORT, json=body(data))).startswith("f: The default strategy of this environment uses")
    assert flag(world) is None
    bring_in(alice, data | {"featureStrategies": [strategy()]})


def test_a_flag_that_loses_its_last_strategy_is_switched_off(world, alice):
    world.strategy(world.flag("f", enabled_in=("development",)))
    before = world.last_event_id()
    bring_in(alice, document("f"))
    assert (place(world)["enabled"], place(world)["strategies"]) == (False, [])
    assert happened(world, before)[:2] == [("feature-environment-disabled", "f"), ("feature-strategy-remove", "f")]
