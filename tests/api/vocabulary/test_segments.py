"""Segments: listed, read and made, and what the log says of it."""

import pytest

from sql.database import value
from sql.vocabulary import context_fields, segments
from tests.support.event_log import event, events
from tests.support.fingerprint import fingerprint
from tests.support.segments import ASKED, KEPT, PATH, curator, limit, make, stored
from tests.support.world import refused

# Making one


def test_a_segment_is_created_and_recorded(world, eve, conn):
    since = world.last_event_id()
    answer = eve.post(PATH, json={"name": " Beta testers ", "description": "Früh dran", "constraints": [ASKED]})
    assert answer.status_code == 201
    created = answer.json
    assert created == {
        "id": created["id"],
        "name": "Beta testers",
        "description": "Früh dran",
        "constraints": [KEPT],
        "createdBy": eve.email,
        "createdAt": created["createdAt"],
    }
    assert answer.headers["Location"] == f"segments/{created['id']}"
    assert stored(conn, created["id"]) == {
        "id": created["id"],
        "name": "Beta testers",
        "description": "Früh dran",
        "project_id": None,
        "constraints": [KEPT],
        "created_by": eve.email,
    }
    assert eve.get(f"{PATH}/{created['id']}").json == created
    assert events(world, since) == [event("segment-created", eve, data=created)]


def test_a_segment_of_a_project_and_its_event_name_the_project(world, alice, apollo, conn):
    since = world.last_event_id()
    created = alice.post(PATH, json={"name": "Crew", "constraints": [], "project": apollo}).json
    assert (created["project"], created["description"], created["constraints"]) == (apollo, None, [])
    assert stored(conn, created["id"])["project_id"] == apollo
    assert events(world, since) == [event("segment-created", alice, data=created, project=apollo)]


@pytest.mark.parametrize("fields", [{}, {"project": None, "description": None}, {"project": ""}])
def test_a_segment_without_a_project_is_for_all_projects(alice, conn, fields):
    created = alice.post(PATH, json={"name": "All", "constraints": []} | fields).json
    assert "project" not in created
    assert created["description"] is None
    assert stored(conn, created["id"])["project_id"] is None


def test_a_key_makes_a_segment_under_its_name(world):
    admin = world.api_key(name="deploy")
    assert admin.post(PATH, json={"name": "x", "constraints": []}).json["createdBy"] == "deploy"


def test_a_name_is_there_once(world, alice, apollo, conn):
    make(alice)
    since, before = world.last_event_id(), fingerprint(conn)
    for name in ("Beta", " Beta "):
        message = refused(
            alice.post(PATH, json={"name": name, "constraints": [], "project": apollo}), 409, "NameExistsError"
        )
        assert message == "name: a segment with this name already exists"
    assert (world.events(since), fingerprint(conn)) == ([], before)
    make(alice, "beta")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": None}, "name: must not be null"),
        ({"name": " "}, "name: must not be empty"),
        ({"name": "x" * 256}, "name: must be at most 255 characters long"),
        ({"constraints": None}, "constraints: must not be null"),
        ({"constraints": {}}, "constraints: must be a list"),
        (
            {"constraints": [{"contextName": "userId", "operator": "NUM_GT"}]},
            "constraints.0.value: is required with this operator",
        ),
        ({"constraints": [ASKED | {"contextName": "other"}]}, ("constraints.0.contextName: must be an existing context "
"field, not other")),
        ({"project": "nowhere"}, "project: must be an existing project"),
        ({"project": 5}, "project: must be a string"),
        ({"projects": 7}, "projects: unknown property"),
    ],
)  # fmt: skip
def test_an_invalid_field_is_refused_and_named(world, alice, conn, change, message):
    since, before = world.last_event_id(), fingerprint(conn)
    asked = {"name": "x", "constraints": []} | change
    assert refused(alice.post(PATH, json=asked)) == message
    assert (world.events(since), fingerprint(conn)) == ([], before)


def test_name_and_constraints_are_required(alice):
    assert refused(alice.post(PATH, json={"name": "x"})) == "constraints: is required"
    assert refused(alice.post(PATH, json={"constraints": []})) == "name: is required"
    make(alice, "x" * 255)


def test_constraints_ask_for_legal_values_alone(alice, conn):
    context_fields.insert(conn, "plan", legal_values=[{"value": "free"}, {"value": "paid"}])
    plan = {"contextName": "plan", "operator": "IN"}
    message = refused(alice.post(PATH, json={"name": "x", "constraints": [plan | {"values": ["free", "gold"]}]}))
    assert message == "constraints.0: must have only legal values of the context field plan"
    make(alice, constraints=[plan | {"values": ["free"]}])


def test_the_numbers_of_segments_constraints_and_values_are_limited(app, world, alice, conn, monkeypatch):
    limit(app, monkeypatch, MAX_SEGMENTS=2, MAX_CONSTRAINTS=2, MAX_CONSTRAINT_VALUES=3, MAX_SEGMENT_VALUES=5)
    of = [ASKED | {"values": [str(number) for number in range(count)]} for count in range(5)]
    since, before = world.last_event_id(), fingerprint(conn)
    for constraints, message in (
        ([of[1]] * 3, "constraints: must have at most 2 constraints (setting MAX_CONSTRAINTS)"),
        ([of[4]], "constraints.0.values: must have at most 3 values (setting MAX_CONSTRAINT_VALUES)"),
        ([of[3], of[3]], "constraints: must have at most 5 values in total (setting MAX_SEGMENT_VALUES)"),
    ):
        assert refused(alice.post(PATH, json={"name": "x", "constraints": constraints})) == message
    assert (world.events(since), fingerprint(conn)) == ([], before)
    make(alice, "one", constraints=[of[3], of[2]])
    make(alice, "two")
    assert (
        refused(alice.post(PATH, json={"name": "three", "constraints": []}))
        == "There can be at most 2 segments in this instance. The setting MAX_SEGMENTS raises this limit."
    )
    assert value(conn, "SELECT count(*) FROM segments") == 2


