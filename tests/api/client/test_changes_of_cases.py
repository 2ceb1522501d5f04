"""Changes of documents by routes that change nothing in test_changes.py, where there is too little to change."""

from typing import Any

import pytest

from rules.access import digest
from sql.client import features, tokens
from tests.access import Stage
from tests.support.world import Caller

PROJECT = "/api/admin/projects/default"
FLAG = f"{PROJECT}/features/flag-of-default"
STRATEGY = f"{FLAG}/environments/development/strategies"
IMPORTED: dict[str, Any] = {
    "project": "default",
    "environment": "development",
    "data": {
        "features": [{"name": "flag-of-default"}],
        "featureStrategies": [{"featureName": "flag-of-default", "name": "default"}],
        "featureEnvironments": [{"featureName": "flag-of-default", "environment": "development", "enabled": True}],
        "tagTypes": [],
    },
}
NAME = {"featureName": "flag-of-default"}


def imported(**data: Any) -> dict[str, Any]:
    """Return the import of flag-of-default with these parts of a document. Without strategies, it loses its own."""
    data = {"features": [{"name": "flag-of-default"}], "featureStrategies": [], "tagTypes": [], **data}
    return {"project": "default", "environment": "development", "data": data}


VARIANT = {"name": "blue", "weight": 1000, "weightType": "variable", "stickiness": "default"}
IN_DEVELOPMENT = NAME | {"environment": "development"}
# Each imports one kind of change.
IMPORTS: dict[str, dict[str, Any]] = {
    "new flag": imported(features=[{"name": "new"}]),
    "impressions": imported(features=[{"name": "flag-of-default", "impressionData": True}]),
    "strategies": imported(featureStrategies=[NAME | {"name": "userWithId", "parameters": {"userIds": "7"}}]),
    "no strategies": imported(),
    "variants": imported(featureEnvironments=[IN_DEVELOPMENT | {"variants": [VARIANT]}]),
    "parent": imported(dependencies=[{"feature": "flag-of-default", "dependencies": [{"feature": "parent"}]}]),
}
BEFORE_IMPORT = "INSERT INTO flags (name, project_id) VALUES ('parent', 'default')"
WITHOUT_STRATEGIES = f"{BEFORE_IMPORT}; DELETE FROM strategies"
EMPTY = "INSERT INTO projects (id, name) VALUES ('empty', 'Empty')"
ARCHIVED = "UPDATE flags SET archived_at = now() WHERE name = 'flag-of-default'"
UNLINKED = "DELETE FROM project_environments WHERE environment = 'development'"
CLONE = {"name": "copy", "type": "test"}
IMPRESSIONS = [{"op": "replace", "path": "/impressionData", "value": True}]
PARAMETERS = {"name": "flexibleRollout", "parameters": {"rollout": "7"}}

# By name: what is there before, the request, the environment of the document.
CASES: dict[str, tuple[str, str, str, Any, str]] = {
    "import": ("SELECT", "POST", "/api/admin/features-batch/import", IMPORTED, "development"),
    **{
        f"import of {kind}": (
            BEFORE_IMPORT if kind == "no strategies" else WITHOUT_STRATEGIES,
            "POST",
            "/api/admin/features-batch/import",
            body,
            "development",
        )
        for kind, body in IMPORTS.items()
    },
    "revival": (ARCHIVED, "POST", f"{PROJECT}/revive", {"features": ["flag-of-default"]}, "development"),
    "link": (UNLINKED, "POST", f"{PROJECT}/environments", {"environment": "development"}, "development"),
    "patch": ("SELECT", "PATCH", FLAG, IMPRESSIONS, "development"),
    "strategy": ("SELECT", "PUT", f"{STRATEGY}/{{strategy}}", PARAMETERS, "development"),
    # Only tokens for all environments can ask for an environment before it exists, and after its end.
    "clone": ("SELECT", "POST", "/api/admin/environments/development/clone", CLONE, "copy"),
    "deletion": ("SELECT", "DELETE", "/api/admin/environments/production", None, "production"),
}
# Requests that record events about flags, but change no document.
UNSEEN = {
    "favorite": ("POST", f"{FLAG}/favorites", None),
    "no favorite": ("DELETE", f"{FLAG}/favorites", None),
    "project archived": ("POST", "/api/admin/projects/archive/empty", None),
    "project revived": ("POST", "/api/admin/projects/revive/empty", None),
    "lifetime": ("PUT", "/api/admin/feature-types/release/lifetime", {"lifetimeDays": 7}),
}


def look(stage: Stage, token: Caller, environment: str) -> tuple[str, int]:
    """Return the flags of a token in an environment, and the revision of the token."""
    # As at a commit.
    stage.conn.execute("SET CONSTRAINTS ALL IMMEDIATE")
    stage.conn.execute("SET CONSTRAINTS ALL DEFERRED")
    found = tokens.find(stage.conn, digest(token.key or ""))
    assert found is not None
    return "".join(features.read(stage.conn, environment, None)), found["revision"]


@pytest.mark.parametrize("case", CASES)
def test_the_revision_rises_with_a_change(stage: Stage, case: str) -> None:
    before_it, method, path, body, environment = CASES[case]
    stage.conn.execute(before_it)  # pyright: ignore
    token = stage.world.api_key("client", environment=None if environment != "development" else environment)
    before = look(stage, token, environment)
    path = path.format(strategy=stage.strategies["default", "development"])
    response = stage.cast["alice"].request(method, path, json=body)
    assert response.status_code < 400, response.text
    after = look(stage, token, environment)
    assert before[0] != after[0]
    assert before[1] < after[1]


@pytest.mark.parametrize("case", UNSEEN)
def test_the_revision_does_not_rise_without_a_change(stage: Stage, case: str) -> None:
    method, path, body = UNSEEN[case]
    if case == "no favorite":
        stage.cast["alice"].post(f"{FLAG}/favorites")
    stage.conn.execute(EMPTY)
    if case == "project revived":
        stage.cast["alice"].post("/api/admin/projects/archive/empty")
    token = stage.world.api_key("client")
    before = look(stage, token, "development")
    response = stage.cast["alice"].request(method, path, json=body)
    assert response.status_code < 400, response.text
    assert look(stage, token, "development") == before
