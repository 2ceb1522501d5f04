"""Segments: changed and deleted, and what the log says of it."""

from typing import Any

from sql.vocabulary import segments
from tests.support import fixtures
from tests.support.event_log import event, events
from tests.support.fingerprint import fingerprint
from tests.support.segments import ASKED, KEPT, PATH, body, curator, limit, make, stored
from tests.support.world import World, refused


def used(world: World, segment: int, flag: str = "checkout", project: str = "default", **fields: Any) -> str:
    """A strategy of a new flag that has the segment."""
    strategy = world.strategy(world.flag(flag, project, **fields))
    fixtures.add_segment(world.conn, strategy, segment)
    return strategy


# Changing one


def test_a_change_replaces_the_segment(world, alice, eve, apollo, conn):
    segment = make(alice, description="Before")
    before = alice.get(f"{PATH}/{segment}").json
    since = world.last_event_id()
    answer = eve.put(f"{PATH}/{segment}", json={"name": " Gamma ", "constraints": [], "project": apollo})
    assert (answer.status_code, answer.data) == (204, b"")
    after = eve.get(f"{PATH}/{segment}").json
    # The omitted description stays, and so does its creator.
    assert after == before | {"name": "Gamma", "constraints": [], "project": apollo}
    row = {
        "id": segment,
        "name": "Gamma",
        "description": "Before",
        "project_id": apollo,
        "constraints": [],
        "created_by": alice.email,
    }
    assert stored(conn, segment) == row
    assert events(world, since) == [event("segment-updated", eve, data=after, pre_data=before, project=apollo)]


def test_a_segment_of_a_project_becomes_one_for_all(world, alice, apollo):
    segment = make(alice, project=apollo)
    before = alice.get(f"{PATH}/{segment}").json
    since = world.last_event_id()
    assert alice.put(f"{PATH}/{segment}", json=body()).status_code == 204
    after = alice.get(f"{PATH}/{segment}").json
    assert before == after | {"project": apollo}
    assert events(world, since) == [event("segment-updated", alice, data=after, pre_data=before)]


def test_a_change_that_changes_nothing_records_nothing(world, alice, apollo, conn):
    segment, other = make(alice, description="Same", project=apollo), make(alice, "Other")
    since, before = world.last_event_id(), fingerprint(conn)
    for constraint in (ASKED, KEPT):
        same = body(description="Same", project=apollo, constraints=[constraint])
        assert alice.put(f"{PATH}/{segment}", json=same).status_code == 204
    assert alice.put(f"{PATH}/{other}", json=body(" Other ", project=None)).status_code == 204
    assert (world.events(since), fingerprint(conn)) == ([], before)


def test_a_segment_cannot_take_the_name_of_another(world, alice, conn):
    make(alice, "Taken")
    segment = make(alice)
    since, before = world.last_event_id(), fingerprint(conn)
    refused(alice.put(f"{PATH}/{segment}", json=body("Taken")), 409, "NameExistsError")
    assert (world.events(since), fingerprint(conn)) == ([], before)


def test_a_misfit_changes_nothing(world, alice, conn):
    segment = make(alice)
    since, before = world.last_event_id(), fingerprint(conn)
    path = f"{PATH}/{segment}"
    refused(alice.put(path, data="x", content_type="text/plain"), 415, "ContentTypeError")
    for change in (
        {},
        {"name": "x"},
        {"constraints": []},
        body(createdBy="somebody else"),
        body(projects=1),
        body(project="nowhere"),
        body(constraints=[ASKED | {"contextName": "x"}]),
    ):
        refused(alice.put(path, json=change))
    # What is wrong with the body comes before whether there is such a segment.
    refused(alice.put(f"{PATH}/999", json={}))
    assert (world.events(since), fingerprint(conn)) == ([], before)


