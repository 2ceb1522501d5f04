"""Strategies of a flag in an environment: read, added, changed, patched, put in order and deleted."""

from typing import Any

import pytest
from werkzeug.test import TestResponse

from sql.catalog import segments
from sql.database import Connection, rows, value
from sql.people import roles
from tests.support import fixtures
from tests.support.fingerprint import fingerprint
from tests.support.flag_environments import path, recorded, switched_on
from tests.support.strategies import CONSTRAINT, VARIANTS, tagged_flag
from tests.support.world import Caller, World, refused

ORDER = path("/strategies/set-sort-order")


def add(caller: Caller, sent: Any, **place: str) -> TestResponse:
    """Add a strategy to a flag."""
    return caller.post(path("/strategies", **place), json=sent)


def put(caller: Caller, strategy: str, sent: Any, **place: str) -> TestResponse:
    """Change a strategy of a flag."""
    return caller.put(path(f"/strategies/{strategy}", **place), json=sent)


def patch(caller: Caller, strategy: str, *steps: Any) -> TestResponse:
    """Patch a strategy of flag f in development."""
    return caller.request("PATCH", path(f"/strategies/{strategy}"), json=list(steps))


def delete(caller: Caller, strategy: str, **request: Any) -> TestResponse:
    """Delete a strategy of flag f in development."""
    return caller.delete(path(f"/strategies/{strategy}"), **request)


def deleted(response: TestResponse) -> bool:
    """Whether the answer is that of a deletion: 200, no body, and the JSON type for clients that look at it first."""
    return (response.status_code, response.data, response.content_type) == (200, b"", "application/json")


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


def test_strategies_of_an_archived_flag_are_listed(world, alice):
    world.strategy(world.flag("f", enabled_in=("development",), archived_at="2026-05-01T00:00:00Z"), title="kept")
    assert [strategy["title"] for strategy in alice.get(path("/strategies")).json] == ["kept"]


# --- New strategies ---------------------------------------------------------------------------------------------------


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
    assert created == sent | {
        "id": created["id"],
        "featureName": "f",
        "constraints": [CONSTRAINT],
        "variants": VARIANTS,
        "parameters": {"rollout": "25", "groupId": "für alle", "stickiness": "sessionId"},
        "segments": sorted([own, for_all]),
    }
    assert value(conn, "SELECT array_agg(flag_id || environment) FROM strategies") == [f"{flag}development"]
    assert recorded(world, since) == ["feature-strategy-add"]
    (event,) = world.events(since)
    assert (event["data"], event["pre_data"], event["created_by_user_id"]) == (created, None, alice.id)
    assert seen(alice, created["id"]) == created
    assert alice.get(path("/strategies")).json == [created]
    assert alice.get(path("/strategies", environment="production")).json == []


def test_only_the_name_is_required(world, alice):
    tagged_flag(world)
    # Also of an unknown flag: an invalid body is refused first.
    for flag in ("f", "unknown"):
        assert refused(add(alice, {}, flag=flag)) == "name: is required"
    assert refused(alice.post(path("/strategies"))) == "A JSON body is required."
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


def test_a_gradual_rollout_gets_missing_parameters(world, alice, conn):
    tagged_flag(world)
    conn.execute("UPDATE projects SET default_stickiness = 'userId' WHERE id = 'default'")
    filled = {"rollout": "100", "groupId": "f", "stickiness": "userId"}
    for sent, kept in (
        ({}, filled),
        ({"rollout": "5"}, filled | {"rollout": "5"}),
        ({"stickiness": "", "groupId": "g"}, filled | {"groupId": "g", "stickiness": "default"}),
    ):
        assert add(alice, {"name": "flexibleRollout", "parameters": sent}).json["parameters"] == kept


def test_a_new_strategy_comes_behind_the_others(world, alice):
    tagged_flag(world)
    places = [
        add(alice, {"name": "default"} | more).json["sortOrder"]
        for more in ({}, {}, {"sortOrder": 9}, {}, {"sortOrder": 0}, {}, {"sortOrder": -(2**31)})
    ]
    assert places == [0, 1, 9, 10, 0, 11, -(2**31)]
    assert [strategy["sortOrder"] for strategy in alice.get(path("/strategies")).json] == [-(2**31), 0, 0, 1, 9, 10, 11]
    production = [{"sortOrder": 2**31 - 1}, {}]
    last = [add(alice, {"name": "default"} | more, environment="production").json["sortOrder"] for more in production]
    assert last == [2**31 - 1] * 2


