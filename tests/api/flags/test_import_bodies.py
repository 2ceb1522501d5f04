"""Import: which documents are read, and where to."""

import json

import pytest

from rules.import_documents import ImportedFlag
from sql.database import value
from tests.support import fixtures
from tests.support.documents import IMPORT, VALIDATE, body, bring_in, document, flag, place, state, strategy, validated
from tests.support.fingerprint import fingerprint
from tests.support.world import refused


def test_an_archived_project_or_unlinked_environment_is_not_found(world, conn, alice):
    fixtures.insert_project(conn, "old", "Old", archived_at="2026-01-01T00:00:00Z")
    fixtures.add_project_environment(conn, "old", "development")
    world.project("hermes", environments=("production",))
    before = world.last_event_id()
    for project, environment in (
        ("old", "development"),
        ("hermes", "development"),
        ("default", "nowhere"),
        ("nowhere", "development"),
    ):
        for path in (IMPORT, IMPORT.replace("import", "validate")):
            refused(alice.post(path, json=body(document("f"), project, environment)), 404, "NotFoundError")
    assert world.events(before) == []
    assert value(conn, "SELECT count(*) FROM flags") == 0


def test_unknown_properties_of_other_versions_are_ignored_at_every_level(world, alice):
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
        "contextFields": [
            {"name": "plan", "createdAt": "x", "legalValues": [{"value": "a", "createdAt": None}]} | extra
        ],
        "segments": [],
        "tagTypes": [{"name": "team", "color": None} | extra],
        "featureTags": [{"featureName": "f", "tagType": "team", "tagValue": "web", "createdByUserId": 7} | extra],
        "dependencies": [{"feature": "f", "dependencies": [{"feature": "g"} | extra]} | extra],
        "more": extra,
    }
    data["features"].append({"name": "g"})
    bring_in(alice, data)
    [created] = place(world)["strategies"]
    assert created["constraints"] == [
        {"contextName": "userId", "operator": "IN", "values": [], "inverted": False, "caseInsensitive": False}
    ]
    assert created["variants"][0]["payload"] == {"type": "csv", "value": ""}
    assert "other" not in json.dumps(flag(world))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "data: must not be null"),
        ([], "data: must be a JSON object"),
        ({}, "data.features: is required; data.featureStrategies: is required; data.tagTypes: is required"),
        (document("f", segments={}), "data.segments: must be a list"),
    ],
)
def test_a_document_without_its_lists_is_refused(world, alice, data, message):
    before = fingerprint(world.conn)
    for path in (IMPORT, VALIDATE):
        assert refused(alice.post(path, json=body(data))) == message
    assert "is required" in refused(alice.post(IMPORT, json={"data": document()}))
    assert "mode: unknown property" in refused(alice.post(IMPORT, json=body(document()) | {"mode": "x"}))
    assert fingerprint(world.conn) == before


ONE_FIXED = {"name": "a", "weight": 5, "weightType": "fix", "stickiness": "default"}
NOT_A_NUMBER = {
    "name": "a",
    "weight": 5,
    "weightType": "variable",
    "stickiness": "default",
    "payload": {"type": "number", "value": "x"},
}


@pytest.mark.parametrize(
    ("more", "message", "name"),
    [
        ({"features": [{"name": "f"}, {"name": "a b"}]}, "invalid flag: name: must contain only A-Z", "a b"),
        (
            {"features": [{"name": "f", "type": "toggle"}]},
            "invalid flag: type: must be experiment, kill-switch, release",
            "f",
        ),
        ({"features": [{"name": "f", "stale": 1}]}, "invalid flag: stale: must be true or false", "f"),
        ({"features": [{"name": "f"}, 7]}, "invalid flag: body: must be a JSON object", "features.1"),
        (
            {"features": [{"name": "f"}, {"name": "\ud800"}]},
            "invalid flag: name: must not contain lone surrogates",
            "features.1",
        ),
        (
            {"featureStrategies": [{"name": "default"}]},
            "invalid strategy: featureName: is required",
            "featureStrategies.0",
        ),
        (
            {"featureStrategies": [strategy(parameters={"a": []})]},
            "invalid strategy: parameters.a: must be a string",
            "f",
        ),
        ({"featureStrategies": [strategy(parameters={"\ud800": "x"})]}, "invalid strategy: parameters", "f"),
        ({"featureStrategies": [strategy(sortOrder=1.5)]}, "invalid strategy: sortOrder: must be a whole number", "f"),
        (
            {"featureStrategies": [strategy(constraints=[{"contextName": "userId", "operator": "LIKE"}])]},
            "invalid strategy: constraints.0.operator: must be one of the operators",
            "f",
        ),
        (
            {"featureStrategies": [strategy(variants=[ONE_FIXED])]},
            "invalid strategy: variants: must have at least one variant with the weightType variable",
            "f",
        ),
        (
            {"featureStrategies": [strategy(variants=[NOT_A_NUMBER])]},
            "invalid strategy: variants.0.payload.value: must be a number",
            "f",
        ),
        (
            {"featureEnvironments": [state(variants=[{"name": "a", "weight": 1}, {"name": "a", "weight": 1}])]},
            "invalid state: variants: must not contain a name twice",
            "f",
        ),
        (
            {"featureEnvironments": [{"enabled": True}]},
            "invalid state: featureName: is required",
            "featureEnvironments.0",
        ),
        (
            {"contextFields": [{"name": "c", "legalValues": [{"value": "a"}, {"value": "a"}]}]},
            "invalid context field: legalValues: must not contain a value twice",
            "c",
        ),
        ({"segments": [{"id": 1}]}, "invalid segment: name: is required", "segments.0"),
        ({"tagTypes": [{"name": "t"}]}, "invalid tag type: name: must be at least 2 characters long", "t"),
        (
            {"featureTags": [{"featureName": "f", "tagType": "simple", "tagValue": " x "}]},
            "invalid tag: tagValue: must be at least 2 characters long",
            "f",
        ),
        (
            {
                "dependencies": [
                    {"feature": "f", "dependencies": [{"feature": "g", "enabled": False, "variants": ["a"]}]}
                ]
            },
            "invalid dependency: dependencies.0.variants: can only be set if enabled is true",
            "f",
        ),
    ],
)
def test_an_invalid_entry_is_an_error_of_its_flag(world, alice, more, message, name):
    before, data = fingerprint(world.conn), document("f") | more
    [(found, names)] = validated(alice, data)["errors"].items()
    assert found.startswith(message)
    assert names == [name]
    assert refused(alice.post(IMPORT, json=body(data))) == f"{name}: {found}"
    assert fingerprint(world.conn) == before


