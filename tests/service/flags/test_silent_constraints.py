"""Constraints that would silently match every user or no user are refused by every operation that takes constraints."""

from typing import Any

import pytest

from tests.support.documents import bring_in, document, place, strategy, validated
from tests.support.fingerprint import fingerprint
from tests.support.flags import FLAGS
from tests.support.world import Caller, World, refused

STRATEGIES = f"{FLAGS}/f/environments/development/strategies"
DEFAULT = "/api/admin/projects/default/environments/development/default-strategy"
SEGMENTS = "/api/admin/segments"
NO_VALUES = "constraints.0.values: must have at least one value"
BIG = "constraints.0.value: must be a version with numbers of at most 9007199254740991, which all SDKs can compare"
IN_QUOTES = 'must be a string: write the number in quotes, such as "5"'
NO_PATTERN = "constraints.0.value: must be a regular expression of RE2. RE2 says: "
NOT_SHARED = (
    r"constraints.0.value: must not contain \<, \> or \b{start}, or in a class an unescaped [, &&, -- or ~~. "
    "SDKs read these differently"
)
# The engine of the SDKs reads these as word boundaries and as combinations of classes.
OTHERWISE = (
    r"\<gold",
    r"gold\>",
    r"^\b{start}gold",
    "^[a-z&&[^g]]+$",
    "[a-z--b]",
    "[a~~b]",
    "[a[b]]",
    "[]a&&b]",
    "[^]a[]",
    r"[\>]",
    "[]*-[^a]]",
)
NO_NETWORK = "constraints.0.values: must be IP addresses or networks such as 10.0.0.0/8"
# Constraints, and the message that refuses each.
SILENT: dict[str, tuple[dict[str, Any], str]] = {
    "value for values": ({"operator": "NOT_IN", "value": "blocked-user"}, NO_VALUES),
    "in nothing": ({"operator": "IN", "values": []}, NO_VALUES),
    "not in nothing": ({"operator": "NOT_IN", "values": []}, NO_VALUES),
    "text": ({"operator": "STR_STARTS_WITH", "value": "a"}, NO_VALUES),
    "values": (
        {"operator": "NUM_GT", "values": ["5"]},
        "constraints.0.value: is required with this operator",
    ),
    "version": ({"operator": "SEMVER_EQ", "value": "99999999999999999999.1.1"}, BIG),
    "version to": ({"operator": "SEMVER_LTE", "value": "1.2"}, "constraints.0.value: must be a version such as 1.2.3"),
    "no pattern": ({"operator": "REGEX", "values": ["a"]}, "constraints.0.value: is required with this operator"),
    "empty pattern": ({"operator": "REGEX", "value": ""}, "constraints.0.value: is required with this operator"),
    "pattern": ({"operator": "REGEX", "value": "(?=a)"}, f"{NO_PATTERN}invalid perl operator: (?="),
    "large pattern": ({"operator": "REGEX", "value": ".{0,1000}" * 28}, f"{NO_PATTERN}pattern too large"),
    **{pattern: ({"operator": "REGEX", "value": pattern}, NOT_SHARED) for pattern in OTHERWISE},
    "in no network": ({"operator": "IN_CIDR", "value": "10.0.0.0/8"}, NO_VALUES),
    "name": ({"operator": "IN_CIDR", "values": ["::1", "localhost"]}, f"{NO_NETWORK}, not 'localhost'"),
    "mask": ({"operator": "IN_CIDR", "values": ["10.0.0.0/255.0.0.0"]}, f"{NO_NETWORK}, not '10.0.0.0/255.0.0.0'"),
    "number": ({"operator": "NUM_GT", "value": 5}, f"constraints.0.value: {IN_QUOTES}"),
    "numbers": ({"operator": "IN", "values": [1, 2]}, f"constraints.0.values.0: {IN_QUOTES}"),
}


