"""What is exported from one instance and imported into an empty one is exported from there as the same text."""

import json
from collections.abc import Callable

import pytest
from flask import Flask

from sql.catalog import segments
from sql.database import connect, rows
from tests.support.documents import IMPORT, VALIDATE, body, document, state, strategy
from tests.support.export import PATH
from tests.support.instance import ADMIN_KEY
from tests.support.world import Caller

IDS = [f"b4ad7b8a-3f5d-4a0c-9d6e-1c2b3a4d5e6{number}" for number in range(4)]


@pytest.fixture
def instance(make_database: Callable[..., str], make_app: Callable[..., Flask]):
    """instance(*segments): an administrator of a new instance that has these segments."""

    def make(*names: str) -> Caller:
        url = make_database()
        with connect(url) as conn:
            for name in names:
                segments.insert(conn, name, [])
        return Caller(make_app(url), ADMIN_KEY)

    return make


def exported(caller: Caller, environment: str = "production") -> str:
    """The document of project default, as it is sent."""
    response = caller.post(PATH, json={"environment": environment, "project": "default"})
    assert response.status_code == 200, response.text
    return response.text


def without_ids(document: str) -> str:
    """The document with the names of segments in place of their ids, and without ids of links."""
    parsed = json.loads(document)
    names = {segment["id"]: segment["name"] for segment in parsed["segments"]}
    for entry in parsed["featureStrategies"]:
        entry["segments"] = [names[id] for id in entry["segments"]]
    for segment in parsed["segments"]:
        segment["id"] = segment["name"]
    for entry in parsed["links"]:
        for link in entry["links"]:
            del link["id"]
    return json.dumps(parsed)


def everything():
    """A document that has all that a document can have."""
    blue = {"name": "blue", "weight": 0, "weightType": "variable", "stickiness": "plan"}
    variants = [
        blue | {"payload": {"type": "json", "value": '{"a": "é"}'}},
        {"name": "red", "weight": 333, "weightType": "fix", "stickiness": "default"},
        blue | {"name": "Zinc", "stickiness": "random", "payload": {"type": "number", "value": "1e3"}},
    ]
    constraints = [
        {"value": "2026-01-01T00:00:00+01:00", "operator": "DATE_AFTER", "contextName": "currentTime"},
        {"contextName": "country", "operator": "NOT_IN", "values": ["SE", "NO"], "inverted": True},
        {"contextName": "email", "operator": "STR_ENDS_WITH", "values": ["@exämple.org"], "caseInsensitive": True},
    ]
    full = {"title": "Nordic \U0001f600", "constraints": constraints, "variants": variants, "segments": [8, 7]}
    parameters = {"stickiness": "sessionId", "rollout": 7, "groupId": ""}
    legal = [{"value": "SE", "description": "Sweden"}, {"value": "NO"}]
    mine = [variant | {"overrides": [{"contextName": "tenant", "values": ["1", "0"]}]} for variant in variants]
    tags = [
        ("new-checkout", "team", "wéb"),
        ("new-checkout", "simple", "a b"),
        ("Old", "simple", "a b"),
        ("new-checkout", "Area", "x/y"),
    ]
    parents = [{"feature": "parent", "variants": ["b", "a"]}, {"feature": "_other", "enabled": False}]
    return document(
        {"name": "new-checkout", "type": "experiment", "description": "Ein „Text“\n", "impressionData": True},
        {"name": "Old", "type": "kill-switch", "stale": True},
        {"name": "parent"},
        {"name": "_other"},
        featureStrategies=[
            strategy("new-checkout", id=IDS[0], sortOrder=0, **full),
            strategy("new-checkout", id=IDS[1], sortOrder=0, disabled=True, parameters=parameters),
            strategy("new-checkout", id=IDS[2], sortOrder=0, name="userWithId", parameters={"userIds": "1,2"}),
            strategy("Old", id=IDS[3], sortOrder=5, name="default", parameters={}),
        ],
        featureEnvironments=[state("new-checkout", enabled=True, variants=mine), state("Old", enabled=True)],
        contextFields=[
            {"name": "country", "description": "Where.", "legalValues": legal},
            {"name": "email", "sortOrder": 3},
            {"name": "plan", "stickiness": True},
            {"name": "team", "stickiness": True},
            {"name": "tenant"},
            {"name": "unused"},
        ],
        segments=[{"id": 7, "name": "beta"}, {"id": 8, "name": "alpha"}],
        tagTypes=[{"name": "team", "description": "Whose.", "icon": "group"}, {"name": "Area"}],
        featureTags=[{"featureName": flag, "tagType": type, "tagValue": text} for flag, type, text in tags],
        dependencies=[{"feature": "new-checkout", "dependencies": parents}],
        links=[
            {"feature": "parent", "links": [{"url": "https://example.org/a"}]},
            {"feature": "Old", "links": [{"url": "https://example.org/b", "title": "é"}, {"url": "http://a.example"}]},
        ],
    )


def test_export_import_export_gives_the_same_document(instance):
    first, second = instance("alpha", "beta"), instance("one more", "beta", "alpha")
    assert first.post(IMPORT, json=body(everything(), environment="production")).status_code == 200
    document = exported(first)
    parsed = json.loads(document)
    assert all(parsed.values())
    assert [one["id"] for one in parsed["featureStrategies"]] == [IDS[3], *IDS[:3]]
    found = second.post(VALIDATE, json=body(parsed, environment="production")).json
    assert found == {"errors": [], "warnings": [], "permissions": []}
    # As text: that the order of keys is the same too is the point.
    given = f'{{"project": "default", "environment": "production", "data": {document}}}'
    for _ in range(2):
        assert second.post(IMPORT, data=given, content_type="application/json").status_code == 200
        assert without_ids(exported(second)) == without_ids(document)
    third = instance("alpha", "beta")
    assert third.post(IMPORT, data=given, content_type="application/json").status_code == 200
    assert exported(third) == document


def test_repeating_an_import_records_the_import_alone(instance):
    caller = instance("alpha", "beta")
    found = []
    for _ in range(2):
        assert caller.post(IMPORT, json=body(everything(), environment="production")).status_code == 200
        log = caller.get("/api/admin/search/events?limit=1").json
        with connect(caller.app.config["DATABASE_URL"]) as conn:
            found.append((log["total"], log["events"], rows(conn, "SELECT id FROM variants ORDER BY id")))
    (first, _, variants), (second, events, same) = found
    assert len(variants) > 2
    assert (second, same) == (first + 1, variants)
    assert [event["type"] for event in events] == ["features-imported"]


def test_an_import_into_another_environment_gives_new_ids(instance):
    caller = instance("alpha", "beta")
    assert caller.post(IMPORT, json=body(everything(), environment="production")).status_code == 200
    document = json.loads(exported(caller))
    assert caller.post(IMPORT, json=body(document)).status_code == 200
    copy = json.loads(exported(caller, "development"))
    ids = [{one["id"] for one in data["featureStrategies"]} for data in (document, copy)]
    assert [len(those) for those in ids] == [4, 4]
    assert ids[0] & ids[1] == set()
    for data in (document, copy):
        for entry in (*data["featureStrategies"], *data["featureEnvironments"]):
            entry.pop("id", None)
            entry.pop("environment", None)
    assert copy == document
