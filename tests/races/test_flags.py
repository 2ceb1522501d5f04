"""Changes of flags at once, on connections that commit: one winner, no deadlock, and no more than the limits allow."""

from concurrent.futures import Future, ThreadPoolExecutor
from uuid import uuid4

import pytest

from sql import limits
from sql.database import Connection, rows, value
from sql.vocabulary import tag_types
from tests.support.races import at_once, at_the_gate, statuses, wait_for
from tests.support.world import Caller, World

FLAGS = "/api/admin/projects/{}/features"


@pytest.fixture
def project(world: World) -> str:
    """A project of this race's own."""
    return world.project(f"race-{uuid4().hex}")


def live(conn: Connection, project: str) -> int:
    """How many live flags a project has."""
    return value(conn, "SELECT count(*) FROM flags WHERE project_id = %(id)s AND archived_at IS NULL", {"id": project})


def test_one_of_eight_flags_with_the_same_name_is_created(
    world: World, admin: Caller, conn: Connection, project: str
) -> None:
    since = world.last_event_id()
    answers = at_once(*[lambda: admin.post(FLAGS.format(project), json={"name": project})] * 8)
    assert statuses(answers) == {201: 1, 409: 7}
    assert [event["type"] for event in world.events(since)] == ["feature-created"]
    assert live(conn, project) == 1


def test_a_full_project_stays_so_whichever_way_flags_come(
    world: World, admin: Caller, conn: Connection, project: str
) -> None:
    conn.execute("UPDATE projects SET feature_limit = 3 WHERE id = %s", [project])
    other = world.project(f"{project}-other")
    world.flag(f"{project}-source", project)
    for number in range(2):
        world.flag(f"{project}-mover-{number}", other)
        world.flag(f"{project}-gone-{number}", project, archived_at=value(conn, "SELECT now()"))
    answers = at_once(
        *[lambda n=n: admin.post(FLAGS.format(project), json={"name": f"{project}-new-{n}"}) for n in range(2)],
        *[
            lambda n=n: admin.post(
                f"{FLAGS.format(project)}/{project}-source/clone", json={"name": f"{project}-copy-{n}"}
            )
            for n in range(2)
        ],
        *[
            lambda n=n: admin.post(
                f"{FLAGS.format(other)}/{project}-mover-{n}/changeProject", json={"newProjectId": project}
            )
            for n in range(2)
        ],
        *[lambda n=n: admin.post(f"/api/admin/archive/revive/{project}-gone-{n}") for n in range(2)],
    )
    counted = statuses(answers)
    assert counted[200] + counted[201] == 2
    assert counted[409] == 6
    assert live(conn, project) == 3


def test_two_lists_in_opposite_orders_do_not_wait_for_each_other(world: World, admin: Caller, project: str) -> None:
    names = [f"{project}-{number}" for number in range(20)]
    for name in names:
        world.flag(name, project)
    path = f"/api/admin/projects/{project}"
    for _ in range(3):
        answers = at_once(
            *[lambda: admin.post(f"{path}/archive", json={"features": names})] * 2,
            *[lambda: admin.post(f"{path}/revive", json={"features": names[::-1]})] * 2,
        )
        assert statuses(answers) == {202: 2, 200: 2}


def test_concurrent_tags_are_recorded_in_order(world: World, admin: Caller, project: str) -> None:
    world.flag(project, project)
    since = world.last_event_id()
    path = f"/api/admin/features/{project}/tags"
    answers = at_once(
        *[lambda n=n: admin.post(path, json={"type": "simple", "value": f"tag-{n % 4}"}) for n in range(8)]
    )
    assert statuses(answers) == {201: 8}
    tagged = [event for event in world.events(since) if event["type"] == "feature-tagged"]
    assert sorted(len(event["tags"]) for event in tagged) == [1, 2, 3, 4]
    assert all(event["data"] in event["tags"] for event in tagged)


def test_a_flag_is_not_made_in_a_project_that_is_archived_meanwhile(
    world: World, admin: Caller, conn: Connection, gate: Connection, project: str
) -> None:
    since = world.last_event_id()
    archive = f"UPDATE projects SET archived_at = now() WHERE id = '{project}'"
    answers = at_the_gate(conn, gate, archive, lambda: admin.post(FLAGS.format(project), json={"name": project}))
    assert statuses(answers) == {404: 1}
    assert world.events(since) == []
    assert live(conn, project) == 0


def test_one_of_eight_deletions_of_a_flag_succeeds(world: World, admin: Caller, conn: Connection, project: str) -> None:
    world.flag(project, project, archived_at=value(conn, "SELECT now()"))
    since = world.last_event_id()
    assert statuses(at_once(*[lambda: admin.delete(f"/api/admin/archive/{project}")] * 8)) == {200: 1, 404: 7}
    assert [event["type"] for event in world.events(since)] == ["feature-deleted"]


