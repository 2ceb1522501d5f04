"""Stickiness: a known value, or a context field with stickiness (neighbours.md 1.5).

Of strategies, variants and projects.
"""

from typing import Any

import pytest

from sql.database import Connection
from sql.vocabulary import context_fields
from tests.support import fixtures
from tests.support.documents import bring_in, document, state, strategy, validated
from tests.support.fingerprint import fingerprint
from tests.support.flags import FLAGS
from tests.support.world import Caller, World, refused

VARIANTS = f"{FLAGS}/f/environments/development/variants"
STRATEGIES = f"{FLAGS}/f/environments/development/strategies"
PROJECTS = "/api/admin/projects"
DEFAULT = f"{PROJECTS}/default/environments/development/default-strategy"
PROBLEM = "must be default, random, userId, sessionId or a context field with stickiness, not"
GOOD = ["default", "random", "userId", "sessionId", "tenant"]
BAD = ["country", "nowhere", "Default", " "]


@pytest.fixture(autouse=True)
def flag(world: World, conn: Connection) -> int:
    """The flag f, a context field with stickiness, and one without it."""
    context_fields.insert(conn, "tenant", stickiness=True)
    context_fields.insert(conn, "country")
    return world.flag("f")


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
        assert message == f"{place}.stickiness: {PROBLEM} {stickiness}"
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
            assert message == f"defaultStickiness: {PROBLEM} {stickiness}"
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
        f"variants.0.stickiness: {PROBLEM} country": ["a"],
        f"variants.0.stickiness: {PROBLEM} nowhere": ["b"],
        f"parameters.stickiness: {PROBLEM} gone": ["d"],
        "parameters.rollout: must be a whole number from 0 to 100": ["e"],
    }
