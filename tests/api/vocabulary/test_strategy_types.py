"""Types of strategies and of flags: made, read, changed and removed over HTTP."""

from typing import Any

import pytest

from sql.database import value
from tests.support.event_log import event, events
from tests.support.world import Caller, World, refused

PATH = "/api/admin/strategies"
PARAMETER = {"name": "hosts", "type": "list", "description": "Rechner", "required": True}
MADE = {
    "name": "byHost",
    "displayName": None,
    "title": None,
    "description": "On for some hosts",
    "editable": True,
    "deprecated": False,
    "parameters": [PARAMETER],
}
BUILT_IN = ["flexibleRollout", "default", "userWithId", "remoteAddress", "applicationHostname"]


def make(caller: Caller) -> None:
    """Let a caller make the type byHost."""
    response = caller.post(PATH, json={"name": "byHost", "parameters": [PARAMETER], "description": MADE["description"]})
    assert (response.status_code, response.json, response.headers["Location"]) == (201, MADE, "strategies/byHost")


def names(caller: Caller) -> list[str]:
    """The names of all types, in their order."""
    return [found["name"] for found in caller.get(PATH).json["strategies"]]


def test_an_installation_has_five_types(alice: Caller) -> None:
    found = {strategy["name"]: strategy for strategy in alice.get(PATH).json["strategies"]}
    assert list(found) == BUILT_IN
    assert not any(strategy_type["editable"] for strategy_type in found.values())
    assert [name for name, strategy_type in found.items() if strategy_type["deprecated"]] == ["userWithId"]
    taken = {
        name: [
            (strategy_type["name"], strategy_type["type"], strategy_type["required"])
            for strategy_type in found[name]["parameters"]
        ]
        for name in found
    }
    assert taken == {
        "flexibleRollout": [
            ("rollout", "percentage", False),
            ("stickiness", "string", True),
            ("groupId", "string", True),
        ],
        "default": [],
        "userWithId": [("userIds", "list", False)],
        "remoteAddress": [("IPs", "list", True)],
        "applicationHostname": [("hostNames", "list", False)],
    }


def test_a_type_is_created_and_recorded(world: World, eve: Caller) -> None:
    since = world.last_event_id()
    make(eve)
    assert events(world, since) == [event("strategy-created", eve, data=MADE)]
    assert eve.get(f"{PATH}/byHost").json == MADE
    assert names(eve) == [*BUILT_IN, "byHost"]
    assert "name" in refused(eve.post(PATH, json={"name": "byHost", "parameters": []}), 409, "NameExistsError")
    assert len(world.events(since)) == 1


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"name": "a b"}, "name"),
        ({"parameters": None}, "parameters"),
        ({"parameters": [PARAMETER | {"type": "text"}]}, "parameters.0.type"),
        ({"parameters": [PARAMETER | {"required": "yes"}]}, "parameters.0.required"),
        ({"parameters": [PARAMETER, PARAMETER]}, "a name twice"),
        ({"parameters": [{"name": "a"}]}, "parameters.0.type"),
        ({"sortOrder": 3}, "sortOrder"),
        ({"deprecated": 1}, "deprecated"),
        ({"title": 1}, "title"),
    ],
)
def test_an_invalid_type_is_refused(world: World, alice: Caller, change: dict[str, Any], problem: str) -> None:
    since = world.last_event_id()
    assert problem in refused(alice.post(PATH, json={"name": "byHost", "parameters": []} | change))
    assert (names(alice), world.events(since)) == (BUILT_IN, [])


def test_a_change_keeps_a_title_and_description_that_the_body_omits(world: World, eve: Caller) -> None:
    make(eve)
    since = world.last_event_id()
    after = MADE | {"title": "By host", "parameters": []}
    assert eve.put(f"{PATH}/byHost", json={"name": "byHost", "title": "By host", "parameters": []}).status_code == 200
    assert eve.get(f"{PATH}/byHost").json == after
    assert events(world, since) == [event("strategy-updated", eve, data=after, pre_data=MADE)]
    assert eve.put(f"{PATH}/byHost", json={"parameters": []}).status_code == 200
    assert "parameters" in refused(eve.put(f"{PATH}/byHost", json={}))
    assert "name" in refused(eve.put(f"{PATH}/byHost", json={"name": "other", "parameters": []}))
    assert len(world.events(since)) == 1


def test_null_clears_the_title_and_description(world: World, eve: Caller) -> None:
    make(eve)
    body = {"title": "By host", "description": "Some hosts", "parameters": []}
    assert eve.put(f"{PATH}/byHost", json=body).status_code == 200
    since = world.last_event_id()
    after = MADE | {"title": None, "description": None, "parameters": []}
    cleared = {"title": None, "description": None, "parameters": []}
    assert eve.put(f"{PATH}/byHost", json=cleared).status_code == 200
    assert eve.get(f"{PATH}/byHost").json == after
    assert events(world, since) == [event("strategy-updated", eve, data=after, pre_data=MADE | body)]


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_type_cannot_be_changed(world: World, alice: Caller, name: str) -> None:
    since, before = world.last_event_id(), alice.get(f"{PATH}/{name}").json
    refused(alice.put(f"{PATH}/{name}", json={"parameters": []}), 409, "ConflictError")
    refused(alice.delete(f"{PATH}/{name}"), 409, "ConflictError")
    assert alice.get(f"{PATH}/{name}").json == before
    assert world.events(since) == []


