"""Import: which documents are read, and where to (neighbours.md 3.17, EX8)."""

import json

import pytest

from sql.database import value
from tests.support import fixtures
from tests.support.documents import IMPORT, body, bring_in, document, flag, place, state, strategy
from tests.support.world import refused


def test_where_flags_cannot_be_is_not_found(world, conn, alice):
    fixtures.insert_project(conn, "old", "Old", archived_at="2026-01-01T00:00:00Z")
    fixtures.add_project_environment(conn, "old", "development")
    world.project("hermes", environments=("production",))
    before = world.last_event_id()
    for project, environment in (("old", "development"), ("hermes", "development"), ("default", "nowhere"), ("nowhere", "development")):
        for path in (IMPORT, IMPORT.replace("import", "validate")):
            refused(alice.post(path, json=body(document("f"), project, environment)), 404, "NotFoundError")
    assert world.events(before) == []
    assert value(conn, "SELECT count(*) FROM flags") == 0


def test_what_other_versions_write_is_passed_over_at_every_level(world, alice):
    variant = {
        "name": "a",
        "weight": 1,
        "weightType": "variable",
        "stickiness": "default",
        "payload": {"type": "csv", "value": "", "other": 1},
    }
    extra = {"other": [1]}
    data = {
        "features": [{"name": "f", "lastSeenAt": None, "variants": 7} | extra],
        "featureStrategies": [
            strategy(
                milestoneId=None,
                constraints=[{"contextName": "userId", "operator": "IN", "values": []} | extra],
                variants=[variant | extra],
            )
        ],
        "featureEnvironments": [
            state(variants=[variant | extra | {"overrides": [{"contextName": "userId", "values": []} | extra]}]) | extra
        ],
        "contextFields": [{"name": "plan", "createdAt": "x", "legalValues": [{"value": "a", "createdAt": None}]} | extra],
        "segments": [],
        "tagTypes": [{"name": "team", "color": None} | extra],
        "featureTags": [{"featureName": "f", "tagType": "team", "tagValue": "web", "createdByUserId": 7} | extra],
        "dependencies": [{"feature": "f", "dependencies": [{"feature": "g"} | extra]} | extra],
        "more": extra,
    }
    data["features"].append({"name": "g"})
    bring_in(alice, data)
    [made] = place(world)["strategies"]
    assert made["constraints"] == [{"contextName": "userId", "operator": "IN", "values": [], "inverted": False, "caseInsensitive": False}]
    assert made["variants"][0]["payload"] == {"type": "csv", "value": ""}
    assert "other" not in json.dumps(flag(world))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (None, "data: must not be null"),
        ([], "data: must be a JSON object"),
        ({}, "data.features: is required; data.featureStrategies: is required; data.tagTypes: is required"),
        (document({"name": "a b"}), "data.features.0.name: must contain only"),
        (document({"name": "f", "type": "toggle"}), "data.features.0.type: must be experiment, kill-switch, release"),
        (document({"name": "f", "stale": None}), "data.features.0.stale: must not be null"),
        (document("f", featureStrategies=[{"name": "default"}]), "data.featureStrategies.0.featureName: is required"),
        (document("f", featureStrategies=[strategy(parameters={"a": []})]), "data.featureStrategies.0.parameters.a: must be a string"),
        (document("f", featureStrategies=[strategy(sortOrder=1.5)]), "data.featureStrategies.0.sortOrder: must be a whole number"),
        (
            document("f", featureStrategies=[strategy(constraints=[{"contextName": "userId", "operator": "LIKE"}])]),
            "data.featureStrategies.0.constraints.0.operator: must be one of the operators",
        ),
        (
            document(
                "f", featureStrategies=[strategy(variants=[{"name": "a", "weight": 5, "weightType": "fix", "stickiness": "default"}])]
            ),
            "data.featureStrategies.0.variants: must have at least one variant with the weightType variable",
        ),
        (
            document("f", featureEnvironments=[state(variants=[{"name": "a", "weight": 1}, {"name": "a", "weight": 1}])]),
            "data.featureEnvironments.0.variants: must not contain a name twice",
        ),
        (document("f", featureEnvironments=[{"enabled": True}]), "data.featureEnvironments.0.featureName: is required"),
        (
            document("f", contextFields=[{"name": "c", "legalValues": [{"value": "a"}, {"value": "a"}]}]),
            "data.contextFields.0.legalValues: must not contain a value twice",
        ),
        (document("f", segments=[{"id": 1}]), "data.segments.0.name: is required"),
        (document("f", tagTypes=[{"name": "t"}]), "data.tagTypes.0.name: must be at least 2 characters long"),
        (
            document("f", featureTags=[{"featureName": "f", "tagType": "simple", "tagValue": " x "}]),
            "data.featureTags.0.tagValue: must be at least 2 characters long",
        ),
        (
            document("f", dependencies=[{"feature": "f", "dependencies": [{"feature": "g", "enabled": False, "variants": ["a"]}]}]),
            "data.dependencies.0.dependencies.0.variants: can only be set if enabled is true",
        ),
    ],
)
def test_what_is_known_must_fit(world, conn, alice, data, says):
    before = world.last_event_id()
    for path in (IMPORT, IMPORT.replace("import", "validate")):
        assert says in refused(alice.post(path, json=body(data)))
    assert "is required" in refused(alice.post(IMPORT, json={"data": document()}))
    assert "mode: unknown property" in refused(alice.post(IMPORT, json=body(document()) | {"mode": "x"}))
    assert world.events(before) == []
    assert value(conn, "SELECT count(*) FROM flags") == 0
