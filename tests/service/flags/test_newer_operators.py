"""REGEX, IN_CIDR, SEMVER_GTE and SEMVER_LTE: wherever constraints are stored, and in what applications get."""

import json
from typing import Any

import pytest

from sql.catalog import context_fields
from tests.support.documents import bring_in, document, place, strategy, validated
from tests.support.flags import FLAGS
from tests.support.world import Caller, World

STRATEGIES = f"{FLAGS}/f/environments/development/strategies"
DEFAULT = "/api/admin/projects/default/environments/development/default-strategy"
# Constraints, each with a context that matches and one that does not.
CONSTRAINTS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "REGEX": ({"contextName": "userId", "value": "^[A-Z]+-\\d{2}$"}, {"userId": "AB-12"}, {"userId": "ab-12"}),
    "IN_CIDR": (
        {"contextName": "remoteAddress", "values": ["10.1.0.0/16", "::1"]},
        {"remoteAddress": "10.1.2.3"},
        {"remoteAddress": "10.2.0.1"},
    ),
    "SEMVER_GTE": ({"contextName": "appName", "value": "1.2.3"}, {"appName": "1.2.3"}, {"appName": "1.2.3-rc.1"}),
    "SEMVER_LTE": ({"contextName": "appName", "value": "1.2.3"}, {"appName": "1.2.3"}, {"appName": "1.2.4-rc.1"}),
}


@pytest.fixture(autouse=True)
def fields(world: World) -> None:
    context_fields.insert(world.conn, "remoteAddress", legal_values=[{"value": "127.0.0.1"}])


@pytest.mark.parametrize("operator", CONSTRAINTS)
def test_constraint_is_stored_served_and_explained(world: World, alice: Caller, operator: str) -> None:
    world.flag("f", enabled_in=("development",))
    given, matching, other = CONSTRAINTS[operator]
    constraint = {"operator": operator, **given}
    stored = {"values": [], "inverted": False, "caseInsensitive": False, **constraint}
    assert alice.post("/api/admin/constraints/validate", json=constraint).status_code == 204
    assert alice.post(DEFAULT, json={"name": "flexibleRollout", "constraints": [constraint]}).status_code == 200
    added = alice.post(STRATEGIES, json={"name": "default", "constraints": [constraint]})
    assert (added.status_code, added.json["constraints"]) == (200, [stored])
    served = world.api_key("client").get("/api/client/features").json["features"][0]["strategies"][0]
    assert served["constraints"] == [stored]
    browser = world.api_key("frontend")
    for context, found in ((matching, ["f"]), (other, [])):
        toggles = browser.post("/api/frontend", json={"context": context}).json["toggles"]
        assert [toggle["name"] for toggle in toggles] == found
    asked = {"environment": "development", "projects": ["default"], "context": {"appName": "a", **other}}
    [feature] = alice.post("/api/admin/playground", json=asked).json["features"]
    [explained] = feature["strategies"]["data"][0]["constraints"]
    [value] = other.values()
    assert (explained["operator"], explained["contextValue"], explained["result"]) == (operator, value, False)


@pytest.mark.parametrize("operator", CONSTRAINTS)
def test_segment_and_import_take_it(world: World, alice: Caller, operator: str) -> None:
    constraint = {"operator": operator, **CONSTRAINTS[operator][0]}
    assert alice.post("/api/admin/segments", json={"name": "s", "constraints": [constraint]}).status_code == 201
    bring_in(alice, document("f", featureStrategies=[strategy(constraints=[constraint])]))
    [imported] = place(world)["strategies"]
    assert [one["operator"] for one in imported["constraints"]] == [operator]


def test_case_is_ignored_on_request(world: World, alice: Caller) -> None:
    world.flag("f", enabled_in=("development",))
    constraint = {"contextName": "userId", "operator": "REGEX", "value": "^AB$", "caseInsensitive": True}
    assert alice.post(STRATEGIES, json={"name": "default", "constraints": [constraint]}).status_code == 200
    assert world.api_key("frontend").get("/api/frontend?userId=aB").json["toggles"]


def test_import_with_an_invalid_pattern_is_refused(alice: Caller) -> None:
    constraint = {"contextName": "userId", "operator": "REGEX", "value": "("}
    message = "constraints.0.value: must be a regular expression of RE2. RE2 says: missing ): ("
    data = document("f", featureStrategies=[strategy(constraints=[constraint])])
    assert list(validated(alice, data)["errors"]) == [message]


def test_stored_pattern_that_re2_refuses_never_matches_and_can_be_sent_back(world: World, alice: Caller) -> None:
    constraint = {
        "contextName": "userId", "operator": "REGEX", "value": "(?=a)", "values": [], "inverted": True,
        "caseInsensitive": False,
    }  # fmt: skip
    id = world.strategy(world.flag("f", enabled_in=("development",)), name="default", constraints=[constraint])
    world.strategy(world.flag("other", enabled_in=("development",)), name="default")
    served = world.api_key("client").get("/api/client/features").json["features"]
    assert [flag["strategies"][0]["constraints"] for flag in served] == [[constraint], []]
    toggles = world.api_key("frontend").get("/api/frontend?userId=a").json["toggles"]
    assert [toggle["name"] for toggle in toggles] == ["other"]
    asked = {"environment": "development", "projects": ["default"], "context": {"appName": "a", "userId": "a"}}
    reasons = [flag["reason"] for flag in alice.post("/api/admin/playground", json=asked).json["features"]]
    assert reasons[0].endswith("value: must be a regular expression of RE2. RE2 says: invalid perl operator: (?=")
    body = {"name": "default", "constraints": [constraint], "title": "kept"}
    assert alice.put(f"{STRATEGIES}/{id}", json=body).status_code == 200
    assert json.loads(alice.get(f"{STRATEGIES}/{id}").text)["constraints"] == [constraint]
