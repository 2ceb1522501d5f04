"""Which parameters of strategies are valid, and which stickiness of strategies, variants and projects."""

from typing import Any

import pytest
from werkzeug.test import TestResponse

from sql.catalog import context_fields
from sql.database import Connection
from tests.support import fixtures
from tests.support.documents import bring_in, document, state, strategy, validated
from tests.support.fingerprint import fingerprint
from tests.support.flags import FLAGS
from tests.support.world import Caller, World, refused

STRATEGIES = f"{FLAGS}/f/environments/development/strategies"
VARIANTS = f"{FLAGS}/f/environments/development/variants"
PROJECTS = "/api/admin/projects"
DEFAULT = f"{PROJECTS}/default/environments/development/default-strategy"
STICKINESS = "must be default, random, userId, sessionId or a context field with stickiness, not"
GOOD = ["default", "random", "userId", "sessionId", "tenant"]
BAD = ["country", "nowhere", "Default", " "]
PERCENTAGE = "must be a whole number from 0 to 100"
EMPTY_ITEM, LONG_ITEM = "must have no empty items between commas", "must have items of at most 500 characters"
LINE_BREAK = "must have commas between the items, not line breaks as in"
ENDS = "must not begin or end with spaces or line breaks, as in"
ADDRESSES = "must be IP addresses or networks such as 10.0.0.0/8, with commas between them"
GOOD_IPS = (
    "", "10.0.0.1", "10.0.0.1,10.0.0.0/8", "10.0.0.1 , ::1", "10.0.0.1,\n10.0.0.2", "10.1.2.3/8", "0.0.0.0/0",
    "2001:DB8::/32", "::ffff:10.1.2.3", "::ffff:10.1.0.0/112", "fe80::1",
)  # fmt: skip
BAD_IPS = (
    "10.0.0.1;10.0.0.2", "189.434.777.123", "10.0.0.1\n10.0.0.2", "10.0.0.1\r\n10.0.0.2", "10.0.0.1 10.0.0.2",
    "10.0.0.1-10.0.0.9", "10.0.0.*", "10.0.0.1:80", "[::1]", "[::1]:80", "::1:80:zz", "10.0.0", "10.0.0.0/33",
    "10.0.0.0/", "10.0.0.0/08", "10.0.0.0/255.0.0.0", "10.0.0.0/0.0.0.255", "010.0.0.1", "fe80::1%eth0", "localhost",
    "10.0.0.0 /8", "١٠.0.0.1", "167772161", "*",
)  # fmt: skip
# A parameter of each type, and one that is required.
PARAMETERS = [
    {"name": "share", "type": "percentage"},
    {"name": "hosts", "type": "list"},
    {"name": "factor", "type": "number"},
    {"name": "strict", "type": "boolean"},
    {"name": "label", "type": "string"},
    {"name": "region", "type": "string", "required": True},
]


@pytest.fixture(autouse=True)
def flag(world: World, conn: Connection) -> int:
    """The flag f, a context field with stickiness, and one without it."""
    context_fields.insert(conn, "tenant", stickiness=True)
    context_fields.insert(conn, "country")
    return world.flag("f")


@pytest.fixture
def custom(alice: Caller) -> str:
    """A custom strategy type with a parameter of each type."""
    assert alice.post("/api/admin/strategies", json={"name": "byHost", "parameters": PARAMETERS}).status_code == 201
    return "byHost"


def add(caller: Caller, parameters: dict[str, Any], name: str = "flexibleRollout") -> TestResponse:
    """Add a strategy with these parameters."""
    return caller.post(STRATEGIES, json={"name": name, "parameters": parameters})


def test_a_rollout_is_a_whole_number_from_0_to_100(alice: Caller) -> None:
    for rollout in (0, "0", "7", "100", 50.0):
        assert add(alice, {"rollout": rollout}).json["parameters"]["rollout"] == str(int(rollout))
    for rollout in (101, -1, 12.5, "12.5", "", "ten", "100%", " 7", "007", "+7", "1e1", "٧", True):
        assert refused(add(alice, {"rollout": rollout})) == f"parameters.rollout: {PERCENTAGE}"
    # null is omitted.
    nulls = dict.fromkeys(("rollout", "stickiness", "groupId"))
    assert add(alice, nulls).json["parameters"] == {"rollout": "100", "stickiness": "default", "groupId": "f"}