def test_a_type_is_deleted_unless_a_strategy_has_it(world: World, alice: Caller) -> None:
    make(alice)
    strategy = world.strategy(world.flag("f"), name="byHost")
    since = world.last_event_id()
    message = refused(alice.delete(f"{PATH}/byHost"), 409, "ConflictError")
    assert message == "The strategy type is used by flag f in development. Remove it there first."
    assert (names(alice)[-1], world.events(since)) == ("byHost", [])
    world.conn.execute("DELETE FROM strategies WHERE id = %s", [strategy])
    assert alice.delete(f"{PATH}/byHost").status_code == 200
    assert events(world, since) == [event("strategy-deleted", alice, data={"name": "byHost"})]
    assert names(alice) == BUILT_IN


def test_a_type_is_deprecated_and_reactivated_once(world: World, eve: Caller) -> None:
    since = world.last_event_id()
    for word in ("deprecate", "deprecate"):
        assert eve.post(f"{PATH}/remoteAddress/{word}").status_code == 200
    assert eve.get(f"{PATH}/remoteAddress").json["deprecated"] is True
    for word in ("reactivate", "reactivate"):
        assert eve.post(f"{PATH}/remoteAddress/{word}").status_code == 200
    assert eve.get(f"{PATH}/remoteAddress").json["deprecated"] is False
    change = {"name": "remoteAddress"}
    assert events(world, since) == [
        event("strategy-deprecated", eve, data=change),
        event("strategy-reactivated", eve, data=change),
    ]


def test_default_cannot_be_deprecated(world: World, alice: Caller) -> None:
    since = world.last_event_id()
    refused(alice.post(f"{PATH}/default/deprecate"), 409, "ConflictError")
    assert alice.get(f"{PATH}/default").json["deprecated"] is False
    assert world.events(since) == []


def test_a_type_that_is_not_there_is_404(world: World, alice: Caller) -> None:
    since, path = world.last_event_id(), f"{PATH}/x"
    answers = [alice.get(path), alice.put(path, json={"parameters": []}), alice.delete(path)]
    for response in (*answers, alice.post(f"{path}/deprecate"), alice.post(f"{path}/reactivate")):
        refused(response, 404, "NotFoundError")
    assert world.events(since) == []


# Types of flags

LIFETIMES = {"release": 40, "experiment": 40, "operational": 7, "kill-switch": None, "permission": None}


def lifetimes(caller: Caller) -> dict[str, int | None]:
    """How long flags of each type are expected to live, in days."""
    return {
        flag_type["id"]: flag_type["lifetimeDays"] for flag_type in caller.get("/api/admin/feature-types").json["types"]
    }


def test_flags_of_each_type_have_a_lifetime_that_can_be_changed(world: World, alice: Caller) -> None:
    assert list(lifetimes(alice).items()) == list(LIFETIMES.items())
    since = world.last_event_id()
    answer = alice.put("/api/admin/feature-types/release/lifetime", json={"lifetimeDays": 3})
    before = answer.json | {"lifetimeDays": 40}
    assert (answer.status_code, answer.json["id"], answer.json["lifetimeDays"]) == (200, "release", 3)
    assert events(world, since) == [event("feature-type-updated", alice, data=answer.json, pre_data=before)]
    assert alice.put("/api/admin/feature-types/release/lifetime", json={"lifetimeDays": 3}).status_code == 200
    assert len(world.events(since)) == 1
    assert lifetimes(alice) == LIFETIMES | {"release": 3}


@pytest.mark.parametrize("days", [0, None])
def test_nought_and_null_are_for_ever(alice: Caller, days: int | None) -> None:
    assert (
        alice.put("/api/admin/feature-types/operational/lifetime", json={"lifetimeDays": days}).json["lifetimeDays"]
        is None
    )
    assert lifetimes(alice)["operational"] is None


def test_a_lifetime_counts_for_health_at_once(world: World, alice: Caller) -> None:
    world.flag("f", type="kill-switch")
    world.conn.execute("UPDATE flags SET created_at = now() - interval '2 days'")
    overview = "/api/admin/projects/default/overview"
    assert alice.get(overview).json["health"] == 100
    assert alice.put("/api/admin/feature-types/kill-switch/lifetime", json={"lifetimeDays": 1}).status_code == 200
    assert alice.get(overview).json["health"] == 0


@pytest.mark.parametrize("days", [-1, 2**31, 1.5, "7", True])
def test_an_invalid_lifetime_is_refused(world: World, alice: Caller, days: Any) -> None:
    since = world.last_event_id()
    assert "lifetimeDays" in refused(
        alice.put("/api/admin/feature-types/release/lifetime", json={"lifetimeDays": days})
    )
    assert "lifetimeDays" in refused(alice.put("/api/admin/feature-types/release/lifetime", json={}))
    refused(alice.put("/api/admin/feature-types/Release/lifetime", json={"lifetimeDays": 1}), 404, "NotFoundError")
    assert (lifetimes(alice), world.events(since)) == (LIFETIMES, [])
    assert value(world.conn, "SELECT count(*) FROM flag_types") == 5
