"""What a change does not touch is not checked: records that break today's rules can be sent back and turned down."""

from typing import Any

import pytest
from werkzeug.test import TestResponse

from sql.catalog import context_fields, segments
from sql.database import Connection, as_json, value
from tests.support import fixtures
from tests.support.documents import bring_in, validated
from tests.support.export import export
from tests.support.fingerprint import fingerprint
from tests.support.flag_environments import path
from tests.support.world import Caller, World, refused

ADMIN = "/api/admin"
SILVER = {"contextName": "tier", "operator": "IN", "values": ["silver"], "inverted": False, "caseInsensitive": False}
PLAIN = {"values": [], "inverted": False, "caseInsensitive": False}
# Each breaks a rule of today: a value that is no longer legal, a deleted field, no values, a version that is too large.
OLD = [
    SILVER,
    PLAIN | {"contextName": "gone", "operator": "IN", "values": ["x"]},
    PLAIN | {"contextName": "userId", "operator": "NOT_IN"},
    PLAIN | {"contextName": "appName", "operator": "SEMVER_EQ", "value": "99999999999999999999.1.1"},
]
PARAMETERS = {"rollout": "50%", "stickiness": "gone", "groupId": "f", "unknown": "x"}
VARIANT = {"name": "a", "weight": 1000, "weightType": "variable", "stickiness": "gone"}
NEW = {"contextName": "userId", "operator": "IN", "values": ["7"]}


@pytest.fixture
def old(world: World, conn: Connection) -> str:
    """A strategy of flag f that breaks the rules in all its parts, and is on."""
    context_fields.insert(conn, "tier", legal_values=[{"value": "gold"}])
    world.project("elsewhere")
    fields = {"title": "t" * 300, "parameters": PARAMETERS, "constraints": OLD}
    flag = world.flag("f", enabled_in=("development",), description="d" * 6000)
    strategy = world.strategy(flag, **fields)
    variant = {"name": "a", "weight": 1000, "stickiness": "gone"}
    fixtures.insert_variant(conn, flag, "development", None, **variant)
    fixtures.insert_variant(conn, flag, "development", strategy, **variant)
    fixtures.add_segment(conn, strategy, segments.insert(conn, "of another", [], project="elsewhere"))
    return strategy


def seen(caller: Caller, strategy: str) -> dict[str, Any]:
    """The strategy as it is read."""
    return caller.get(path(f"/strategies/{strategy}")).get_json()


def patch(caller: Caller, strategy: str, **change: Any) -> TestResponse:
    """Replace a value of the strategy."""
    return caller.request("PATCH", path(f"/strategies/{strategy}"), json=[{"op": "replace"} | change])


def ok(response: TestResponse) -> None:
    """Assert that this is not refused."""
    assert response.status_code in (200, 201, 204), response.text


def test_sending_a_strategy_back_changes_nothing(world: World, alice: Caller, conn: Connection, old: str) -> None:
    before, since = fingerprint(conn), world.last_event_id()
    ok(alice.put(path(f"/strategies/{old}"), json=seen(alice, old)))
    ok(alice.request("PATCH", path(f"/strategies/{old}"), json=[]))
    assert (fingerprint(conn), world.events(since)) == (before, [])


@pytest.mark.parametrize(
    ("pointer", "wanted"),
    [("/parameters/rollout", "0"), ("/disabled", True), ("/title", None), ("/constraints", []), ("/segments", [])],
)
@pytest.mark.parametrize("by_patch", [True, False])
def test_one_part_of_a_strategy_can_be_changed(
    alice: Caller, old: str, by_patch: bool, pointer: str, wanted: Any
) -> None:
    before = seen(alice, old)
    name, _, inner = pointer[1:].partition("/")
    after = before | {name: before[name] | {inner: wanted} if inner else wanted}
    if by_patch:
        ok(patch(alice, old, path=pointer, value=wanted))
    else:
        ok(alice.put(path(f"/strategies/{old}"), json=after))
    assert seen(alice, old) == after


def test_an_added_constraint_is_checked_beside_those_that_stay(alice: Caller, old: str) -> None:
    ok(patch(alice, old, op="add", path="/constraints/0", value=NEW))
    illegal = SILVER | {"values": ["bronze"]}
    for number, added, message in (
        (0, illegal, "constraints.0: must have only legal values of the context field tier"),
        (5, SILVER | {"operator": "NOT_IN"}, "constraints.5: must have only legal values of the context field tier"),
        (0, OLD[1] | {"operator": "NOT_IN"}, "constraints.0.contextName: must be an existing context field, not gone"),
        (0, OLD[2] | {"operator": "IN"}, "constraints.0.values: must have at least one value"),
    ):
        assert refused(patch(alice, old, op="add", path=f"/constraints/{number}", value=added)) == message
        sent = seen(alice, old)
        sent["constraints"].insert(number, added)
        assert refused(alice.put(path(f"/strategies/{old}"), json=sent)) == message