def constrained(**constraint: Any) -> dict[str, Any]:
    """A strategy with one constraint."""
    return {"constraints": [CONSTRAINT | constraint]}


REFUSED: list[tuple[str, Any]] = [
    ("name", {"name": ""}),
    ("name", {"name": "no-such-type"}),
    ("body", []),
    ("more", {"more": 1}),
    ("title", {"title": 5}),
    ("disabled", {"disabled": "true"}),
    ("sortOrder", {"sortOrder": -(2**31) - 1}),
    ("sortOrder", {"sortOrder": 2**31}),
    ("constraints", {"constraints": {}}),
    ("constraints.0.contextName", constrained(contextName="noField")),
    ("constraints.0.operator", constrained(operator="LIKE")),
    ("constraints.0.value", constrained(operator="NUM_EQ", value="x")),
    ("constraints", {"constraints": [CONSTRAINT] * 31}),
    ("constraints.0.values", constrained(values=["1"] * 251)),
    ("variants", {"variants": [VARIANTS[0]] * 2}),
    ("variants", {"variants": [VARIANTS[0] | {"weightType": "fix"}]}),
    ("variants.0.weight", {"variants": [VARIANTS[0] | {"weight": 1001}]}),
    ("variants.0.payload.value", {"variants": [VARIANTS[0] | {"payload": {"type": "number", "value": "x"}}]}),
    ("variants.0.overrides", {"variants": [VARIANTS[0] | {"overrides": [{"contextName": "userId", "values": ["7"]}]}]}),
    ("parameters.rollout", {"parameters": {"rollout": []}}),
    ("parameters.rollout", {"parameters": {"rollout": 2**63}}),
    ("parameters.rollout", {"parameters": {"rollout": -(10**400)}}),
    ("segments", {"segments": [4711]}),
    ("segments", {"segments": [2**63 - 1]}),
    ("segments.0", {"segments": ["1"]}),
]


@pytest.mark.parametrize(("field", "sent"), REFUSED)
def test_an_invalid_strategy_is_refused(world, alice, conn, field, sent):
    strategy = full_strategy(world, conn, tagged_flag(world, enabled_in=("development",)))
    before = fingerprint(conn)
    whole = {"name": "default"} | sent if isinstance(sent, dict) else sent
    assert refused(add(alice, whole)).startswith(f"{field}: ")
    # PUT ignores the position.
    if field != "sortOrder":
        assert refused(put(alice, strategy, sent)).startswith(f"{field}: ")
    assert fingerprint(conn) == before


def test_segments_must_be_of_the_project_or_of_all_and_not_too_many(world, alice, conn):
    tagged_flag(world)
    world.project("hermes")
    foreign = segments.insert(conn, "foreign", [], project="hermes")
    six = [segments.insert(conn, f"segment {number}", []) for number in range(6)]
    before = fingerprint(conn)
    for wrong in ([foreign], six):
        refused(add(alice, {"name": "default", "segments": wrong}))
    assert fingerprint(conn) == before
    assert add(alice, {"name": "default", "segments": six[:5]}).status_code == 200


def test_a_flag_has_at_most_thirty_strategies_in_an_environment(world, alice, conn):
    flag = tagged_flag(world)
    for number in range(29):
        world.strategy(flag, sort_order=number)
    assert add(alice, {"name": "default"}).json["sortOrder"] == 29
    before = fingerprint(conn)
    assert "30" in refused(add(alice, {"name": "default"}))
    assert fingerprint(conn) == before
    assert add(alice, {"name": "default"}, environment="production").status_code == 200


def test_the_permissions_hold_in_one_environment(world, victor, conn):
    flag = tagged_flag(world)
    role = roles.insert(conn, "Strategist")
    for permission in ("CREATE_FEATURE_STRATEGY", "UPDATE_FEATURE_STRATEGY", "DELETE_FEATURE_STRATEGY"):
        refused(add(victor, {"name": "default"}), 403, "NoAccessError")
        fixtures.allow(conn, role, permission, environment="development")
    world.member("default", victor, role)
    strategy, there = add(victor, {"name": "default"}).json["id"], world.strategy(flag, "production")
    assert put(victor, strategy, {"title": "new"}).status_code == patch(victor, strategy).status_code == 200
    assert deleted(delete(victor, strategy))
    before = fingerprint(conn)
    refused(add(victor, {"name": "default"}, environment="production"), 403, "NoAccessError")
    refused(put(victor, there, {}, environment="production"), 403, "NoAccessError")
    refused(victor.post(path("/strategies/set-sort-order", environment="production"), json=[]), 403, "NoAccessError")
    refused(victor.delete(path(f"/strategies/{there}", environment="production")), 403, "NoAccessError")
    assert fingerprint(conn) == before


