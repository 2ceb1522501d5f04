"""Segments: made, changed, deleted and given at the same moment. On real connections that commit."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from sql.database import value
from sql.projects import core as projects
from sql.vocabulary import segments
from tests.support import fixtures
from tests.support.races import at_once, at_the_gate, wait_for
from tests.support.segments import PATH, body, curator, make, stored
from tests.support.world import World, refused


def test_one_of_eight_segments_with_the_same_name_is_created(world):
    admin = world.api_key()
    since = world.last_event_id()
    answers = at_once(*[lambda: admin.post(PATH, json=body("The one"))] * 8)
    assert sorted(answer.status_code for answer in answers) == [201] + [409] * 7
    assert [row["type"] for row in world.events(since)] == ["segment-created"]


def test_eight_at_once_do_not_pass_the_limit(world, make_app, url):
    most = value(world.conn, "SELECT count(*) FROM segments") + 2
    world = World(make_app(url, MAX_SEGMENTS=most), world.conn)
    admin = world.api_key()
    calls: list[Callable] = [
        lambda number=number: admin.post(PATH, json=body(f"Of eight {number}")) for number in range(8)
    ]
    assert sorted(answer.status_code for answer in at_once(*calls)) == [201] * 2 + [400] * 6
    assert value(world.conn, "SELECT count(*) FROM segments") == most


def test_changes_at_once_are_recorded_one_after_the_other(world, gate):
    admin = world.api_key()
    segment = make(admin, "Many times changed", description="0")
    calls: list[Callable] = [
        lambda number=number: admin.put(f"{PATH}/{segment}", json=body("Many times changed", description=str(number)))
        for number in range(1, 5)
    ]
    since = world.last_event_id()
    at_the_gate(world.conn, gate, f"SELECT FROM segments WHERE id = {segment} FOR UPDATE", *calls)
    log = world.events(since)
    assert [row["pre_data"]["description"] for row in log] == ["0", *(row["data"]["description"] for row in log)][:-1]
    assert len(log) == 4


@pytest.mark.parametrize("change", ["delete", "move"])
def test_a_segment_that_is_assigned_meanwhile_keeps_its_project(world, gate, change):
    admin = world.api_key()
    world.project(f"other-{change}")
    segment = make(admin, f"Given before {change}")
    strategy = world.strategy(world.flag(f"given-{change}"))
    since, before = world.last_event_id(), stored(world.conn, segment)
    calls = {
        "delete": lambda: admin.delete(f"{PATH}/{segment}"),
        "move": lambda: admin.put(f"{PATH}/{segment}", json=body(f"Given before {change}", project=f"other-{change}")),
    }
    with ThreadPoolExecutor(1) as thread:
        with gate.transaction():
            assert segments.share_usable_segments(gate, [segment], "default") == {segment}
            waiting = thread.submit(calls[change])
            wait_for(world.conn, [waiting])
            fixtures.add_segment(gate, strategy, segment)
        refused(waiting.result(), 409, "ConflictError")
    assert (world.events(since), stored(world.conn, segment)) == ([], before)


@pytest.mark.parametrize("change", ["delete", "move"])
def test_a_segment_that_goes_meanwhile_is_not_given(world, gate, change):
    admin = world.api_key()
    world.project(f"new-{change}")
    segment = make(admin, f"Gone by {change}")
    strategy = world.strategy(world.flag(f"gone-{change}"))
    body = {"projectId": "default", "environmentId": "development", "strategyId": strategy, "segmentIds": [segment]}
    statements = {
        "delete": f"DELETE FROM segments WHERE id = {segment}",
        "move": f"UPDATE segments SET project_id = 'new-{change}' WHERE id = {segment}",
    }
    since = world.last_event_id()
    [answer] = at_the_gate(world.conn, gate, statements[change], lambda: admin.post(f"{PATH}/strategies", json=body))
    refused(answer)
    assert world.events(since) == []
    assert value(world.conn, "SELECT count(*) FROM strategy_segments WHERE strategy_id = %(id)s", {"id": strategy}) == 0


def test_a_segment_that_moves_to_a_hidden_project_meanwhile_is_not_seen(world, gate):
    world.project("closed", mode="private")
    carla = curator(world, "default")
    segment = segments.insert(world.conn, "Hidden meanwhile", [], project="default")
    statement = f"UPDATE segments SET project_id = 'closed' WHERE id = {segment}"
    [answer] = at_the_gate(world.conn, gate, statement, lambda: carla.delete(f"{PATH}/{segment}"))
    refused(answer, 404, "NotFoundError")


@pytest.mark.parametrize("change", ["make", "move"])
def test_a_project_under_deletion_gets_no_segment(world, gate, change):
    admin, name = world.api_key(), f"Of a brief {change}"
    world.project(f"brief-{change}")
    segment = make(admin, f"{name}, made before")
    since = world.last_event_id()
    calls: dict[str, Callable] = {
        "make": lambda: admin.post(PATH, json=body(name, project=f"brief-{change}")),
        "move": lambda: admin.put(f"{PATH}/{segment}", json=body(name, project=f"brief-{change}")),
    }
    [answer] = at_the_gate(world.conn, gate, f"DELETE FROM projects WHERE id = 'brief-{change}'", calls[change])
    assert refused(answer) == "project: must be an existing project"
    assert world.events(since) == []


def test_changing_a_segment_does_not_deadlock_with_its_project(world, gate):
    admin = world.api_key()
    world.project("doomed")
    segment = make(admin, "Of the doomed", project="doomed")
    with ThreadPoolExecutor(2) as threads:
        with gate.transaction():
            gate.execute("SELECT FROM projects WHERE id = 'doomed' FOR UPDATE")
            deletion = threads.submit(admin.delete, "/api/admin/projects/doomed")
            wait_for(world.conn, [deletion])
            change = threads.submit(
                admin.put, f"{PATH}/{segment}", json=body("Of the doomed", project="doomed", description="Still there")
            )
            wait_for(world.conn, [deletion, change])
        assert (deletion.result().status_code, change.result().status_code) == (200, 204)
    assert stored(world.conn, segment) == {}


@pytest.mark.parametrize("first", ["flag", "segment"])
def test_a_flag_and_its_segment_do_not_part(world, gate, first):
    admin = world.api_key()
    old, new, name = f"old-{first}", f"new-{first}", f"Stays with a {first}"
    world.project(old)
    world.project(new, feature_limit=9)
    segment = make(admin, name)
    fixtures.add_segment(world.conn, world.strategy(world.flag(f"goes-{first}", old)), segment)
    calls: dict[str, Callable] = {
        "flag": lambda: admin.post(
            f"/api/admin/projects/{old}/features/goes-{first}/changeProject", json={"newProjectId": new}
        ),
        "segment": lambda: admin.put(f"{PATH}/{segment}", json=body(name, project=old)),
    }
    # The flag waits where its new project is counted, the segment where its new project is held: both have looked at
    # each other by then.
    gates = {
        "flag": projects.LOCK_COUNT,
        "segment": f"SELECT FROM projects WHERE id = '{old}' FOR UPDATE",
    }
    with ThreadPoolExecutor(2) as threads:
        with gate.transaction():
            gate.execute(gates[first], {"project": new})
            waiting = [threads.submit(calls[first])]
            wait_for(world.conn, waiting)
            waiting.append(threads.submit(calls["segment" if first == "flag" else "flag"]))
            wait_for(world.conn, waiting)
        winner, loser = (call.result() for call in waiting)
    assert winner.status_code == {"flag": 200, "segment": 204}[first]
    refused(loser, 409, "ConflictError")