def test_a_date_in_an_old_form_can_be_sent_back(world: World, alice: Caller, conn: Connection, old: str) -> None:
    conn.execute('UPDATE context_fields SET legal_values = \'[{"value": "2030-01-01T00:00:00Z"}]\'')
    date = PLAIN | {"contextName": "tier", "operator": "DATE_AFTER", "value": "2020-01-01T02:00:00.1+02:00"}
    conn.execute("UPDATE strategies SET constraints = %s WHERE id = %s", [as_json([date]), old])
    since = world.last_event_id()
    assert seen(alice, old)["constraints"] == [date]
    for _ in range(2):
        ok(alice.put(path(f"/strategies/{old}"), json=seen(alice, old)))
    [event] = world.events(since)
    values = [event[key]["constraints"][0]["value"] for key in ("pre_data", "data")]
    assert values == [date["value"], "2020-01-01T00:00:00.100Z"]


def test_a_changed_constraint_keeps_its_old_values(alice: Caller, conn: Connection, old: str) -> None:
    both = SILVER | {"values": ["silver", "bronze"]}
    conn.execute("UPDATE strategies SET constraints = %s WHERE id = %s", [as_json([both, OLD[1]]), old])
    ok(patch(alice, old, path="/constraints/0/values", value=["silver", "gold"]))
    ok(patch(alice, old, path="/constraints/1/inverted", value=True))
    assert refused(patch(alice, old, path="/constraints/0/values", value=["silver", "platinum"]))


def test_parameters_variants_and_segments_are_compared_one_by_one(alice: Caller, conn: Connection, old: str) -> None:
    ok(patch(alice, old, op="add", path="/variants/-", value=VARIANT | {"name": "b", "stickiness": "random"}))
    ok(patch(alice, old, op="add", path="/segments/-", value=segments.insert(conn, "of all", [])))
    other = segments.insert(conn, "of another too", [], project="elsewhere")
    for change, message in (
        ({"path": "/parameters/rollout", "value": "101"}, "parameters.rollout: must be a whole number from 0 to 100"),
        ({"path": "/segments/-", "value": other}, "segments: must be ids of existing segments"),
        ({"path": "/variants/-", "value": VARIANT | {"name": "c", "stickiness": "no"}}, "variants.2.stickiness: must"),
        ({"path": "/title", "value": "u" * 300}, "title: must be at most 255 characters long"),
    ):
        assert message in refused(patch(alice, old, op="add", **change))


def test_it_can_always_be_turned_down(world: World, alice: Caller, conn: Connection, old: str) -> None:
    flag = f"{ADMIN}/projects/default/features/f"
    beside = world.strategy(value(conn, "SELECT id FROM flags WHERE name = 'f'"))
    conn.execute("UPDATE projects SET feature_limit = 0, naming_pattern = '[a-z]{3,}' WHERE id = 'default'")
    ok(alice.post(path("/strategies/set-sort-order"), json=[{"id": old, "sortOrder": 9}]))
    # Only a flag whose name fits the naming pattern can be new, and the limit holds.
    conn.execute("UPDATE projects SET feature_limit = 9 WHERE id = 'default'")
    ok(alice.post(f"{flag}/clone", json={"name": "copy"}))
    ok(alice.post(f"{ADMIN}/environments/development/clone", json={"name": "staging", "type": "test"}))
    copies = value(conn, "SELECT count(*) FROM strategies WHERE constraints::text = %(old)s", {"old": as_json(OLD)})
    assert copies == 4
    ok(alice.put(flag, json=alice.get(flag).get_json() | {"stale": True}))
    ok(alice.request("PATCH", flag, json=[{"op": "replace", "path": "/stale", "value": False}]))
    ok(alice.post(path("/off")))
    ok(alice.post(path("/on")))
    ok(alice.delete(path(f"/strategies/{beside}")))
    ok(alice.delete(path(f"/strategies/{old}")))
    assert alice.delete(flag).status_code == 202


@pytest.mark.usefixtures("old")
def test_variants_of_a_flag_are_compared_one_by_one(alice: Caller) -> None:
    variants = alice.get(path("/variants")).get_json()["variants"]
    ok(alice.put(path("/variants"), json=variants))
    ok(alice.request("PATCH", path("/variants"), json=[]))
    added = VARIANT | {"name": "b", "stickiness": "default"}
    ok(alice.request("PATCH", path("/variants"), json=[{"op": "add", "path": "/-", "value": added}]))
    assert refused(alice.put(path("/variants"), json=[*variants, added | {"stickiness": "other"}]))
    ok(alice.put(path("/variants"), json=[]))


