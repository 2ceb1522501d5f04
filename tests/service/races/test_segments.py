"""Segments that are created, changed, deleted and assigned at the same moment, on connections that commit."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from sql.catalog import segments
from sql.database import value
from sql.projects import core as projects
from tests.support import fixtures
from tests.support.races import at_once, statuses, wait_for
from tests.support.segments import PATH, body, curator, make, stored
from tests.support.world import refused


def test_one_of_eight_segments_with_the_same_name_is_created(admin, name, types):
    assert statuses(at_once(*[lambda: admin.post(PATH, json=body(name))] * 8)) == {201: 1, 409: 7}
    assert types() == ["segment-created"]


def test_eight_at_once_keep_the_limit(app, conn, admin, name, monkeypatch):
    most = value(conn, "SELECT count(*) FROM segments") + 2
    monkeypatch.setitem(app.config, "MAX_SEGMENTS", most)
    calls = [lambda number=number: admin.post(PATH, json=body(f"{name} {number}")) for number in range(8)]
    assert statuses(at_once(*calls)) == {201: 2, 400: 6}
    assert value(conn, "SELECT count(*) FROM segments") == most


def test_changes_at_once_are_recorded_one_after_the_other(admin, queue, name, log):
    segment = make(admin, name, description="0")
    changes = [body(name, description=str(number)) for number in range(1, 5)]
    calls = [lambda change=change: admin.put(f"{PATH}/{segment}", json=change) for change in changes]
    assert statuses(queue(f"SELECT FROM segments WHERE id = {segment} FOR UPDATE", *calls)) == {204: 4}
    _, *events = log()
    before = [event["pre_data"]["description"] for event in events]
    assert before == ["0", *(event["data"]["description"] for event in events)][:-1]
    assert len(events) == 4


@pytest.mark.parametrize("change", ["delete", "move"])
def test_a_segment_being_assigned_keeps_its_project(world, admin, conn, gate, name, types, change):
    world.project(name)
    segment = make(admin, name)
    strategy = world.strategy(world.flag(name))
    before = stored(conn, segment)
    calls = {
        "delete": lambda: admin.delete(f"{PATH}/{segment}"),
        "move": lambda: admin.put(f"{PATH}/{segment}", json=body(name, project=name)),
    }
    with ThreadPoolExecutor(1) as thread:
        with gate.transaction():
            assert segments.hold_usable_segments(gate, [segment], "default") == {segment}
            waiting = thread.submit(calls[change])
            wait_for(conn, [waiting])
            fixtures.add_segment(gate, strategy, segment)
        refused(waiting.result(), 409, "ConflictError")
    assert (types(), stored(conn, segment)) == (["segment-created"], before)


@pytest.mark.parametrize(
    "statement", ["DELETE FROM segments WHERE id = {}", "UPDATE segments SET project_id = '{1}' WHERE id = {0}"]
)
def test_a_segment_being_deleted_or_moved_is_not_assigned(world, admin, conn, queue, name, types, statement):
    world.project(name)
    segment = make(admin, name)
    strategy = world.strategy(world.flag(name))
    asked = {"projectId": "default", "environmentId": "development", "strategyId": strategy, "segmentIds": [segment]}
    [answer] = queue(statement.format(segment, name), lambda: admin.post(f"{PATH}/strategies", json=asked))
    refused(answer)
    assert types() == ["segment-created"]
    assert value(conn, "SELECT count(*) FROM strategy_segments WHERE strategy_id = %(id)s", {"id": strategy}) == 0


def test_a_segment_that_moves_to_a_hidden_project_is_not_found(world, conn, queue):
    world.project("closed", mode="private")
    carla = curator(world, "default")
    segment = segments.insert(conn, "Hidden meanwhile", [], project="default")
    statement = f"UPDATE segments SET project_id = 'closed' WHERE id = {segment}"
    [answer] = queue(statement, lambda: carla.delete(f"{PATH}/{segment}"))
    refused(answer, 404, "NotFoundError")


@pytest.mark.parametrize("change", ["create", "move"])
def test_a_project_being_deleted_gets_no_segment(admin, queue, project, types, change):
    segment = make(admin, f"{project}, made before")
    calls = {
        "create": lambda: admin.post(PATH, json=body(project, project=project)),
        "move": lambda: admin.put(f"{PATH}/{segment}", json=body(project, project=project)),
    }
    [answer] = queue(f"DELETE FROM projects WHERE id = '{project}'", calls[change])
    assert refused(answer) == "project: must be an existing project"
    assert types() == ["segment-created"]


def test_changing_a_segment_does_not_deadlock_with_its_project(admin, conn, queue, project):
    segment = make(admin, project, project=project)
    change = body(project, project=project, description="Still there")
    answers = queue(
        f"SELECT FROM projects WHERE id = '{project}' FOR UPDATE",
        lambda: admin.delete(f"/api/admin/projects/{project}"),
        lambda: admin.put(f"{PATH}/{segment}", json=change),
    )
    assert [answer.status_code for answer in answers] == [200, 204]
    assert stored(conn, segment) == {}


@pytest.mark.parametrize("first", ["flag", "segment"])
def test_a_flag_and_its_segment_stay_in_one_project(world, admin, conn, queue, name, first):
    old, new = world.project(f"{name}-old"), world.project(f"{name}-new", feature_limit=9)
    segment = make(admin, name)
    fixtures.add_segment(conn, world.strategy(world.flag(name, old)), segment)
    move = f"/api/admin/projects/{old}/features/{name}/changeProject"
    calls = [
        lambda: admin.post(move, json={"newProjectId": new}),
        lambda: admin.put(f"{PATH}/{segment}", json=body(name, project=old)),
    ]
    # The flag waits where its new project is counted, the segment where its new project is locked: both have looked at
    # each other by then.
    lock = {"flag": projects.LOCK_COUNT, "segment": "SELECT FROM projects WHERE id = %(old)s FOR UPDATE"}[first]
    winner, loser = queue(lock, *(calls if first == "flag" else calls[::-1]), params={"project": new, "old": old})
    assert winner.status_code == {"flag": 200, "segment": 204}[first]
    refused(loser, 409, "ConflictError")