@pytest.mark.parametrize(
    ("name", "parameter", "problem"),
    [
        ("flexibleRollout", "rolout", "the nearest one is rollout"),
        ("flexibleRollout", "groupid", "the nearest one is groupId"),
        ("flexibleRollout", "sticky", "the nearest one is stickiness"),
        ("userWithId", "userIDs", "the nearest one is userIds"),
        ("remoteAddress", "ips", "the nearest one is IPs"),
        ("applicationHostname", "hosts", "the nearest one is hostNames"),
        ("default", "rollout", "this strategy type has none"),
    ],
)
def test_an_unknown_parameter_of_a_built_in_type_is_refused(
    alice: Caller, name: str, parameter: str, problem: str
) -> None:
    message = refused(add(alice, {parameter: "20"}, name))
    assert message == f"parameters.{parameter}: unknown parameter; {problem}"


def test_addresses_and_networks_are_separated_by_commas(alice: Caller) -> None:
    for ips in GOOD_IPS:
        assert add(alice, {"IPs": ips}, "remoteAddress").json["parameters"] == {"IPs": ips}
    assert refused(add(alice, {"IPs": "::1\n"}, "remoteAddress")) == f"parameters.IPs: {ENDS} '::1\\n'"
    for item in BAD_IPS:
        for ips in (item, f"10.0.0.1, {item}"):
            message = refused(add(alice, {"IPs": ips}, "remoteAddress"))
            assert message == f"parameters.IPs: {ADDRESSES}, not {item!r}"


@pytest.mark.parametrize(("name", "parameter"), [("userWithId", "userIds"), ("applicationHostname", "hostNames")])
@pytest.mark.parametrize(
    ("items", "problem"),
    [("", None), ("a , b", None), ("x" * 500, None), (f"{'x' * 500} ,y", None)]
    + [(items, EMPTY_ITEM) for items in ("a,", ",a", "a,,b", "a, ,b", ",")]
    + [("x" * 501, LONG_ITEM), (f"a,{'x' * 501}", LONG_ITEM), ("a,\nb", None), ("a b", None), ("a;b", None)]
    + [(f"x,{items}", f"{LINE_BREAK} {items!r}") for items in ("a\nb", "a\r\nb", "a\rb\nc")]
    + [(items, f"{ENDS} {items!r}") for items in (" a", "a ", "a\n", "a,b\r\n")],
)
def test_lists_have_items_of_1_to_500_characters(
    alice: Caller, name: str, parameter: str, items: str, problem: str | None
) -> None:
    response = add(alice, {parameter: items}, name)
    if problem is None:
        assert response.json["parameters"] == {parameter: items}
    else:
        assert refused(response) == f"parameters.{parameter}: {problem}"


def test_the_names_of_built_in_parameters_mean_nothing_in_custom_types(alice: Caller) -> None:
    parameters = [{"name": name, "type": "list"} for name in ("IPs", "userIds")]
    assert alice.post("/api/admin/strategies", json={"name": "own", "parameters": parameters}).status_code == 201
    assert add(alice, {"IPs": "anywhere", "userIds": "a\nb"}, "own").status_code == 200