# Permissions


def test_a_curator_creates_segments_in_their_projects_alone(world, apollo, conn):
    carla = curator(world, apollo)
    world.project("zeus")
    since = world.last_event_id()
    created = make(carla, project=apollo)
    assert stored(conn, created)["created_by"] == carla.email
    assert [row["type"] for row in world.events(since)] == ["segment-created"]
    before = fingerprint(conn)
    messages = set()
    for project in ("default", "zeus", "nowhere"):
        messages.add(
            refused(carla.post(PATH, json={"name": "x", "constraints": [], "project": project}), 403, "NoAccessError")
        )
    # No difference between a project that is there and one that is not.
    assert messages == {"You lack the permission CREATE_SEGMENT or UPDATE_PROJECT_SEGMENT in this project."}
    message = refused(carla.post(PATH, json={"name": "x", "constraints": []}), 403, "NoAccessError")
    assert message == "You lack the permission CREATE_SEGMENT."
    assert fingerprint(conn) == before


def test_the_permission_to_create_is_checked_before_the_body(victor, olga, alice, world):
    carla = curator(world, "default")
    for caller in (victor, olga):
        refused(caller.post(PATH, data="x", content_type="text/plain"), 403, "NoAccessError")
        refused(caller.post(PATH, json={}), 403, "NoAccessError")
    for caller in (alice, carla):
        refused(caller.post(PATH, data="x", content_type="text/plain"), 415, "ContentTypeError")
        refused(caller.post(PATH, json={}))


# Reading them


def test_segments_are_listed_by_name_with_their_use(world, alice, apollo, conn):
    ids = {name: segments.insert(conn, name, [ASKED]) for name in ("c", "a", "b")}
    created = segments.insert(conn, "d", [], project=apollo, description="x", created_by="y")
    one = world.flag("one")
    uses = [(one, "development"), (one, "development"), (one, "production"), (world.flag("two"), "development")]
    uses += [(world.flag("three", apollo), "development")]
    for flag, environment in uses:
        conn.execute("INSERT INTO strategy_segments VALUES (%s, %s)", [world.strategy(flag, environment), ids["a"]])
    archived = world.flag("gone", archived_at="2026-01-01T00:00:00Z")
    for segment in ("a", "b"):
        conn.execute("INSERT INTO strategy_segments VALUES (%s, %s)", [world.strategy(archived), ids[segment]])
    listed = alice.get(PATH).json["segments"]
    assert [(entry["name"], entry["usedInFeatures"], entry["usedInProjects"]) for entry in listed] == [
        ("a", 3, 2),
        ("b", 0, 0),
        ("c", 0, 0),
        ("d", 0, 0),
    ]
    assert listed[3] == alice.get(f"{PATH}/{created}").json | {"usedInFeatures": 0, "usedInProjects": 0}
    assert ["project" in entry for entry in listed] == [False, False, False, True]


def test_the_list_is_empty_without_segments(alice):
    assert alice.get(PATH).json == {"segments": []}


def test_a_segment_of_a_hidden_project_is_not_there(world, alice, victor, max, apollo):
    hidden, shown = make(alice, "hidden", project=apollo), make(alice, "shown")
    for path in (f"{PATH}/{hidden}", f"{PATH}/{hidden}/strategies"):
        assert refused(victor.get(path), 404, "NotFoundError") == "No segment has that id."
        assert max.get(path).status_code == 200
    assert [segment["id"] for segment in victor.get(PATH).json["segments"]] == [shown]
    assert [segment["id"] for segment in max.get(PATH).json["segments"]] == [hidden, shown]
    carla, before = curator(world, "default"), fingerprint(world.conn)
    for response in (
        carla.delete(f"{PATH}/{hidden}"),
        carla.put(f"{PATH}/{hidden}", json={"name": "x", "constraints": []}),
    ):
        assert refused(response, 404, "NotFoundError") == "No segment has that id."
    assert fingerprint(world.conn) == before


def test_a_segment_that_is_not_there_is_not_found_and_an_id_is_a_number(alice):
    body = {"name": "x", "constraints": []}
    calls = (alice.get, alice.delete, lambda path: alice.put(path, json=body))
    for call in calls:
        for word in ("999", str(2**31), "9" * 50):
            refused(call(f"{PATH}/{word}"), 404, "NotFoundError")
        for word in ("0", "-1", "x", "1.0", "%201", "٣"):
            refused(call(f"{PATH}/{word}"))
    refused(alice.get(f"{PATH}/x/strategies"))
    refused(alice.get(f"{PATH}/999/strategies"), 404, "NotFoundError")


# Whether a name is free


def test_a_name_can_be_asked_for(world, alice, victor, apollo, conn):
    make(alice, "Taken")
    make(alice, "Hidden", project=apollo)
    since, before = world.last_event_id(), fingerprint(conn)
    answer = victor.post(f"{PATH}/validate", json={"name": "free"})
    assert (answer.status_code, answer.data) == (204, b"")
    for name in ("Taken", " Taken ", "Hidden"):
        refused(victor.post(f"{PATH}/validate", json={"name": name}), 409, "NameExistsError")
    for body in ({}, {"name": ""}, {"name": "x" * 256}, {"name": 5}, {"name": "x", "constraints": []}):
        refused(victor.post(f"{PATH}/validate", json=body))
    assert (world.events(since), fingerprint(conn)) == ([], before)