@pytest.mark.usefixtures("old")
def test_a_segment_is_compared_part_by_part(world: World, alice: Caller, conn: Connection) -> None:
    number = segments.insert(conn, "old", OLD, description="d" * 6000)
    place = f"{ADMIN}/segments/{number}"
    before, since = alice.get(place).get_json(), world.last_event_id()
    ok(alice.put(place, json=before))
    assert world.events(since) == []
    for change in ({"name": "newer"}, {"constraints": [*OLD, NEW]}, {"constraints": OLD}, {"description": "new"}):
        ok(alice.put(place, json=before | change))
    before["description"] = "newer"
    assert "legal values" in refused(alice.put(place, json=before | {"constraints": [SILVER | {"values": ["x"]}]}))


@pytest.mark.usefixtures("old")
def test_a_default_strategy_is_compared_part_by_part(alice: Caller, conn: Connection) -> None:
    before = {"name": "flexibleRollout", "title": None, "disabled": False, "sortOrder": 1, "parameters": PARAMETERS}
    before |= {"constraints": OLD, "variants": [VARIANT], "segments": [999]}
    conn.execute("UPDATE project_environments SET default_strategy = %s", [as_json(before)])
    place = f"{ADMIN}/projects/default/environments/development/default-strategy"
    ok(alice.post(place, json=before))
    ok(alice.post(place, json=before | {"parameters": PARAMETERS | {"rollout": "0"}}))
    assert "segments" in refused(alice.post(place, json=before | {"segments": [999, 998]}))
    ok(alice.post(place, json={"name": "flexibleRollout"}))


@pytest.mark.usefixtures("old")
@pytest.mark.parametrize(
    ("record", "statement"),
    [
        ("context/tier", "UPDATE context_fields SET description = repeat('d', 6000)"),
        ("tag-types/simple", "UPDATE tag_types SET description = repeat('d', 6000)"),
        ("groups/{group}", "UPDATE groups SET description = repeat('d', 6000)"),
        ("roles/{role}", "UPDATE roles SET description = repeat('d', 6000)"),
        ("projects/default", "UPDATE projects SET description = repeat('d', 6000)"),
        ("strategies/custom", "UPDATE strategy_types SET description = repeat('d', 6000)"),
        ("metrics/applications/shop", "UPDATE applications SET description = repeat('d', 6000)"),
    ],
)
def test_a_description_that_is_too_long_can_stay(alice: Caller, conn: Connection, record: str, statement: str) -> None:
    group = alice.post(f"{ADMIN}/groups", json={"name": "g"}).get_json()["id"]
    role = alice.post(f"{ADMIN}/roles", json={"name": "r", "permissions": []}).get_json()["roles"]["id"]
    ok(alice.post(f"{ADMIN}/strategies", json={"name": "custom", "parameters": []}))
    fixtures.insert(conn, "applications", name="shop")
    conn.execute(statement)
    place = f"{ADMIN}/{record.format(group=group, role=role)}"
    change = {"description": "d" * 6000, "name": "Default", "parameters": []}
    known = {"context": (), "tag-types": (), "metrics": (), "strategies": ("parameters",)}
    names = ("description", *known.get(record.split("/")[0], ("name",)))
    call = alice.post if record.startswith("metrics") else alice.put
    assert call(place, json={name: change[name] for name in names}).status_code in (200, 202)
    assert "description" in refused(
        call(place, json={name: change[name] for name in names} | {"description": "e" * 6000})
    )


@pytest.mark.usefixtures("old")
def test_the_own_export_can_be_imported(world: World, alice: Caller, conn: Connection) -> None:
    # An import needs segments that the project can use.
    conn.execute("DELETE FROM strategy_segments")
    # Texts that are longer than today's maximum, which version 0.1.0 could store, are refused.
    conn.execute("UPDATE flags SET description = NULL")
    conn.execute("UPDATE strategies SET title = NULL")
    document = export(alice, features=["f"])
    before, since = fingerprint(conn), world.last_event_id()
    assert validated(alice, document)["errors"] == {}
    bring_in(alice, document)
    assert [event["type"] for event in world.events(since)] == ["features-imported"]
    document["featureStrategies"][0]["parameters"]["rollout"] = "0"
    bring_in(alice, document)
    [strategy] = alice.get(path("/strategies")).get_json()
    assert (strategy["parameters"]["rollout"], strategy["constraints"]) == ("0", OLD)
    assert before
    document["featureStrategies"][0]["constraints"].append(SILVER | {"values": ["bronze"]})
    message = "constraints.4: must have only legal values of the context field tier"
    assert validated(alice, document)["errors"] == {message: ["f"]}
