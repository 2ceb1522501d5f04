"""Types of strategies and of flags: created, read, changed and deleted over HTTP."""

import pytest

from tests.support.event_log import event, events
from tests.support.world import Caller, refused

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
BUILT_IN = {
    "flexibleRollout": [("rollout", "percentage", False), ("stickiness", "string", True), ("groupId", "string", True)],
    "default": [],
    "userWithId": [("userIds", "list", False)],
    "remoteAddress": [("IPs", "list", True)],
    "applicationHostname": [("hostNames", "list", False)],
}


def make(caller: Caller) -> None:
    """Create the type byHost."""
    response = caller.post(PATH, json={"name": "byHost", "parameters": [PARAMETER], "description": MADE["description"]})
    assert (response.status_code, response.json, response.headers["Location"]) == (201, MADE, "strategies/byHost")


def names(caller: Caller) -> list[str]:
    """The names of all types, in their order."""
    return [found["name"] for found in caller.get(PATH).json["strategies"]]


def test_built_in_types(alice):
    found = alice.get(PATH).json["strategies"]
    parameters = {
        kind["name"]: [(each["name"], each["type"], each["required"]) for each in kind["parameters"]] for kind in found
    }
    assert list(parameters.items()) == list(BUILT_IN.items())
    assert not any(kind["editable"] for kind in found)
    assert [kind["name"] for kind in found if kind["deprecated"]] == ["userWithId"]


def test_type_is_created(world, eve):
    since = world.last_event_id()
    make(eve)
    assert events(world, since) == [event("strategy-created", eve, data=MADE)]
    assert eve.get(f"{PATH}/byHost").json == MADE
    assert names(eve) == [*BUILT_IN, "byHost"]
    assert "name" in refused(eve.post(PATH, json={"name": "byHost", "parameters": []}), 409, "NameExistsError")


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
def test_invalid_type_is_refused(alice, change, problem):
    assert problem in refused(alice.post(PATH, json={"name": "byHost", "parameters": []} | change))


def test_type_is_changed(world, eve):
    make(eve)
    record = MADE
    for change in (
        {"title": "By host", "description": "Some hosts", "parameters": []},
        {"title": None, "description": None, "parameters": []},
        {"title": "By host", "name": "byHost", "parameters": [PARAMETER]},
    ):
        since, before, record = world.last_event_id(), record, record | change
        # The second time, nothing changes. A title that is missing stays.
        for body in (change, {"parameters": change["parameters"]}):
            assert eve.put(f"{PATH}/byHost", json=body).status_code == 200
        assert eve.get(f"{PATH}/byHost").json == record
        assert events(world, since) == [event("strategy-updated", eve, data=record, pre_data=before)]
    assert "parameters" in refused(eve.put(f"{PATH}/byHost", json={}))
    assert "name" in refused(eve.put(f"{PATH}/byHost", json={"name": "other", "parameters": []}))


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_type_cannot_be_changed(alice, name):
    before = alice.get(f"{PATH}/{name}").json
    refused(alice.put(f"{PATH}/{name}", json={"parameters": []}), 409, "ConflictError")
    refused(alice.delete(f"{PATH}/{name}"), 409, "ConflictError")
    assert alice.get(f"{PATH}/{name}").json == before


def test_type_is_deleted_unless_a_strategy_has_it(world, alice):
    make(alice)
    strategy = world.strategy(world.flag("f"), name="byHost")
    since = world.last_event_id()
    message = refused(alice.delete(f"{PATH}/byHost"), 409, "ConflictError")
    assert message == "The strategy type is used by flag f in development. Remove it there first."
    world.conn.execute("DELETE FROM strategies WHERE id = %s", [strategy])
    assert alice.delete(f"{PATH}/byHost").status_code == 200
    assert events(world, since) == [event("strategy-deleted", alice, data={"name": "byHost"})]
    assert names(alice) == list(BUILT_IN)


def test_type_is_deprecated_and_reactivated_once(world, eve):
    since, path = world.last_event_id(), f"{PATH}/remoteAddress"
    for word, deprecated in (("deprecate", True), ("reactivate", False)):
        for _ in range(2):
            assert eve.post(f"{path}/{word}").status_code == 200
        assert eve.get(path).json["deprecated"] is deprecated
    change = {"name": "remoteAddress"}
    assert events(world, since) == [
        event("strategy-deprecated", eve, data=change),
        event("strategy-reactivated", eve, data=change),
    ]
    refused(eve.post(f"{PATH}/default/deprecate"), 409, "ConflictError")


def test_unknown_type_is_404(alice):
    path = f"{PATH}/x"
    answers = [alice.get(path), alice.put(path, json={"parameters": []}), alice.delete(path)]
    for response in (*answers, alice.post(f"{path}/deprecate"), alice.post(f"{path}/reactivate")):
        refused(response, 404, "NotFoundError")


# --- Types of flags ---------------------------------------------------------------------------------------------------

TYPES = "/api/admin/feature-types"
LIFETIMES = {"release": 40, "experiment": 40, "operational": 7, "kill-switch": None, "permission": None, "sunset": 90}


def lifetimes(caller: Caller) -> list[tuple[str, int | None]]:
    """How long flags of each type are expected to live, in days."""
    return [(kind["id"], kind["lifetimeDays"]) for kind in caller.get(TYPES).json["types"]]


@pytest.mark.parametrize(("days", "stored"), [(3, 3), (0, None), (None, None)])
def test_lifetime_is_changed(world, alice, days, stored):
    assert lifetimes(alice) == list(LIFETIMES.items())
    since = world.last_event_id()
    first, second = (alice.put(f"{TYPES}/release/lifetime", json={"lifetimeDays": days}).json for _ in range(2))
    assert first == second
    assert (first["id"], first["lifetimeDays"]) == ("release", stored)
    before = first | {"lifetimeDays": 40}
    assert events(world, since) == [event("feature-type-updated", alice, data=first, pre_data=before)]
    assert lifetimes(alice) == list((LIFETIMES | {"release": stored}).items())


def test_lifetime_counts_for_health_at_once(world, alice):
    world.flag("f", type="kill-switch")
    world.conn.execute("UPDATE flags SET created_at = now() - interval '2 days'")
    overview = "/api/admin/projects/default/overview"
    assert alice.get(overview).json["health"] == 100
    assert alice.put(f"{TYPES}/kill-switch/lifetime", json={"lifetimeDays": 1}).status_code == 200
    assert alice.get(overview).json["health"] == 0


@pytest.mark.parametrize("body", [{}, *({"lifetimeDays": days} for days in (-1, 2**31, 1.5, "7", True))])
def test_invalid_lifetime_is_refused(alice, body):
    assert "lifetimeDays" in refused(alice.put(f"{TYPES}/release/lifetime", json=body))
    refused(alice.put(f"{TYPES}/Release/lifetime", json={"lifetimeDays": 1}), 404, "NotFoundError")
