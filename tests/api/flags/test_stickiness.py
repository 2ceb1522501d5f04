"""The stickiness of variants and of projects: a known value, or a context field with stickiness."""

from typing import Any

import pytest
from werkzeug.test import TestResponse

from sql.database import Connection
from sql.vocabulary import context_fields
from tests.support import fixtures
from tests.support.documents import VALIDATE, body, bring_in, document, state, strategy, validated
from tests.support.world import Caller, World, refused

FLAG = "/api/admin/projects/default/features/f"
VARIANTS = f"{FLAG}/environments/development/variants"
STRATEGIES = f"{FLAG}/environments/development/strategies"
PROBLEM = "must be default, random, userId, sessionId or a context field with stickiness, not"
GOOD = ["default", "random", "userId", "sessionId", "tenant"]
BAD = ["country", "nowhere", "Default"]


@pytest.fixture(autouse=True)
def flag(world: World, conn: Connection) -> int:
    """The flag f, a context field with stickiness, and one without it."""
    context_fields.insert(conn, "tenant", stickiness=True)
    context_fields.insert(conn, "country")
    return world.flag("f")


def variant(stickiness: str, name: str = "blue", **more: Any) -> dict[str, Any]:
    """A variant with this stickiness."""
    return {"name": name, "weight": 1000, "weightType": "variable", "stickiness": stickiness, **more}


def put(caller: Caller, stickiness: str) -> TestResponse:
    """Set the variants of the flag."""
    return caller.put(VARIANTS, json=[variant("default"), variant(stickiness, "red")])


def patch(caller: Caller, stickiness: str) -> TestResponse:
    """Add a variant, at position 0, to those of the flag."""
    return caller.request("PATCH", VARIANTS, json=[{"op": "add", "path": "/0", "value": variant(stickiness)}])


def put_batch(caller: Caller, stickiness: str) -> TestResponse:
    """Set the variants of the flag in several environments."""
    sent = {"variants": [variant(stickiness)], "environments": ["development", "production"]}
    return caller.put(f"{FLAG}/variants-batch", json=sent)


def add_strategy(caller: Caller, stickiness: str) -> TestResponse:
    """Add a strategy with a variant."""
    return caller.post(STRATEGIES, json={"name": "flexibleRollout", "variants": [variant(stickiness)]})


WAYS = [(put, 1), (patch, 0), (put_batch, 0), (add_strategy, 0)]


@pytest.mark.parametrize("stickiness", GOOD)
@pytest.mark.parametrize(("send", "position"), WAYS)
def test_a_variant_has_a_known_stickiness(alice: Caller, send: Any, position: int, stickiness: str) -> None:
    assert send(alice, stickiness).json["variants"][position]["stickiness"] == stickiness


@pytest.mark.parametrize("stickiness", BAD)
@pytest.mark.parametrize(("send", "position"), WAYS)
def test_any_other_stickiness_of_a_variant_is_refused(
    world: World, alice: Caller, send: Any, position: int, stickiness: str
) -> None:
    since = world.last_event_id()
    assert refused(send(alice, stickiness)) == f"variants.{position}.stickiness: {PROBLEM} {stickiness}"
    assert world.events(since) == []


def test_an_old_default_of_the_project_refuses_no_strategy(
    world: World, alice: Caller, conn: Connection, flag: int
) -> None:
    conn.execute("UPDATE projects SET default_stickiness = 'gone' WHERE id = 'default'")
    strategy_id = world.strategy(flag, parameters={"rollout": "5", "stickiness": "default", "groupId": "f"})
    sent = {"name": "flexibleRollout", "parameters": {"rollout": "50"}}
    for response in (alice.put(f"{STRATEGIES}/{strategy_id}", json=sent), alice.post(STRATEGIES, json=sent)):
        assert response.json["parameters"] == {"rollout": "50", "groupId": "f", "stickiness": "gone"}


