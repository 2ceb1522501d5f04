"""Changes of flags at once, on connections that commit: one winner, no deadlock, and no more than the limits allow."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from serving import clock
from sql import limits
from sql.catalog import tag_types
from sql.database import rows, value
from tests.support.races import at_once, statuses

ADMIN = "/api/admin"


@pytest.fixture
def path(project):
    """Where the flags of the project are."""
    return f"{ADMIN}/projects/{project}/features"


def live(conn, project):
    """How many live flags a project has."""
    return value(conn, "SELECT count(*) FROM flags WHERE project_id = %(id)s AND archived_at IS NULL", {"id": project})


def test_one_of_eight_creations_and_deletions_of_a_flag_succeeds(admin, conn, project, path, types):
    assert statuses(at_once(*[lambda: admin.post(path, json={"name": project})] * 8)) == {201: 1, 409: 7}
    assert live(conn, project) == 1
    assert admin.delete(f"{path}/{project}").status_code == 202
    assert statuses(at_once(*[lambda: admin.delete(f"{ADMIN}/archive/{project}")] * 8)) == {200: 1, 404: 7}
    assert types() == ["feature-created", "feature-archived", "feature-deleted"]


def test_created_copied_moved_and_revived_flags_keep_the_limit_of_a_project(world, admin, conn, project, path):
    conn.execute("UPDATE projects SET feature_limit = 3 WHERE id = %s", [project])
    other = world.project(f"{project}-other")
    world.flag(f"{project}-source", project)
    calls = []
    for n in range(2):
        world.flag(f"{project}-mover-{n}", other)
        world.flag(f"{project}-gone-{n}", project, archived_at=value(conn, "SELECT now()"))
        moved = f"{ADMIN}/projects/{other}/features/{project}-mover-{n}/changeProject"
        calls += [
            lambda n=n: admin.post(path, json={"name": f"{project}-new-{n}"}),
            lambda n=n: admin.post(f"{path}/{project}-source/clone", json={"name": f"{project}-copy-{n}"}),
            lambda moved=moved: admin.post(moved, json={"newProjectId": project}),
            lambda n=n: admin.post(f"{ADMIN}/archive/revive/{project}-gone-{n}"),
        ]
    counted = statuses(at_once(*calls))
    assert (counted[200] + counted[201], counted[409]) == (2, 6)
    assert live(conn, project) == 3


def test_two_lists_in_opposite_orders_do_not_deadlock(world, admin, project):
    names = [f"{project}-{number}" for number in range(20)]
    for name in names:
        world.flag(name, project)
    path = f"{ADMIN}/projects/{project}"
    for _ in range(3):
        answers = at_once(
            *[lambda: admin.post(f"{path}/archive", json={"features": names})] * 2,
            *[lambda: admin.post(f"{path}/revive", json={"features": names[::-1]})] * 2,
        )
        assert statuses(answers) == {202: 2, 200: 2}


def test_concurrent_tags_are_recorded_in_order(admin, flag, log):
    path = f"{ADMIN}/features/{flag}/tags"
    calls = [lambda n=n: admin.post(path, json={"type": "simple", "value": f"tag-{n % 4}"}) for n in range(8)]
    assert statuses(at_once(*calls)) == {201: 8}
    tagged = [event for event in log() if event["type"] == "feature-tagged"]
    assert sorted(len(event["tags"]) for event in tagged) == [1, 2, 3, 4]
    assert all(event["data"] in event["tags"] for event in tagged)


def test_no_flag_is_created_in_a_project_being_archived(admin, conn, queue, project, path, types):
    archive = f"UPDATE projects SET archived_at = now() WHERE id = '{project}'"
    assert statuses(queue(archive, lambda: admin.post(path, json={"name": project}))) == {404: 1}
    assert (types(), live(conn, project)) == ([], 0)


def test_changes_to_different_fields_are_all_kept(world, admin, conn, project, path, types):
    world.flag(project, project)
    changes = [{"description": "d"}, {"type": "experiment"}, {"impressionData": True}, {"stale": True}]
    answers = at_once(*[lambda change=change: admin.put(f"{path}/{project}", json=change) for change in changes])
    assert statuses(answers) == {200: 4}
    columns = "description, type, impression_data, stale_since IS NOT NULL AS stale"
    assert rows(conn, f"SELECT {columns} FROM flags WHERE name = %(name)s", {"name": project}) == [
        {"description": "d", "type": "experiment", "impression_data": True, "stale": True}
    ]
    assert len(types()) == 4


def test_a_tag_whose_type_is_being_deleted_is_refused(admin, conn, queue, flag, types):
    tag_types.insert(conn, flag[:50], "")
    gone = f"DELETE FROM tag_types WHERE name = '{flag[:50]}'"
    tag = {"type": flag[:50], "value": "beta"}
    assert statuses(queue(gone, lambda: admin.post(f"{ADMIN}/features/{flag}/tags", json=tag))) == {400: 1}
    assert types() == []


@pytest.mark.parametrize(("other", "status"), [("archive", 409), ("clone", 201)])
def test_a_clone_waits_for_a_change_of_its_parent(world, admin, conn, queue, project, path, other, status):
    parent, child = f"{project}-a", f"{project}-b"
    ids = (world.flag(child, project), world.flag(parent, project))
    conn.execute("INSERT INTO flag_dependencies (child_id, parent_id) VALUES (%s, %s)", ids)
    archived = {"features": [parent, child]}
    seconds = {
        "archive": lambda: admin.post(f"{ADMIN}/projects/{project}/archive", json=archived),
        "clone": lambda: admin.post(f"{path}/{parent}/clone", json={"name": f"{parent}-copy"}),
    }
    answers = queue(
        limits.LOCK,
        lambda: admin.post(f"{path}/{child}/clone", json={"name": f"{child}-copy"}),
        seconds[other],
        params={"setting": "MAX_FLAGS"},
    )
    assert [answer.status_code for answer in answers] == [201, status]


def test_the_newest_event_agrees_with_the_flag(world, admin, conn, project, path):
    world.flag(project, project)
    newest = """
        SELECT data ->> 'description'
          FROM events
         WHERE feature_name = %(name)s
           AND type = 'feature-metadata-updated'
         ORDER BY created_at DESC, id DESC
         LIMIT 1
    """
    for _ in range(40):
        changes = [{"description": uuid4().hex} for _ in range(4)]
        answers = at_once(*[lambda change=change: admin.put(f"{path}/{project}", json=change) for change in changes])
        assert statuses(answers) == {200: 4}
        kept = value(conn, "SELECT description FROM flags WHERE name = %(name)s", {"name": project})
        assert value(conn, newest, {"name": project}) == kept


def test_events_are_dated_when_they_are_written_in_whole_milliseconds(admin, conn, project, path, log):
    before = value(conn, "SELECT date_trunc('milliseconds', clock_timestamp())")
    for number in range(20):
        assert admin.post(path, json={"name": f"{project}-{number}"}).status_code == 201
    after = value(conn, "SELECT clock_timestamp()")
    dates = [event["created_at"] for event in log()]
    assert len(dates) == 20
    assert dates == sorted(dates)
    assert {at.microsecond % 1000 for at in dates} == {0}
    assert before <= dates[0] <= dates[-1] <= after


def test_workers_record_once_that_a_flag_is_too_old(app, world, gate, project, types):
    def run_jobs():
        with app.app_context():
            clock.run_jobs()

    world.flag(project, project, created_at=datetime.now(UTC) - timedelta(days=41))
    with gate.transaction():
        gate.execute("SELECT FROM flags WHERE name = %s FOR UPDATE", [project])
        run_jobs()
        assert types() == []
    at_once(run_jobs, run_jobs)
    assert types() == ["feature-potentially-stale-on"]