def test_errors_of_several_flags_are_reported_together(alice):
    entries = [
        strategy("a", constraints=[{"contextName": "userId", "operator": "NUM_EQ", "value": "x"}]),
        strategy("b", constraints=[{"contextName": "userId", "operator": "NUM_EQ", "value": "y"}]),
        strategy("c", constraints=[{"contextName": "unknown", "operator": "IN", "values": ["x"]}]),
        strategy("d", name="unknown"),
        strategy("e"),
    ]
    assert validated(alice, document(*"abcde", featureStrategies=entries))["errors"] == {
        "invalid strategy: constraints.0.value: must be a number, such as 3.5": ["a", "b"],
        "constraints.0.contextName: must be an existing context field, not unknown": ["c"],
        "name: must be an existing strategy type, not unknown": ["d"],
    }


def test_a_date_without_a_time_is_midnight_in_utc(world, alice):
    after = {"contextName": "currentTime", "operator": "DATE_AFTER", "value": "2026-01-02"}
    name = {"contextName": "userId", "operator": "STR_CONTAINS", "values": ["x"], "value": "2026-01-02"}
    bring_in(alice, document("f", featureStrategies=[strategy(constraints=[after, name])]))
    [added] = place(world)["strategies"]
    assert [constraint["value"] for constraint in added["constraints"]] == ["2026-01-02T00:00:00.000Z", "2026-01-02"]
    message = "invalid strategy: constraints.0.value: must be a date-time with an offset such as 2024-05-31T12:00:00Z"
    data = document("f", featureStrategies=[strategy(constraints=[after | {"value": "2026-02-30"}])])
    assert validated(alice, data)["errors"] == {message: ["f"]}
    path = "/api/admin/projects/default/features/f/environments/development/strategies"
    assert "date-time" in refused(alice.post(path, json={"name": "default", "constraints": [after]}))


def test_every_entry_of_a_flag_adds_to_its_size():
    flag = ImportedFlag("f", {}, strategies=[{}] * 2, state={"variants": [{}] * 3}, tags=[{}] * 4, parents=[{}] * 5)
    assert flag.size == 15


def test_a_validation_warns_of_what_an_import_would_lose(alice):
    link = {"url": "https://wiki.example.org", "title": "Wiki"}
    data = document(
        {"name": "f", "links": [link]},
        {"name": "g", "links": []},
        featureStrategies=[strategy() | {"milestoneId": "01JB9GGTGQYEQ9D40R17T3YVW2"}, strategy("g", milestoneId=None)],
        contextFields=[{"name": "country", "project": "shop"}, {"name": "city", "project": None}],
        tagTypes=[{"name": "team", "color": "#FFFFFF"}, {"name": "simple", "color": None}],
        featureTags=[{"featureName": "g", "tagType": "team", "tagValue": "web", "color": "#FFFFFF"}],
        links=[
            {"feature": "g", "links": [link]},
            {"feature": "f", "links": []},
            7,
            {"feature": "\ud800", "links": [7]},
        ],
    )
    assert validated(alice, data) == {
        "errors": {},
        "permissions": {},
        "warnings": {
            "Links of flags are not kept.": ["f", "g"],
            "Tag types have no colour here.": ["team"],
            "Tags have no colour here.": ["g"],
            "There are no release plans here. The strategy stays.": ["f"],
            "Context fields belong to all projects here.": ["country"],
        },
    }
    bring_in(alice, data)
    assert "links: " in refused(alice.post(IMPORT, json=body(document("h", links="none"))))
