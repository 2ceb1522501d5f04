"""Import: segments that do not exist are created with the constraints of the document."""

import json

import pytest

from sql.catalog import segments
from sql.database import rows
from tests.support.documents import IMPORT, VALIDATE, body, bring_in, document, happened, place, strategy, validated
from tests.support.export import export
from tests.support.flags import recorded
from tests.support.world import refused

COUNTRY = {"contextName": "country", "operator": "IN", "values": ["NO"], "inverted": False, "caseInsensitive": False}
BETA = {"id": 7, "name": "beta", "description": "Early users.", "constraints": [COUNTRY]}


def beta(*features, **more):
    """A document whose flags have the segment beta, which needs the field country."""
    users = [strategy(name, segments=[7]) for name in features]
    return document(*features, featureStrategies=users, segments=[BETA | more], contextFields=[{"name": "country"}])


def stored(conn):
    return rows(conn, "SELECT name, description, project_id, constraints FROM segments ORDER BY name")


@pytest.mark.parametrize(("project", "own"), [(None, None), ("elsewhere", "default")])
def test_a_missing_segment_is_created(world, conn, alice, project, own):
    data, before = beta("f", "g", project=project), world.last_event_id()
    assert validated(alice, data) == {"errors": {}, "warnings": {}, "permissions": {}}
    assert stored(conn) == []
    bring_in(alice, data)
    [segment] = stored(conn)
    assert segment == {"name": "beta", "description": "Early users.", "project_id": own, "constraints": [COUNTRY]}
    [created] = [event for event in recorded(world, before, alice) if event["type"] == "segment-created"]
    [id] = [row["id"] for row in rows(conn, "SELECT id FROM segments")]
    assert (created.get("project"), created["data"]["id"], created["data"]["name"]) == (own, id, "beta")
    assert [place(world, name)["strategies"][0]["segments"] for name in ("f", "g")] == [[id], [id]]
    # The second import finds it.
    before = world.last_event_id()
    bring_in(alice, data)
    assert happened(world, before) == [("features-imported", None)]


def test_a_segment_with_other_constraints_is_used_as_it_is(world, conn, alice):
    id = segments.insert(conn, "beta", [])
    message = "This segment exists here with other constraints. The flags use it as it is."
    assert validated(alice, beta("f"))["warnings"] == {message: ["beta"]}
    bring_in(alice, beta("f"))
    assert stored(conn)[0]["constraints"] == []
    assert place(world)["strategies"][0]["segments"] == [id]


def test_a_segment_of_another_project_keeps_its_name(world, conn, alice):
    world.project("hermes")
    segments.insert(conn, "beta", [COUNTRY], project="hermes")
    message = "segments: no segment named beta exists for all projects or for this one"
    assert validated(alice, beta("f"))["errors"] == {message: ["f"]}


def test_an_unused_segment_is_not_created(conn, alice):
    data = document("f", segments=[BETA, {"id": 8, "name": "missing"}])
    warning = "No strategy of the document uses this segment. The import omits it."
    assert sorted(validated(alice, data)["warnings"][warning]) == ["beta", "missing"]
    assert warning not in validated(alice, beta("f"))["warnings"]
    bring_in(alice, data)
    assert stored(conn) == []


def test_a_caller_who_can_create_all_segments_can_create_one_of_the_project(conn, victor):
    conn.execute(
        "INSERT INTO role_permissions (role_id, permission) SELECT 3, name FROM permissions"
        " WHERE name <> ALL ('{ADMIN, UPDATE_PROJECT_SEGMENT}')"
    )
    bring_in(victor, beta("f", project="default"))
    assert stored(conn)[0]["project_id"] == "default"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"constraints": [COUNTRY | {"contextName": "moon"}]}, "constraints.0.contextName: must be an existing"),
        ({"constraints": [COUNTRY | {"values": [str(n) for n in range(251)]}]}, "constraints.0.values: must have at"),
    ],
)
def test_an_invalid_segment_is_an_error_of_its_flags(conn, alice, change, message):
    [(error, names)] = validated(alice, beta("f", **change))["errors"].items()
    assert (error.startswith(f"segment beta: {message}"), names) == (True, ["f"])
    assert f"segment beta: {message}" in refused(alice.post(IMPORT, json=body(beta("f", **change))))
    assert stored(conn) == []


def test_the_limit_for_segments_holds(app, conn, alice, monkeypatch):
    monkeypatch.setitem(app.config, "MAX_SEGMENTS", 1)
    segments.insert(conn, "other", [])
    [message] = validated(alice, beta("f"))["errors"]
    assert message.startswith("segment beta: There can be at most 1 segment in this instance.")


def test_an_export_has_what_its_segments_need(conn, alice):
    conn.execute("INSERT INTO context_fields (name) VALUES ('country')")
    bring_in(alice, beta("f", project="default"))
    document = export(alice, features=["f"])
    [segment] = document["segments"]
    assert segment | {"id": 7} == BETA | {"project": "default"}
    assert list(segment) == ["id", "name", "description", "project", "constraints"]
    assert "country" in [field["name"] for field in document["contextFields"]]


def test_a_state_file_is_referred_to_the_command(alice):
    state = {"version": 4, "features": [], "featureStrategies": [], "tagTypes": []}
    message = "must not be a state file. Import it with the command ./flags import FILE"
    for path in (IMPORT, VALIDATE):
        assert refused(alice.post(path, json=body(state))) == f"data: {message}"
    assert json.loads(alice.post(VALIDATE, json=body(document() | {"version": "of ours"})).data)["errors"] == []