@pytest.mark.parametrize(("constraint", "message"), SILENT.values(), ids=SILENT)
def test_such_a_constraint_is_refused_everywhere(
    world: World, alice: Caller, constraint: dict[str, Any], message: str
) -> None:
    world.flag("f")
    good = {"name": "flexibleRollout", "constraints": [{"contextName": "userId", "operator": "IN", "values": ["7"]}]}
    path = f"{STRATEGIES}/{alice.post(STRATEGIES, json=good).json['id']}"
    segment = f"{SEGMENTS}/{alice.post(SEGMENTS, json={**good, 'name': 's'}).json['id']}"
    bad = {"constraints": [{"contextName": "userId", **constraint}]}
    patch = [{"op": "replace", "path": "/constraints", "value": bad["constraints"]}]
    before = fingerprint(world.conn)
    for response in (
        alice.post(STRATEGIES, json={**good, **bad}),
        alice.put(path, json=bad),
        alice.request("PATCH", path, json=patch),
        alice.post(DEFAULT, json={**good, **bad}),
        alice.post(SEGMENTS, json={**bad, "name": "t"}),
        alice.put(segment, json={**bad, "name": "s"}),
    ):
        assert message in refused(response)
    assert fingerprint(world.conn) == before


def test_an_import_keeps_a_constraint_that_matches_no_user(world: World, alice: Caller) -> None:
    no_user = [("IN", False), ("NOT_IN", True)]
    constraints = [{"contextName": "userId", "operator": name, "inverted": inverted} for name, inverted in no_user]
    bring_in(alice, document("f", featureStrategies=[strategy(constraints=constraints)]))
    [added] = place(world)["strategies"]
    assert [(one["operator"], one["values"]) for one in added["constraints"]] == [("IN", []), ("NOT_IN", [])]
    for name, inverted in no_user:
        everybody = {"contextName": "userId", "operator": name, "inverted": not inverted}
        data = document("f", featureStrategies=[strategy(constraints=[everybody])])
        assert list(validated(alice, data)["errors"]) == [NO_VALUES]


def test_numbers_and_texts_of_variants_are_not_converted(world: World, alice: Caller) -> None:
    world.flag("f")
    whole = {"name": "a", "weight": 1000, "weightType": "variable", "stickiness": "default"}
    for variant, message in (
        ({"payload": {"type": "number", "value": 5}}, f"0.payload.value: {IN_QUOTES}"),
        ({"overrides": [{"contextName": "userId", "values": [7]}]}, f"0.overrides.0.values.0: {IN_QUOTES}"),
        ({"weight": "500"}, "0.weight: must be a whole number, without quotes"),
        ({"weight": 33.3}, "0.weight: must be a whole number"),
    ):
        assert refused(alice.put(f"{FLAGS}/f/variants", json=[whole | variant])).startswith(message)


def test_an_empty_group_is_a_group_of_its_own(world: World, alice: Caller) -> None:
    rollout = {"rollout": "50", "stickiness": "userId"}
    empty = {"name": "flexibleRollout", "parameters": {**rollout, "groupId": ""}}
    world.flag("f")
    stored = alice.post(STRATEGIES, json=empty).json
    assert stored["parameters"]["groupId"] == ""
    path = f"{STRATEGIES}/{stored['id']}"
    for response in (alice.put(path, json=stored), alice.request("PATCH", path, json=[])):
        assert response.json["parameters"]["groupId"] == ""
    bring_in(alice, document("g", featureStrategies=[strategy("g", parameters=empty["parameters"])]))
    assert place(world, "g")["strategies"][0]["parameters"]["groupId"] == ""
    assert alice.post(DEFAULT, json=empty).json["parameters"]["groupId"] == ""
    for name in "fg":
        alice.post(f"{FLAGS}/{name}/environments/development/on")
    # Both flags are in the group "", so they are on for the same users.
    web = world.api_key("frontend")
    found = [web.get(f"/api/frontend?userId={user}").json["toggles"] for user in range(60)]
    assert {tuple(flag["name"] for flag in flags) for flags in found} == {(), ("f", "g")}
    served = world.api_key("client").get("/api/client/features").json["features"]
    assert [flag["strategies"][0]["parameters"]["groupId"] for flag in served] == ["", ""]