def test_changes_to_different_fields_at_once_are_all_kept(
    world: World, admin: Caller, conn: Connection, project: str
) -> None:
    world.flag(project, project)
    since = world.last_event_id()
    changes = [{"description": "d"}, {"type": "experiment"}, {"impressionData": True}, {"stale": True}]
    answers = at_once(
        *[lambda change=change: admin.put(f"{FLAGS.format(project)}/{project}", json=change) for change in changes]
    )
    assert statuses(answers) == {200: 4}
    columns = "description, type, impression_data, stale_since IS NOT NULL AS stale"
    assert rows(conn, f"SELECT {columns} FROM flags WHERE name = %(name)s", {"name": project}) == [
        {"description": "d", "type": "experiment", "impression_data": True, "stale": True}
    ]
    assert len(world.events(since)) == 4


def test_no_copy_comes_to_depend_on_a_flag_that_is_archived_meanwhile(
    world: World, admin: Caller, conn: Connection, project: str
) -> None:
    names = [f"{project}-parent", f"{project}-child"]
    orphans = """
        SELECT count(*)
          FROM flag_dependencies
          JOIN flags AS children ON children.id = child_id
          JOIN flags AS parents ON parents.id = parent_id
         WHERE children.archived_at IS NULL
           AND parents.archived_at IS NOT NULL
    """
    parent, child = (world.flag(name, project) for name in names)
    conn.execute("INSERT INTO flag_dependencies (child_id, parent_id) VALUES (%s, %s)", [child, parent])
    for number in range(5):
        copy = {"name": f"{project}-copy-{number}"}
        cloned, archived = at_once(
            lambda copy=copy: admin.post(f"{FLAGS.format(project)}/{project}-child/clone", json=copy),
            lambda: admin.post(f"/api/admin/projects/{project}/archive", json={"features": names}),
        )
        assert (cloned.status_code, archived.status_code) in ((201, 409), (404, 202))
        assert value(conn, orphans) == 0
        if cloned.status_code == 404:
            break
        assert admin.delete(f"{FLAGS.format(project)}/{copy['name']}").status_code == 202


def test_a_tag_is_not_put_on_when_its_type_goes_meanwhile(
    world: World, admin: Caller, conn: Connection, gate: Connection, project: str
) -> None:
    world.flag(project, project)
    tag_types.insert(conn, project[:50], "")
    since = world.last_event_id()
    tag = {"type": project[:50], "value": "beta"}
    gone = f"DELETE FROM tag_types WHERE name = '{project[:50]}'"
    answers = at_the_gate(conn, gate, gone, lambda: admin.post(f"/api/admin/features/{project}/tags", json=tag))
    assert statuses(answers) == {400: 1}
    assert world.events(since) == []


@pytest.mark.parametrize("other", ["archive", "clone"])
def test_a_clone_waits_for_a_change_of_its_parent(
    world: World, admin: Caller, conn: Connection, gate: Connection, project: str, other: str
) -> None:
    parent, child = f"{project}-a", f"{project}-b"
    ids = (world.flag(child, project), world.flag(parent, project))
    conn.execute("INSERT INTO flag_dependencies (child_id, parent_id) VALUES (%s, %s)", ids)
    clone = [
        lambda name=name: admin.post(f"{FLAGS.format(project)}/{name}/clone", json={"name": f"{name}-copy"})
        for name in (child, parent)
    ]
    archive = [
        clone[0],
        lambda: admin.post(f"/api/admin/projects/{project}/archive", json={"features": [parent, child]}),
    ]
    with ThreadPoolExecutor(2) as threads:
        futures: list[Future] = []
        with gate.transaction():
            gate.execute(limits.LOCK, {"setting": "MAX_FLAGS"})
            for call in {"archive": archive, "clone": clone}[other]:
                futures.append(threads.submit(call))
                wait_for(conn, futures)
        answers = [future.result() for future in futures]
    assert [answer.status_code for answer in answers] == [201, {"archive": 409, "clone": 201}[other]]


def test_the_newest_event_agrees_with_the_flag_after_changes_at_once(
    world: World, admin: Caller, conn: Connection, project: str
) -> None:
    name = f"{project}-flag"
    world.flag(name, project)
    newest = """
        SELECT data ->> 'description'
          FROM events
         WHERE feature_name = %(name)s
           AND type = 'feature-metadata-updated'
         ORDER BY created_at DESC, id DESC
         LIMIT 1
    """
    for _ in range(40):
        texts = [uuid4().hex for _ in range(4)]
        answers = at_once(
            *[
                lambda text=text: admin.put(f"{FLAGS.format(project)}/{name}", json={"description": text})
                for text in texts
            ]
        )
        assert statuses(answers) == {200: 4}
        kept = value(conn, "SELECT description FROM flags WHERE name = %(name)s", {"name": name})
        assert value(conn, newest, {"name": name}) == kept


def test_events_are_dated_when_they_are_written_in_whole_milliseconds(
    admin: Caller, conn: Connection, project: str
) -> None:
    before = value(conn, "SELECT date_trunc('milliseconds', clock_timestamp())")
    for number in range(20):
        assert admin.post(FLAGS.format(project), json={"name": f"{project}-{number}"}).status_code == 201
    after = value(conn, "SELECT clock_timestamp()")
    dates = [
        row["created_at"]
        for row in rows(conn, "SELECT created_at FROM events WHERE project = %s ORDER BY id", [project])
    ]
    assert dates == sorted(dates)
    assert [at.microsecond % 1000 for at in dates] == [0] * len(dates)
    assert before <= dates[0] <= dates[-1] <= after