def test_a_segment_above_a_limit_may_stay_but_not_grow(app, world, alice, conn, monkeypatch):
    of = [ASKED | {"values": [str(number) for number in range(count)]} for count in range(6)]
    segment = make(alice, constraints=[of[4], of[4]])
    limit(app, monkeypatch, MAX_CONSTRAINTS=1, MAX_CONSTRAINT_VALUES=3, MAX_SEGMENT_VALUES=6)
    assert alice.put(f"{PATH}/{segment}", json=body("Kept", constraints=[of[4], of[4]])).status_code == 204
    since, before = world.last_event_id(), fingerprint(conn)
    for constraints, message in (
        ([of[1]] * 3, "constraints: must have at most 2 constraints (setting MAX_CONSTRAINTS)"),
        ([of[5], of[1]], "constraints.0.values: must have at most 4 values (setting MAX_CONSTRAINT_VALUES)"),
    ):
        assert refused(alice.put(f"{PATH}/{segment}", json=body(constraints=constraints))) == message
    assert (world.events(since), fingerprint(conn)) == ([], before)
    limit(app, monkeypatch, MAX_CONSTRAINTS=9)
    message = refused(alice.put(f"{PATH}/{segment}", json=body(constraints=[of[3]] * 3)))
    assert message == "constraints: must have at most 8 values in total (setting MAX_SEGMENT_VALUES)"
    assert alice.put(f"{PATH}/{segment}", json=body(constraints=[of[3]])).status_code == 204
    assert "at most 6 values" in refused(alice.put(f"{PATH}/{segment}", json=body(constraints=[of[3], of[3], of[1]])))


def test_a_segment_kept_without_values_can_be_changed(alice, conn):
    segment = segments.insert(conn, "old", [{"contextName": "userId", "operator": "IN"}])
    assert alice.put(f"{PATH}/{segment}", json=body()).status_code == 204


# One that is used


def test_a_used_segment_cannot_be_deleted(world, alice, conn):
    segment = make(alice)
    used(world, segment)
    since, before = world.last_event_id(), fingerprint(conn)
    assert (
        refused(alice.delete(f"{PATH}/{segment}"), 409, "ConflictError")
        == "The segment is used by flag checkout in development. Remove it there first."
    )
    assert (world.events(since), fingerprint(conn)) == ([], before)
    used(world, segment, "archived", archived_at="2026-01-01T00:00:00Z")
    assert (
        refused(alice.delete(f"{PATH}/{segment}"), 409, "ConflictError")
        == "The segment is used by archived flag archived in development, flag checkout in development. "
        "Remove it there first."
    )


def test_hidden_strategies_that_use_a_segment_are_counted(world, apollo):
    carla = curator(world, "default")
    segment = make(carla, project="default")
    used(world, segment, "rocket", apollo)
    message = refused(carla.delete(f"{PATH}/{segment}"), 409, "ConflictError")
    assert message == "The segment is used by 1 hidden place. Remove it there first."
    used(world, segment)
    message = refused(carla.delete(f"{PATH}/{segment}"), 409, "ConflictError")
    assert message == "The segment is used by flag checkout in development, 1 more place. Remove it there first."


def test_archived_flags_keep_their_segments(world, alice):
    segment = make(alice)
    used(world, segment, archived_at="2026-01-01T00:00:00Z")
    refused(alice.delete(f"{PATH}/{segment}"), 409, "ConflictError")


def test_a_segment_does_not_leave_strategies_of_other_projects(world, alice, apollo, conn):
    segment = make(alice)
    used(world, segment)
    used(world, segment, "rocket", apollo)
    since, before = world.last_event_id(), fingerprint(conn)
    for project, flag in (("default", "rocket"), (apollo, "checkout")):
        message = refused(alice.put(f"{PATH}/{segment}", json=body(project=project)), 409, "ConflictError")
        assert message == f"The segment is used by flag {flag} in development. Remove it there first."
    assert (world.events(since), fingerprint(conn)) == ([], before)
    # Its other properties can change, and it can go where all that use it are.
    assert alice.put(f"{PATH}/{segment}", json=body("Gamma")).status_code == 204
    conn.execute("DELETE FROM flags WHERE project_id = 'apollo'")
    assert alice.put(f"{PATH}/{segment}", json=body(project="default")).status_code == 204
    refused(alice.put(f"{PATH}/{segment}", json=body(project=apollo)), 409, "ConflictError")
    assert alice.put(f"{PATH}/{segment}", json=body()).status_code == 204


