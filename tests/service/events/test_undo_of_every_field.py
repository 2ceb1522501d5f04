"""Undo brings back every field that a request can set, of each noun whose changes can be undone."""

from typing import Any

import pytest

from tests.support.world import Caller, World
from validators import Body
from validators.catalog.environments import SetDefaultStrategy
from validators.catalog.segments import CreateSegment, UpdateSegment
from validators.flags.core import CreateFlag, UpdateFlag
from validators.flags.strategies import StrategyChange, StrategyInput
from validators.projects.core import NewProject, ProjectChange, ProjectSettings
from validators.returned import Ignored, ReadOnly

PROJECT = "/api/admin/projects/default"
STRATEGIES = f"{PROJECT}/features/f/environments/development/strategies"
SEGMENTS, FLAGS, PROJECTS = "/api/admin/segments", f"{PROJECT}/features", "/api/admin/projects"
IN = {"contextName": "userId", "operator": "IN", "values": ["7"], "inverted": True, "caseInsensitive": True}
VARIANT = {"name": "a", "weight": 1000, "weightType": "variable", "stickiness": "userId"}
VARIANT |= {"payload": {"type": "string", "value": "x"}}
PARAMETERS = {"rollout": "20", "stickiness": "userId", "groupId": "g"}
STRATEGY = {"name": "flexibleRollout", "title": "old", "disabled": True, "sortOrder": 40, "parameters": PARAMETERS}
STRATEGY |= {"constraints": [IN], "variants": [VARIANT], "segments": [1001]}
OTHER: dict[str, Any] = {"title": "new", "disabled": False, "constraints": [], "variants": [], "segments": []}
OTHER |= {"name": "flexibleRollout", "parameters": {"rollout": "10", "stickiness": "random", "groupId": "h"}}
SEGMENT = {"name": "new", "description": "New.", "project": None, "constraints": []}
WHOLE_PROJECT: dict[str, Any] = {"id": "old", "name": "Old", "description": "Old.", "environments": ["production"]}
WHOLE_PROJECT |= {"mode": "protected", "defaultStickiness": "userId", "featureLimit": 7}
WHOLE_PROJECT |= {"changeRequestEnvironments": [{"name": "production", "requiredApprovals": 2}]}
SETTINGS = {"mode": "open", "defaultStickiness": "random", "featureLimit": 8}
# What changes with each change.
SKIPPED = ("updatedAt", "stats", "collaborators")

# Each noun: the schema and the request that creates a record with every field, and the path of the record.
CREATED: dict[str, tuple[type[Body], str, dict[str, Any], str]] = {
    "strategy": (StrategyInput, STRATEGIES, STRATEGY, f"{STRATEGIES}/{{id}}"),
    "segment": (
        CreateSegment,
        SEGMENTS,
        {"name": "old", "description": "Old.", "project": "default", "constraints": [IN]},
        f"{SEGMENTS}/{{id}}",
    ),
    "flag": (
        CreateFlag,
        FLAGS,
        {"name": "g", "type": "experiment", "description": "Old.", "impressionData": True, "stale": True}
        | {"tags": [{"type": "simple", "value": "web"}]},
        f"{FLAGS}/g",
    ),
    "default strategy": (
        SetDefaultStrategy,
        f"{PROJECT}/environments/development/default-strategy",
        STRATEGY,
        "/api/admin/environments/project/default",
    ),
    "project": (NewProject, PROJECTS, WHOLE_PROJECT, f"{PROJECTS}/old/overview"),
}
# The noun, and a change of every field or a deletion. Undo leaves the place of a strategy and the stale mark.
CHANGED: dict[str, tuple[str, type[Body] | None, str, str, Any]] = {
    "deleted strategy": ("strategy", None, "DELETE", f"{STRATEGIES}/{{id}}", None),
    "deleted segment": ("segment", None, "DELETE", f"{SEGMENTS}/{{id}}", None),
    "archived flag": ("flag", None, "DELETE", f"{FLAGS}/g", None),
    "strategy": ("strategy", StrategyChange, "PUT", f"{STRATEGIES}/{{id}}", OTHER),
    "segment": ("segment", UpdateSegment, "PUT", f"{SEGMENTS}/{{id}}", SEGMENT),
    "flag": (
        "flag",
        UpdateFlag,
        "PUT",
        f"{FLAGS}/g",
        {"type": "kill-switch", "description": "New.", "impressionData": False, "stale": True},
    ),
    "default strategy": (
        "default strategy",
        SetDefaultStrategy,
        "POST",
        f"{PROJECT}/environments/development/default-strategy",
        OTHER | {"sortOrder": STRATEGY["sortOrder"]},
    ),
    "project": ("project", ProjectChange, "PUT", f"{PROJECTS}/old", SETTINGS | {"name": "New", "description": "New."}),
    "settings": (
        "project",
        ProjectSettings,
        "PUT",
        f"{PROJECTS}/old/settings",
        SETTINGS | {"featureNaming": {"pattern": "[a-z]+", "example": "a", "description": "Short."}},
    ),
}


def settable(schema: type[Body]) -> set[str]:
    """The properties of a request that change something."""
    return {name for name, field in schema().fields.items() if not isinstance(field, Ignored | ReadOnly)}


@pytest.mark.parametrize("case", CHANGED)
def test_undo_brings_every_field_back(world: World, alice: Caller, case: str) -> None:
    noun, change_schema, method, path, change = CHANGED[case]
    schema, create_path, record, record_path = CREATED[noun]
    # Add a new field to the record, and to the change.
    assert record.keys() == settable(schema)
    assert change_schema is None or change.keys() == settable(change_schema)
    world.flag("f")
    world.conn.execute("INSERT INTO segments (id, name, constraints) VALUES (1001, 'used', '[]')")

    def read() -> dict[str, Any]:
        return {name: item for name, item in alice.get(at).get_json().items() if name not in SKIPPED}

    response = alice.post(create_path, json=record)
    assert response.status_code < 300, response.text
    created = response.get_json()
    # Flags have their tags elsewhere.
    assert record.items() <= {"tags": record.get("tags"), **created}.items()
    at = record_path.format(**created)
    before = read()
    response = alice.request(method, path.format(**created), **({} if change is None else {"json": change}))
    assert response.status_code < 300, response.text
    assert method == "DELETE" or read() != before
    response = alice.post(f"/api/admin/events/{response.headers['Event-Id']}/undo")
    assert response.status_code == 200, response.text
    assert read() == before