def test_strategies_are_listed_in_their_order_with_all_that_they_have(world, alice, conn):
    flag = world.flag("f")
    late = world.strategy(flag, sort_order=5, name="default")
    early = world.strategy(flag, sort_order=1, title="first")
    fixtures.insert_variant(conn, flag, "development", early, name="blue", weight=1000)
    listed = alice.get(path("/strategies")).json
    assert [strategy["id"] for strategy in listed] == [early, late]
    assert listed == [seen(alice, id) for id in (early, late)]
    assert [variant["name"] for variant in listed[0]["variants"]] == ["blue"]


# --- Changes ----------------------------------------------------------------------------------------------------------


def test_every_field_of_a_strategy_can_be_changed(world, alice, conn):
    flag = tagged_flag(world)
    strategy, other = full_strategy(world, conn, flag), world.strategy(flag, title="beside")
    fixtures.insert_variant(world.conn, flag, "development", other, name="beside", weight=1000)
    before, beside = seen(alice, strategy), seen(alice, other)
    sent = {
        "sortOrder": 3,
        "name": "remoteAddress",
        "title": "new",
        "disabled": True,
        "constraints": [],
        "variants": VARIANTS,
        "parameters": {"IPs": "127.0.0.1"},
        "segments": [segments.insert(conn, "another", [])],
    }
    since = world.last_event_id()
    answer = put(alice, strategy, sent | {"id": "ignored", "featureName": None})
    assert answer.status_code == 200
    assert answer.json == sent | {"id": strategy, "featureName": "f"}
    assert seen(alice, strategy) == answer.json
    assert seen(alice, other) == beside
    assert recorded(world, since) == ["feature-strategy-update"]
    (event,) = world.events(since)
    assert (event["data"], event["pre_data"], event["created_by_user_id"]) == (answer.json, before, alice.id)


def test_omitted_constraints_and_variants_are_removed_and_the_rest_stays(world, alice, conn):
    strategy = full_strategy(world, conn, tagged_flag(world, enabled_in=("development",)))
    before, since = seen(alice, strategy), world.last_event_id()
    assert put(alice, strategy, before).json == put(alice, strategy, before | {"id": 5}).json == before
    for steps in ([], [replace("title", "old")], [replace("sortOrder", 3)]):
        assert patch(alice, strategy, *steps).json == before
    assert world.events(since) == []
    for _ in range(2):
        assert put(alice, strategy, {}).json == before | {"constraints": [], "variants": []}
    assert recorded(world, since) == ["feature-strategy-update"]
    assert switched_on(conn) == ["f/development"]
    for title, kept in (({}, "old"), ({"title": ""}, ""), ({"title": "x"}, "x"), ({"title": None}, None)):
        assert put(alice, strategy, title).json["title"] == kept


def test_changed_parameters_get_the_required_ones(world, alice):
    strategy = world.strategy(tagged_flag(world), parameters={"rollout": "25"})
    filled = {"rollout": "100", "groupId": "f", "stickiness": "default"}
    for sent, kept in (
        ({"disabled": True}, {"rollout": "25"}),
        ({"parameters": {}}, filled),
        ({"parameters": {"rollout": "7", "stickiness": ""}}, filled | {"rollout": "7"}),
    ):
        assert put(alice, strategy, sent).json["parameters"] == kept


def test_a_constraint_without_values_and_empty_overrides_can_be_sent(world, alice):
    flag = tagged_flag(world)
    constraint = {"contextName": "userId", "operator": "NUM_EQ", "value": "1"}
    strategy = world.strategy(flag, constraints=[constraint])
    assert put(alice, strategy, {"constraints": [constraint]}).status_code == 200
    filled = constraint | {"values": [], "inverted": False, "caseInsensitive": False}
    assert seen(alice, strategy)["constraints"] == [filled]
    sent = {"name": "default", "variants": [VARIANTS[0] | {"overrides": []}]}
    added = add(alice, sent).json
    assert "overrides" not in added["variants"][0]
    since = world.last_event_id()
    assert put(alice, added["id"], sent).json == added
    assert world.events(since) == []