def test_an_old_default_of_the_project_refuses_no_import(alice: Caller, conn: Connection) -> None:
    conn.execute("UPDATE projects SET default_stickiness = 'gone' WHERE id = 'default'")
    strategies = [strategy("f", parameters={"rollout": "50"}), strategy("g", parameters={"stickiness": "gone"})]
    assert validated(alice, document("f", "g", featureStrategies=strategies))["errors"] == {
        f"parameters.stickiness: {PROBLEM} gone": ["g"]
    }
    bring_in(alice, document("f", featureStrategies=strategies[:1]))
    assert alice.get(STRATEGIES).json[0]["parameters"] == {"rollout": "50", "groupId": "f", "stickiness": "gone"}


def test_stored_stickiness_can_be_kept(world: World, alice: Caller, conn: Connection, flag: int) -> None:
    fixtures.insert_variant(conn, flag, "development", None, name="blue", weight=1000, stickiness="gone")
    strategy_id = world.strategy(flag, parameters={"rollout": "5", "stickiness": "default", "groupId": "f"})
    fixtures.insert_variant(conn, flag, "development", strategy_id, name="blue", weight=1000, stickiness="gone")
    since = world.last_event_id()
    assert alice.put(VARIANTS, json=alice.get(VARIANTS).json["variants"]).status_code == 200
    path = f"{STRATEGIES}/{strategy_id}"
    assert alice.put(path, json=alice.get(path).json).json["variants"][0]["stickiness"] == "gone"
    assert world.events(since) == []
    refused(alice.put(VARIANTS, json=[variant("lost")]))


def test_an_import_reports_the_stickiness_of_variants_of_each_flag(alice: Caller) -> None:
    data = document(
        "a",
        "b",
        "c",
        featureStrategies=[strategy("a", variants=[variant("country")])],
        featureEnvironments=[state("b", variants=[variant("nowhere")]), state("c", variants=[variant("tenant")])],
    )
    assert sorted(alice.post(VALIDATE, json=body(data)).json["errors"], key=lambda error: error["affectedItems"]) == [
        {"message": f"variants.0.stickiness: {PROBLEM} country", "affectedItems": ["a"]},
        {"message": f"variants.0.stickiness: {PROBLEM} nowhere", "affectedItems": ["b"]},
    ]


@pytest.mark.parametrize("stickiness", GOOD)
def test_a_project_has_a_known_default_stickiness(alice: Caller, stickiness: str) -> None:
    created = alice.post("/api/admin/projects", json={"name": "Mobile", "id": "m", "defaultStickiness": stickiness})
    assert created.json["defaultStickiness"] == stickiness
    for path in ("default", "default/settings"):
        sent = {"name": "Default"} if path == "default" else {}
        response = alice.put(f"/api/admin/projects/{path}", json={**sent, "defaultStickiness": stickiness})
        assert response.status_code == 200
    assert alice.get("/api/admin/projects/default/overview").json["defaultStickiness"] == stickiness


@pytest.mark.parametrize("stickiness", BAD)
def test_any_other_default_stickiness_is_refused(world: World, alice: Caller, stickiness: str) -> None:
    since = world.last_event_id()
    asked = {"defaultStickiness": stickiness}
    for response in (
        alice.post("/api/admin/projects", json={"name": "Mobile", **asked}),
        alice.put("/api/admin/projects/default", json={"name": "Default", **asked}),
        alice.put("/api/admin/projects/default/settings", json=asked),
    ):
        assert refused(response) == f"defaultStickiness: {PROBLEM} {stickiness}"
    assert world.events(since) == []


def test_a_project_can_keep_its_default_stickiness(alice: Caller, conn: Connection) -> None:
    conn.execute("UPDATE projects SET default_stickiness = 'gone' WHERE id = 'default'")
    sent = {"name": "New name", "defaultStickiness": "gone"}
    assert alice.put("/api/admin/projects/default", json=sent).status_code == 200