@pytest.mark.parametrize(
    ("parameter", "good", "bad", "problem"),
    [
        ("share", ["0", 100, ""], ["101", "x"], PERCENTAGE),
        ("hosts", ["a,b", ""], ["a,,b"], EMPTY_ITEM),
        ("factor", [5, "-2.5", "1e3", ""], ["x", "1.", "NaN", "1_000", "0x1"], "must be a number"),
        ("strict", [True, "false", ""], ["yes", "True", "1"], "must be true or false"),
        ("label", ["anything", "", 5], [], ""),
        ("undeclared", ["anything", ""], [], ""),
    ],
)
def test_parameters_of_a_custom_type_are_checked_as_declared(
    alice: Caller, custom: str, parameter: str, good: list[Any], bad: list[Any], problem: str
) -> None:
    for item in good:
        assert add(alice, {"region": "eu", parameter: item}, custom).status_code == 200, item
    for item in bad:
        assert refused(add(alice, {"region": "eu", parameter: item}, custom)) == f"parameters.{parameter}: {problem}"
    for missing in ({}, {"region": ""}, {"region": "  "}):
        assert refused(add(alice, missing, custom)) == "parameters.region: is required"


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("flexibleRollout", {"rolout": "20", "rollout": "many", "stickiness": "country", "groupId": "f"}),
        ("default", {"rollout": "20"}),
        ("userWithId", {"userIds": "a,,b"}),
        ("byHost", {"share": "all"}),
        ("byHost", {"region": ""}),
    ],
)
@pytest.mark.usefixtures("custom")
def test_a_stored_value_can_be_kept(
    world: World, alice: Caller, flag: int, name: str, parameters: dict[str, str]
) -> None:
    path = f"{STRATEGIES}/{world.strategy(flag, name=name, parameters=parameters)}"
    since = world.last_event_id()
    assert alice.put(path, json=alice.get(path).json).json["parameters"] == parameters
    assert world.events(since) == []
    assert alice.put(path, json={"title": "new"}).json["parameters"] == parameters


def test_another_type_begins_with_its_own_parameters(world: World, alice: Caller, flag: int) -> None:
    path = f"{STRATEGIES}/{world.strategy(flag, name='userWithId', parameters={'userIds': 'a,,b'})}"
    change = {"name": "remoteAddress", "parameters": {"userIds": "a,,b"}}
    assert refused(alice.put(path, json=change)) == "parameters.userIds: unknown parameter; the nearest one is IPs"
    rollout = {"rollout": "100", "groupId": "f", "stickiness": "default"}
    assert alice.put(path, json={"name": "flexibleRollout"}).json["parameters"] == rollout
    assert alice.put(path, json={"name": "default"}).json["parameters"] == {}


# --- Stickiness -------------------------------------------------------------------------------------------------------


def variant(stickiness: str, name: str = "blue") -> dict[str, Any]:
    """A variant with this stickiness."""
    return {"name": name, "weight": 1000, "weightType": "variable", "stickiness": stickiness}


def rollout(stickiness: str) -> dict[str, Any]:
    """A strategy with this stickiness."""
    return {"name": "flexibleRollout", "parameters": {"stickiness": stickiness}}


# Method, path and body by the stickiness, and where the response and its message have it.
WAYS: dict[str, tuple[str, str, Any, str]] = {
    "put": ("PUT", VARIANTS, lambda word: [variant("default"), variant(word, "red")], "variants.1"),
    "patch": ("PATCH", VARIANTS, lambda word: [{"op": "replace", "path": "", "value": [variant(word)]}], "variants.0"),
    "batch": (
        "PUT",
        f"{FLAGS}/f/variants-batch",
        lambda word: {"variants": [variant(word)], "environments": ["development", "production"]},
        "variants.0",
    ),
    "variant": ("POST", STRATEGIES, lambda word: rollout("default") | {"variants": [variant(word)]}, "variants.0"),
    "strategy": ("POST", STRATEGIES, rollout, "parameters"),
    "default strategy": ("POST", DEFAULT, rollout, "parameters"),
}


@pytest.mark.parametrize(("method", "path", "body", "place"), WAYS.values(), ids=WAYS)
def test_stickiness_is_a_known_value_or_a_context_field_with_stickiness(
    alice: Caller, conn: Connection, method: str, path: str, body: Any, place: str
) -> None:
    for stickiness in GOOD:
        found = alice.request(method, path, json=body(stickiness)).json
        for name in place.split("."):
            found = found[int(name) if name.isdigit() else name]
        assert found["stickiness"] == stickiness
    before = fingerprint(conn)
    for stickiness in BAD:
        message = refused(alice.request(method, path, json=body(stickiness)))
        assert message == f"{place}.stickiness: {STICKINESS} {stickiness}"
    assert fingerprint(conn) == before