def test_constraints_above_the_limit_may_stay_but_not_grow(world, alice):
    strategy = world.strategy(tagged_flag(world), constraints=[CONSTRAINT] * 40)
    assert len(put(alice, strategy, {"constraints": [CONSTRAINT] * 35}).json["constraints"]) == 35
    refused(put(alice, strategy, {"constraints": [CONSTRAINT] * 36}))


@pytest.mark.parametrize(
    ("on", "is_disabled", "others_disabled", "goes_off"),
    [
        (True, False, [], True),
        (True, False, [True, True], True),
        (True, False, [True, False], False),
        (True, True, [False], False),
        (True, True, [True], False),
        (False, False, [True], False),
        (False, False, [False], False),
    ],
)
@pytest.mark.parametrize("how", ["put", "patch", "delete"])
def test_a_flag_without_its_last_enabled_strategy_is_switched_off_first(
    world, alice, conn, how, on, is_disabled, others_disabled, goes_off
):
    places = ("development", "production")
    flag, other = tagged_flag(world, enabled_in=places if on else ()), world.flag("g", enabled_in=places[:1])
    for place in ((flag, "production"), (other, "development")):
        world.strategy(*place)
    strategy = world.strategy(flag, name="default", disabled=is_disabled)
    others = {world.strategy(flag, disabled=disabled) for disabled in others_disabled}
    before, since = seen(alice, strategy), world.last_event_id()
    after = before | {"title": "off", "disabled": True}
    left, type = {strategy, *others}, "feature-strategy-update"
    if how == "delete":
        assert deleted(delete(alice, strategy))
        left, type, after = others, "feature-strategy-remove", None
    elif how == "put":
        assert put(alice, strategy, after).json == after
    else:
        assert patch(alice, strategy, replace("disabled", True), replace("title", "off")).json == after
    assert {entry["id"] for entry in alice.get(path("/strategies")).json} == left
    mine = [f"f/{place}" for place in places if on and not (goes_off and place == "development")]
    assert switched_on(conn) == [*mine, "g/development"]
    assert recorded(world, since) == ["feature-environment-disabled"] * goes_off + [type]
    *off, changed = world.events(since)
    assert all(event["data"] is event["pre_data"] is None for event in off)
    assert (changed["data"], changed["pre_data"]) == (after, before)


# --- Patches ----------------------------------------------------------------------------------------------------------


def replace(name: str, new: Any) -> dict[str, Any]:
    """A step that replaces a property."""
    return {"op": "replace", "path": f"/{name}", "value": new}


@pytest.fixture
def created(world: World, alice: Caller) -> dict[str, Any]:
    """A strategy of flag f with a bit of everything, as it was answered."""
    tagged_flag(world)
    body = {"name": "flexibleRollout", "title": "old", "constraints": [CONSTRAINT], "variants": VARIANTS}
    return add(alice, body | {"parameters": {"rollout": 25}, "sortOrder": 3}).json


def test_a_patched_strategy_keeps_the_rest_and_is_recorded(world, alice, created):
    since = world.last_event_id()
    steps = [replace("parameters/rollout", 50), {"op": "remove", "path": "/title"}, replace("constraints", [])]
    answer = patch(alice, created["id"], *steps)
    assert answer.status_code == 200
    parameters = created["parameters"] | {"rollout": "50"}
    assert answer.json == created | {"title": None, "constraints": [], "parameters": parameters}
    assert seen(alice, created["id"]) == answer.json
    assert recorded(world, since) == ["feature-strategy-update"]
    (entry,) = world.events(since)
    assert (entry["data"], entry["pre_data"]) == (answer.json, created)


def test_removed_properties_get_their_defaults(alice, created):
    defaults = {"title": None, "disabled": False, "constraints": [], "variants": [], "segments": []}
    removed = [{"op": "remove", "path": f"/{name}"} for name in (*defaults, "parameters")]
    parameters = {"rollout": "100", "groupId": "f", "stickiness": "default"}
    assert patch(alice, created["id"], *removed).json == created | defaults | {"parameters": parameters}


