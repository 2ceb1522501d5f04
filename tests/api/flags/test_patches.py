"""JSON patches of a flag and of a strategy."""

from typing import Any

import pytest

from sql.database import value
from tests.support import fixtures
from tests.support.fingerprint import fingerprint
from tests.support.flag_environments import path
from tests.support.flag_environments import recorded as types_since
from tests.support.flags import FLAGS, core, event, recorded
from tests.support.strategies import CONSTRAINT, VARIANTS, tagged_flag
from tests.support.world import Caller, refused


def replace(name: str, new: Any) -> dict[str, Any]:
    """A step that replaces a property."""
    return {"op": "replace", "path": f"/{name}", "value": new}


def patch_flag(caller: Caller, *steps: Any):
    """Patch flag f."""
    return caller.request("PATCH", f"{FLAGS}/f", json=list(steps))


# --- Flags ------------------------------------------------------------------------------------------------------------


def test_a_patched_flag_is_recorded_like_a_changed_one(world, alice, conn):
    fixtures.tag(conn, world.flag("f", description="old"), "simple", "beta")
    before, since = core(conn), world.last_event_id()
    steps = [replace("type", "experiment"), replace("stale", True), {"op": "remove", "path": "/description"}]
    response = patch_flag(alice, *steps, {"op": "test", "path": "/name", "value": "f"})
    assert response.status_code == 200
    assert response.json == core(conn) == before | {"type": "experiment", "stale": True, "description": None}
    tags = [{"type": "simple", "value": "beta"}]
    assert recorded(world, since, alice) == [
        event("feature-metadata-updated", data=response.json, pre_data=before, tags=tags),
        event("feature-stale-on", tags=tags),
    ]


def test_a_patch_that_changes_nothing_is_not_recorded(world, alice, conn):
    world.flag("f", description="d")
    before = fingerprint(conn)
    for steps in ([], [replace("description", "d")], [replace("name", "f")]):
        assert patch_flag(alice, *steps).json == core(conn)
    assert fingerprint(conn) == before


@pytest.mark.parametrize(
    ("step", "says"),
    [
        (replace("name", "g"), "name: cannot be changed by a patch"),
        (replace("project", "hermes"), "project: cannot be changed by a patch"),
        (replace("archived", True), "archived: cannot be changed by a patch"),
        (replace("archivedAt", "2026-01-01T00:00:00.000Z"), "archivedAt: cannot be changed by a patch"),
        (replace("createdAt", "2026-01-01T00:00:00.000Z"), "createdAt: cannot be changed by a patch"),
        (replace("enabled", True), "enabled: cannot be changed by a patch"),
        ({"op": "remove", "path": "/archivedAt"}, "archivedAt: cannot be changed by a patch"),
        ({"op": "move", "from": "/name", "path": "/description"}, "name: cannot be changed by a patch"),
        ({"op": "remove", "path": "/type"}, "type: must not be null"),
        (replace("type", "unknown"), "type: must be experiment"),
        (replace("stale", 1), "stale: must be true or false"),
        (replace("id", 7), "path: does not exist in the document"),
        ({"op": "add", "path": "/id", "value": 7}, "id: unknown property"),
        ({"op": "add", "path": "/variants", "value": []}, "variants: unknown property"),
        ({"op": "add", "path": "/variants/-", "value": {}}, "path: does not exist in the document"),
        (replace("variants/0/weight", 7), "path: does not exist in the document"),
        ({"op": "replace", "path": "", "value": []}, "body: must be a JSON object"),
        ({"op": "test", "path": "/stale", "value": True}, "path: does not have the value"),
        ({"op": "frob", "path": "/stale"}, "op: must be add"),
        ("remove", "1: must be a JSON object"),
    ],
)
def test_an_invalid_patch_of_a_flag_is_refused_and_nothing_changes(world, alice, conn, step, says):
    world.flag("f", description="d")
    before = fingerprint(conn)
    assert says in refused(patch_flag(alice, replace("description", "new"), step))
    assert fingerprint(conn) == before


def test_an_archived_flag_cannot_be_patched(world, alice, conn):
    world.flag("f", archived_at=value(conn, "SELECT now()"))
    refused(patch_flag(alice, replace("stale", True)), 404, "NotFoundError")


# --- Strategies -------------------------------------------------------------------------------------------------------


def patch(caller: Caller, strategy: str, *steps: Any):
    """Patch a strategy of flag f in development."""
    return caller.request("PATCH", path(f"/strategies/{strategy}"), json=list(steps))


def created(world, caller: Caller) -> dict[str, Any]:
    """A strategy of flag f with a bit of everything, as it was answered."""
    tagged_flag(world)
    body = {"name": "flexibleRollout", "title": "old", "constraints": [CONSTRAINT], "variants": VARIANTS}
    return caller.post(path("/strategies"), json=body | {"parameters": {"rollout": 25}, "sortOrder": 3}).json


def test_a_patched_strategy_keeps_the_rest_and_is_recorded(world, alice):
    before = created(world, alice)
    since = world.last_event_id()
    steps = [replace("parameters/rollout", 50), {"op": "remove", "path": "/title"}, replace("constraints", [])]
    answer = patch(alice, before["id"], *steps)
    assert answer.status_code == 200
    parameters = before["parameters"] | {"rollout": "50"}
    assert answer.json == before | {"title": None, "constraints": [], "parameters": parameters}
    assert alice.get(path(f"/strategies/{before['id']}")).json == answer.json
    assert types_since(world, since) == ["feature-strategy-update"]
    (entry,) = world.events(since)
    assert (entry["data"], entry["pre_data"]) == (answer.json, before)


def test_removed_properties_get_their_defaults(world, alice):
    before = created(world, alice)
    removed = ("title", "disabled", "constraints", "variants", "parameters", "segments")
    answer = patch(alice, before["id"], *[{"op": "remove", "path": f"/{name}"} for name in removed])
    defaults = {"title": None, "disabled": False, "constraints": [], "variants": [], "segments": []}
    parameters = {"rollout": "100", "groupId": "f", "stickiness": "default"}
    assert answer.json == before | defaults | {"parameters": parameters}


def test_a_patch_that_changes_nothing_of_a_strategy_is_not_recorded(world, alice, conn):
    before = created(world, alice)
    state = fingerprint(conn)
    for steps in ([], [replace("title", "old")], [replace("sortOrder", 3)]):
        assert patch(alice, before["id"], *steps).json == before
    assert fingerprint(conn) == state


def test_a_patch_that_disables_the_last_strategy_switches_the_flag_off_first(world, alice):
    strategy = world.strategy(world.flag("f", enabled_in=("development",)))
    since = world.last_event_id()
    assert patch(alice, strategy, replace("disabled", True)).json["disabled"] is True
    assert [entry["type"] for entry in world.events(since)] == [
        "feature-environment-disabled",
        "feature-strategy-update",
    ]


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
def test_an_invalid_patch_of_a_strategy_is_refused_and_nothing_changes(world, alice, conn, step, says):
    before = created(world, alice)
    state = fingerprint(conn)
    assert says in refused(patch(alice, before["id"], step))
    assert fingerprint(conn) == state


def test_a_strategy_of_another_environment_cannot_be_patched(world, alice):
    strategy = world.strategy(world.flag("f"), "production")
    refused(patch(alice, strategy, replace("title", "new")), 404, "NotFoundError")