def test_a_project_has_a_known_default_stickiness(alice: Caller, conn: Connection) -> None:
    requests = [
        ("POST", PROJECTS, {"name": "Mobile"}),
        ("PUT", f"{PROJECTS}/default", {"name": "Default"}),
        ("PUT", f"{PROJECTS}/default/settings", {}),
    ]
    for stickiness in GOOD:
        for method, path, body in requests:
            asked = {"defaultStickiness": stickiness} | body
            assert alice.request(method, path, json=asked).status_code in (200, 201)
        assert alice.get(f"{PROJECTS}/default/overview").json["defaultStickiness"] == stickiness
    before = fingerprint(conn)
    for stickiness in BAD:
        for method, path, body in requests:
            message = refused(alice.request(method, path, json={"defaultStickiness": stickiness} | body))
            assert message == f"defaultStickiness: {STICKINESS} {stickiness}"
    assert fingerprint(conn) == before
    conn.execute("UPDATE projects SET default_stickiness = 'gone' WHERE id = 'default'")
    kept = {"name": "New name", "defaultStickiness": "gone"}
    assert alice.put(f"{PROJECTS}/default", json=kept).status_code == 200


def test_an_old_default_of_the_project_is_no_obstacle(world: World, alice: Caller, conn: Connection, flag: int) -> None:
    conn.execute("UPDATE projects SET default_stickiness = 'gone' WHERE id = 'default'")
    strategy_id = world.strategy(flag, parameters={"rollout": "5", "stickiness": "default", "groupId": "f"})
    sent = {"name": "flexibleRollout", "parameters": {"rollout": "50"}}
    filled = {"rollout": "50", "groupId": "f", "stickiness": "gone"}
    for response in (alice.put(f"{STRATEGIES}/{strategy_id}", json=sent), alice.post(STRATEGIES, json=sent)):
        assert response.json["parameters"] == filled
    bring_in(alice, document("f", featureStrategies=[strategy(parameters={"rollout": "50"})]))
    assert alice.get(STRATEGIES).json[0]["parameters"] == filled


def test_stored_stickiness_can_be_kept(world: World, alice: Caller, conn: Connection, flag: int) -> None:
    strategy_id = world.strategy(flag, parameters={"rollout": "5", "stickiness": "default", "groupId": "f"})
    for owner in (None, strategy_id):
        fixtures.insert_variant(conn, flag, "development", owner, name="blue", weight=1000, stickiness="gone")
    since = world.last_event_id()
    assert alice.put(VARIANTS, json=alice.get(VARIANTS).json["variants"]).status_code == 200
    path = f"{STRATEGIES}/{strategy_id}"
    assert alice.put(path, json=alice.get(path).json).json["variants"][0]["stickiness"] == "gone"
    assert world.events(since) == []
    refused(alice.put(VARIANTS, json=[variant("lost")]))


def test_an_import_reports_invalid_parameters_and_stickiness_of_each_flag(alice: Caller, conn: Connection) -> None:
    conn.execute("UPDATE projects SET default_stickiness = 'gone' WHERE id = 'default'")
    strategies = [
        strategy("a", variants=[variant("country")]),
        strategy("c", parameters={"rollout": "50"}),
        strategy("d", parameters={"stickiness": "gone"}),
        strategy("e", parameters={"rollout": "many"}),
    ]
    states = [state("b", variants=[variant("nowhere")]), state("c", variants=[variant("tenant")])]
    data = document(*"abcde", featureStrategies=strategies, featureEnvironments=states)
    assert validated(alice, data)["errors"] == {
        f"variants.0.stickiness: {STICKINESS} country": ["a"],
        f"variants.0.stickiness: {STICKINESS} nowhere": ["b"],
        f"parameters.stickiness: {STICKINESS} gone": ["d"],
        "parameters.rollout: must be a whole number from 0 to 100": ["e"],
    }