@pytest.mark.parametrize(
    ("step", "says"),
    [
        (replace("id", "another"), "id: cannot be changed by a patch"),
        (replace("featureName", "g"), "featureName: cannot be changed by a patch"),
        (replace("sortOrder", 0), "sortOrder: cannot be changed by a patch"),
        ({"op": "remove", "path": "/name"}, "name: is required"),
        (replace("name", "no-such-type"), "name: must be an existing strategy type"),
        (replace("constraints/0/contextName", "nowhere"), "constraints.0.contextName: must be an existing"),
        (replace("constraints/0/operator", "LIKE"), "constraints.0.operator"),
        (replace("segments", [999]), "segments"),
        (replace("parameters", None), "parameters: must not be null"),
        ({"op": "add", "path": "/createdAt", "value": "x"}, "createdAt: unknown property"),
        (replace("variants/9/weight", 1), "0.path: does not exist in the document"),
    ],
)
def test_an_invalid_patch_is_refused(alice, conn, created, step, says):
    state = fingerprint(conn)
    assert says in refused(patch(alice, created["id"], step))
    assert fingerprint(conn) == state


# --- Order ------------------------------------------------------------------------------------------------------------


def order(conn: Connection) -> dict[str, int]:
    """The places of all strategies."""
    return value(conn, "SELECT json_object_agg(title, sort_order) FROM strategies")


@pytest.fixture
def three(world: World) -> list[str]:
    """Three strategies of flag f: a, b and c."""
    flag = tagged_flag(world)
    return [world.strategy(flag, title=title, sort_order=place) for place, title in enumerate("abc")]


def test_strategies_are_put_in_order(world, alice, conn, three):
    a, b, c = three
    since = world.last_event_id()
    for places in ([], [{"id": id, "sortOrder": place} for place, id in enumerate(three)]):
        assert alice.post(ORDER, json=places).status_code == 200
    assert (order(conn), world.events(since)) == ({"a": 0, "b": 1, "c": 2}, [])
    answer = alice.post(ORDER, json=[{"id": a, "sortOrder": 2}, {"id": c, "sortOrder": -1}])
    assert (answer.status_code, answer.data) == (200, b"")
    assert order(conn) == {"a": 2, "b": 1, "c": -1}
    assert [strategy["id"] for strategy in alice.get(path("/strategies")).json] == [c, b, a]
    assert recorded(world, since) == ["strategy-order-changed"]
    (event,) = world.events(since)
    assert (event["data"], event["pre_data"]) == ({"strategyIds": [c, b, a]}, {"strategyIds": [a, b, c]})


def test_an_order_with_a_strategy_of_elsewhere_is_404(world, alice, conn, three):
    elsewhere = [world.strategy(value(conn, "SELECT id FROM flags"), "production", title="p")]
    elsewhere += [world.strategy(world.flag("g"), title="g"), "unknown"]
    before = fingerprint(conn)
    for strategy in elsewhere:
        places = [{"id": three[0], "sortOrder": 7}, {"id": strategy, "sortOrder": 8}]
        refused(alice.post(ORDER, json=places), 404, "NotFoundError")
    assert fingerprint(conn) == before


@pytest.mark.parametrize(
    "places",
    [
        [{}],
        [{"sortOrder": -(2**31) - 1}],
        [{"sortOrder": "1"}],
        [{"sortOrder": 2**31}],
        [{"sortOrder": 5, "more": 1}],
        [{"sortOrder": 5}, {"sortOrder": 6}],
    ],
)
def test_an_invalid_order_is_refused(alice, conn, three, places):
    refused(alice.post(ORDER, json=[{"id": three[0]} | place for place in places]))
    assert order(conn) == {"a": 0, "b": 1, "c": 2}


# --- Deletion ---------------------------------------------------------------------------------------------------------


def test_the_variants_and_links_of_a_strategy_are_deleted_too(world, alice, conn):
    flag = world.flag("f")
    gone, stays = world.strategy(flag), world.strategy(flag)
    segment = segments.insert(conn, "beta", [])
    for strategy in (gone, stays):
        fixtures.insert_variant(conn, flag, "development", strategy, name="a", weight=1000)
        fixtures.add_segment(conn, strategy, segment)
    fixtures.insert_variant(conn, flag, "development", None, name="of the flag", weight=1000)
    assert deleted(delete(alice, gone))
    assert rows(conn, "SELECT id FROM strategies") == [{"id": stays}]
    assert rows(conn, "SELECT strategy_id FROM variants ORDER BY id") == [{"strategy_id": stays}, {"strategy_id": None}]
    assert rows(conn, "SELECT strategy_id FROM strategy_segments") == [{"strategy_id": stays}]
    assert value(conn, "SELECT count(*) FROM segments") == 1


