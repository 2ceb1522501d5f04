"""The parameters of strategies: which names and values are valid."""

from typing import Any

import pytest
from werkzeug.test import TestResponse

from sql.database import Connection, value
from sql.vocabulary import context_fields
from tests.support.documents import IMPORT, VALIDATE, body, document, strategy
from tests.support.world import Caller, World, refused

STRATEGIES = "/api/admin/projects/default/features/f/environments/development/strategies"
PERCENTAGE = "must be a whole number from 0 to 100"
STICKINESS = "must be default, random, userId, sessionId or a context field with stickiness, not"
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


@pytest.mark.parametrize("rollout", [0, 100, "0", "7", "50", "100", 50.0])
def test_a_rollout_is_a_whole_number_from_0_to_100(alice: Caller, rollout: Any) -> None:
    assert add(alice, {"rollout": rollout}).json["parameters"]["rollout"] == str(int(rollout))


def test_a_parameter_that_is_null_is_omitted(alice: Caller) -> None:
    nulls = dict.fromkeys(("rollout", "stickiness", "groupId"))
    assert add(alice, nulls).json["parameters"] == {"rollout": "100", "stickiness": "default", "groupId": "f"}


@pytest.mark.parametrize("rollout", [101, -1, 12.5, "12.5", "", "ten", "100%", " 7", "007", "+7", "1e1", "٧", True])
def test_any_other_rollout_is_refused(alice: Caller, rollout: Any) -> None:
    assert refused(add(alice, {"rollout": rollout})) == f"parameters.rollout: {PERCENTAGE}"


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


@pytest.mark.parametrize("stickiness", ["default", "random", "userId", "sessionId", "tenant"])
def test_stickiness_is_a_known_value_or_a_context_field(alice: Caller, stickiness: str) -> None:
    assert add(alice, {"stickiness": stickiness}).json["parameters"]["stickiness"] == stickiness


def test_an_empty_stickiness_is_default(alice: Caller) -> None:
    assert add(alice, {"stickiness": ""}).json["parameters"]["stickiness"] == "default"


@pytest.mark.parametrize("stickiness", ["country", "nowhere", "USERID", "DEFAULT", " "])
def test_any_other_stickiness_is_refused(alice: Caller, stickiness: str) -> None:
    assert refused(add(alice, {"stickiness": stickiness})) == f"parameters.stickiness: {STICKINESS} {stickiness}"


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


@pytest.mark.parametrize("ips", GOOD_IPS)
def test_addresses_and_networks_are_accepted(alice: Caller, ips: str) -> None:
    assert add(alice, {"IPs": ips}, "remoteAddress").json["parameters"] == {"IPs": ips}


@pytest.mark.parametrize("item", BAD_IPS)
def test_other_items_of_addresses_are_refused_by_name(alice: Caller, item: str) -> None:
    assert refused(add(alice, {"IPs": "::1\n"}, "remoteAddress")) == f"parameters.IPs: {ENDS} '::1\\n'"
    for ips in (item, f"10.0.0.1, {item}"):
        message = refused(add(alice, {"IPs": ips}, "remoteAddress"))
        assert message == f"parameters.IPs: {ADDRESSES}, not {item!r}"


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


@pytest.mark.parametrize("parameters", [{}, {"region": ""}, {"region": "  "}])
def test_a_required_parameter_of_a_custom_type_must_be_given(
    alice: Caller, custom: str, parameters: dict[str, str]
) -> None:
    assert refused(add(alice, parameters, custom)) == "parameters.region: is required"


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


def test_a_stored_value_cannot_be_kept_under_another_type(world: World, alice: Caller, flag: int) -> None:
    path = f"{STRATEGIES}/{world.strategy(flag, name='userWithId', parameters={'userIds': 'a,,b'})}"
    change = {"name": "remoteAddress", "parameters": {"userIds": "a,,b"}}
    assert refused(alice.put(path, json=change)) == "parameters.userIds: unknown parameter; the nearest one is IPs"


def test_another_invalid_value_is_refused(world: World, alice: Caller, flag: int) -> None:
    path = f"{STRATEGIES}/{world.strategy(flag, parameters={'rollout': 'many', 'stickiness': 'default'})}"
    assert refused(alice.put(path, json={"parameters": {"rollout": "few"}})) == f"parameters.rollout: {PERCENTAGE}"


def test_another_type_begins_with_its_own_parameters(world: World, alice: Caller, flag: int) -> None:
    path = f"{STRATEGIES}/{world.strategy(flag, name='userWithId', parameters={'userIds': '1,2'})}"
    assert alice.put(path, json={"name": "flexibleRollout"}).json["parameters"] == {
        "rollout": "100",
        "groupId": "f",
        "stickiness": "default",
    }
    assert alice.put(path, json={"name": "default"}).json["parameters"] == {}


def test_an_import_reports_invalid_parameters_of_each_flag(alice: Caller, conn: Connection) -> None:
    bad = [strategy("a", parameters={"rollout": "many"}), strategy("b", parameters={"stickiness": "country"})]
    data = body(document("a", "b", "c", featureStrategies=[*bad, strategy("c")]))
    report = alice.post(VALIDATE, json=data).json
    assert report["errors"] == [
        {"message": f"parameters.rollout: {PERCENTAGE}", "affectedItems": ["a"]},
        {"message": f"parameters.stickiness: {STICKINESS} country", "affectedItems": ["b"]},
    ]
    refused(alice.post(IMPORT, json=data))
    assert value(conn, "SELECT count(*) FROM flags WHERE name IN ('a', 'b', 'c')") == 0


def test_the_parameters_of_a_default_strategy_are_checked(alice: Caller) -> None:
    path = "/api/admin/projects/default/environments/development/default-strategy"
    message = refused(alice.post(path, json={"name": "flexibleRollout", "parameters": {"rolout": 20}}))
    assert message == "parameters.rolout: unknown parameter; the nearest one is rollout"