def test_a_used_segment_can_be_changed_if_its_project_stays(world, alice, apollo):
    """As when a flag has left its project: what was so before is no reason against another name."""
    segment = make(alice, project=apollo)
    used(world, segment)
    assert alice.put(f"{PATH}/{segment}", json=body("Gamma", project=apollo)).status_code == 204


# Deleting one


def test_a_deleted_segment_is_gone_and_recorded(world, alice, eve, apollo, conn):
    shared, owned = make(alice, "shared"), make(alice, "owned", project=apollo)
    before = {segment: alice.get(f"{PATH}/{segment}").json for segment in (shared, owned)}
    since = world.last_event_id()
    for segment in (shared, owned):
        answer = eve.delete(f"{PATH}/{segment}")
        assert (answer.status_code, answer.data) == (204, b"")
        assert stored(conn, segment) == {}
        refused(eve.delete(f"{PATH}/{segment}"), 404, "NotFoundError")
    first, second = (event("segment-deleted", eve, pre_data=record) for record in before.values())
    assert events(world, since) == [first, second | {"project": apollo}]


# Permissions


def test_a_curator_changes_segments_of_their_projects_alone(world, alice, apollo, conn):
    world.project("zeus")
    carla = curator(world, apollo, "zeus")
    mine, other, shared = (
        make(alice, "mine", project=apollo),
        make(alice, "other", project="default"),
        make(alice, "shared"),
    )
    since, before = world.last_event_id(), fingerprint(conn)
    for segment in (other, shared):
        refused(carla.put(f"{PATH}/{segment}", json=body(project=apollo)), 403, "NoAccessError")
        refused(carla.put(f"{PATH}/{segment}", data="x"), 403, "NoAccessError")
        refused(carla.delete(f"{PATH}/{segment}"), 403, "NoAccessError")
    for project in ("default", "nowhere", None):
        refused(carla.put(f"{PATH}/{mine}", json=body(project=project)), 403, "NoAccessError")
    assert (world.events(since), fingerprint(conn)) == ([], before)
    assert carla.put(f"{PATH}/{mine}", json=body(project="zeus")).status_code == 204
    assert carla.delete(f"{PATH}/{mine}").status_code == 204
    assert [(row["type"], row["project"]) for row in world.events(since)] == [
        ("segment-updated", "zeus"),
        ("segment-deleted", "zeus"),
    ]


def test_the_permission_to_change_is_checked_first(alice, victor, olga, apollo):
    segment = make(alice, project=apollo)
    for caller in (victor, olga):
        for word in (segment, 999, "x"):
            refused(caller.put(f"{PATH}/{word}", data="x", content_type="text/plain"), 403, "NoAccessError")
            refused(caller.delete(f"{PATH}/{word}"), 403, "NoAccessError")


def test_a_segment_of_a_default_strategy_is_in_use(world, alice, apollo):
    segment = make(alice)
    path = f"/api/admin/projects/{apollo}/environments/production/default-strategy"
    assert alice.post(path, json={"name": "flexibleRollout", "segments": [segment]}).status_code == 200
    since = world.last_event_id()
    refused(alice.delete(f"{PATH}/{segment}"), 409, "ConflictError")
    refused(alice.put(f"{PATH}/{segment}", json=body(project="default")), 409, "ConflictError")
    assert world.events(since) == []
    assert alice.put(f"{PATH}/{segment}", json=body(project=apollo)).status_code == 204
    assert alice.post(path, json={"name": "flexibleRollout"}).status_code == 200
    assert alice.delete(f"{PATH}/{segment}").status_code == 204