def test_the_event_of_a_deletion_has_the_whole_strategy(world, alice, conn):
    flag = world.flag("f")
    for text in ("éléphant", "zebra"):
        fixtures.tag(conn, flag, "simple", text)
    # As they were stored, whatever their order and their fields are today.
    constraints = [
        {"contextName": "userId", "operator": "IN", "values": ["3", "1"], "inverted": False, "caseInsensitive": False},
        {"operator": "DATE_AFTER", "contextName": "currentTime", "value": "2024-02-29T00:00:00Z"},
    ]
    parameters = {"stickiness": "default", "rollout": "25", "groupId": "für alle", "1": "zahl"}
    fields = {"title": "Ein Viertel 🐘", "parameters": parameters, "constraints": constraints}
    strategy = world.strategy(flag, sort_order=7, **fields)
    fixed = {"weight_type": "fix", "stickiness": "userId"}
    fixtures.insert_variant(conn, flag, "development", strategy, name="b", weight=400, **fixed)
    payload = {"payload_type": "json", "payload_value": '{"z": 1, "a": 2}'}
    fixtures.insert_variant(conn, flag, "development", strategy, name="a", weight=600, **payload)
    numbers = [segments.insert(conn, name, []) for name in ("one", "two", "three")]
    for number in (numbers[2], numbers[0]):
        fixtures.add_segment(conn, strategy, number)
    since = world.last_event_id()
    assert deleted(delete(alice, strategy))
    (event,) = world.events(since)
    a = {"name": "a", "weight": 600, "weightType": "variable", "stickiness": "default"}
    logged = event["pre_data"]
    assert logged == {
        "id": strategy,
        "name": "flexibleRollout",
        "title": "Ein Viertel 🐘",
        "disabled": False,
        "featureName": "f",
        "sortOrder": 7,
        "constraints": constraints,
        "variants": [
            a | {"payload": {"type": "json", "value": '{"z": 1, "a": 2}'}},
            {"name": "b", "weight": 400, "weightType": "fix", "stickiness": "userId"},
        ],
        "parameters": parameters,
        "segments": [numbers[0], numbers[2]],
    }
    assert [list(part) for part in (logged["parameters"], *logged["constraints"])] == [
        list(part) for part in (parameters, *constraints)
    ]
    assert event["tags"] == [{"type": "simple", "value": "zebra"}, {"type": "simple", "value": "éléphant"}]
    written = value(conn, "SELECT pre_data::text || tags::text FROM events WHERE id = %(id)s", {"id": event["id"]})
    assert [text for text in ("für alle", "🐘", "éléphant") if text not in written] == []


def test_all_strategies_are_deleted_one_after_the_other(world, alice, conn):
    flag, key = world.flag("f", enabled_in=("development",)), world.api_key(name="the pipeline's token")
    ids = [world.strategy(flag) for _ in range(3)]
    since = world.last_event_id()
    assert all(deleted(delete(key, strategy)) for strategy in ids)
    removed = ("feature-strategy-remove", "the pipeline's token", None)
    off = ("feature-environment-disabled", "the pipeline's token", None)
    events = [(event["type"], event["created_by"], event["created_by_user_id"]) for event in world.events(since)]
    assert events == [removed, removed, off, removed]
    assert switched_on(conn) == []
    refused(delete(alice, ids[0]), 404, "NotFoundError")


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/json", "application/json; charset=utf-16", "nonsense", None]
)
def test_a_deletion_takes_any_body(world, alice, content_type):
    flag = world.flag("f")
    for body in (b"", b"{not json", b"\xff\xfe", b'{"id": 1}', b"[" * 10_000):
        assert deleted(delete(alice, world.strategy(flag), data=body, content_type=content_type))
    assert alice.get(path("/strategies")).json == []


def test_the_id_of_a_strategy_is_exact(world, alice, conn):
    strategy = world.strategy(world.flag("f"), strategy_id="abcdefab-cdef-4abc-8def-abcdefabcdef")
    similar = [strategy.upper(), strategy.replace("-", ""), strategy[:-1], f"{strategy}%20", f"{{{strategy}}}"]
    before = fingerprint(conn)
    for wrong in (*similar, f"{strategy}/", "1", "%00", "%27%20OR%20true%20--", "x" * 5000, "%ED%A0%80"):
        refused(delete(alice, wrong), 404, "NotFoundError")
    assert fingerprint(conn) == before
