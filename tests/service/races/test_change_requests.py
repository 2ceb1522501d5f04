"""Change requests that are applied or proposed while others change the same flags and segments."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from werkzeug.exceptions import Conflict

from rules import change_request_actions as actions
from sql.database import connect, connection
from tests.support.change_requests import actor_of, apply, change, changes_of, propose
from tests.support.races import wait_for
from tests.support.segments import ASKED, make
from tests.support.wire import watched

PROJECT = "/api/admin/projects/default"
ON = {"enabled": True}


@pytest.fixture
def path(name: str) -> str:
    """The address of the flag in production."""
    return f"{PROJECT}/features/{name}/environments/production"


@pytest.fixture
def user(world, name):
    """A user who proposes and applies."""
    return world.user(name, root_role=1)


@pytest.mark.parametrize("how", ["archived", "strategy", "segment"])
def test_change_during_the_application_is_a_conflict(world, admin, conn, gate, name, path, user, log, how):
    segment, flag = make(admin, name, project="default"), world.flag(name)
    strategy = world.strategy(flag, "production", strategy_id=name)
    before, locked, call, text = {
        "archived": (
            change("updateEnabled", ON, name),
            f"flags WHERE id = {flag}",
            lambda: admin.delete(f"{PROJECT}/features/{name}"),
            "The flag is archived.",
        ),
        "strategy": (
            change("deleteStrategy", {"id": strategy}, name),
            f"flags WHERE id = {flag}",
            lambda: admin.put(f"{path}/strategies/{strategy}", json={"title": "new"}),
            "The strategy was changed after this change was proposed.",
        ),
        "segment": (
            change("deleteSegment", {"id": segment}),
            f"segments WHERE id = {segment}",
            lambda: admin.put(f"/api/admin/segments/{segment}", json={"name": name, "constraints": []}),
            "The segment was changed after this change was proposed.",
        ),
    }[how]
    request = propose(world, user, before)
    with ThreadPoolExecutor(2) as threads:
        with gate.transaction():
            gate.execute(f"SELECT FROM {locked} FOR UPDATE")
            direct = threads.submit(call)
            wait_for(conn, [direct])
            applied = threads.submit(apply, world, user, request)
            wait_for(conn, [direct, applied])
        assert direct.result().status_code < 300
        with pytest.raises(Conflict, match=text):
            applied.result()
    assert [event["created_by"] for event in log() if event["created_by"] == user.email] == []


def test_application_and_a_new_strategy_with_the_segment_do_not_deadlock(world, admin, conn, gate, name, path, user):
    segment = make(admin, name, project="default")
    world.strategy(world.flag(name), "production")
    body = {"id": segment, "name": name, "constraints": [ASKED]}
    request = propose(world, user, change("updateSegment", body), change("updateEnabled", ON, name))
    with ThreadPoolExecutor(2) as threads:
        with gate.transaction():
            gate.execute(f"SELECT FROM segments WHERE id = {segment} FOR UPDATE")
            applied = threads.submit(apply, world, user, request)
            wait_for(conn, [applied])
            direct = threads.submit(admin.post, f"{path}/strategies", json={"name": "default", "segments": [segment]})
            wait_for(conn, [applied, direct])
        applied.result()
        assert direct.result().status_code == 200


@pytest.mark.parametrize("how", ["strategy", "changed strategy", "default strategy"])
def test_segments_are_locked_by_id_also_those_of_strategies(world, admin, conn, gate, project, name, user, how):
    first, second = (make(admin, f"{name}{number}", project=project) for number in (1, 2))
    world.flag(name, project)
    place = project, "production"
    body = {"id": second, "name": f"{name}2", "constraints": [ASKED]}
    default = {"name": "flexibleRollout", "segments": [first]}
    if how == "default strategy":
        path = f"/api/admin/projects/{project}/environments/production/default-strategy"
        assert admin.post(path, json=default).status_code == 200
        last = change("updateEnabled", ON, name)
    elif how == "changed strategy":
        strategies = f"/api/admin/projects/{project}/features/{name}/environments/production/strategies"
        last = change("updateStrategy", {"id": admin.post(strategies, json=default).json["id"], "title": "new"}, name)
    else:
        last = change("addStrategy", default, name)
    request = propose(world, user, change("updateSegment", body), last, place=place)
    with ThreadPoolExecutor(1) as threads:
        with gate.transaction():
            gate.execute(f"SELECT FROM segments WHERE id = {first} FOR UPDATE")
            applied = threads.submit(apply, world, user, request, place)
            wait_for(conn, [applied])
            # The application waits for the first segment and has no lock on the second one.
            gate.execute(f"SELECT FROM segments WHERE id = {second} FOR UPDATE NOWAIT")
        applied.result()


def test_page_shows_a_change_that_replaces_another_while_it_is_read(world, url, conn, gate, name, user):
    world.strategy(world.flag(name), "production", strategy_id=name)
    request = propose(world, user, change("updateStrategy", {"id": name, "title": "new"}, name))
    page = f"/projects/default/change-requests/{request}"
    replace = """
        INSERT INTO change_request_changes (change_request_id, feature_name, flag_id, action, payload, base)
        SELECT change_request_id, feature_name, flag_id, action, payload, base FROM change_request_changes
         WHERE change_request_id = %(id)s;
        DELETE FROM change_request_changes
         WHERE id = (SELECT min(id) FROM change_request_changes WHERE change_request_id = %(id)s);
    """
    with ThreadPoolExecutor(1) as threads, connect(url) as editor, psycopg.ClientCursor(editor) as cursor:
        with editor.transaction():
            with gate.transaction():
                # The page waits for the record of the request, and then for the tags of changes if it reads them again.
                gate.execute("LOCK TABLE change_request_comments")
                shown = threads.submit(user.get, page)
                wait_for(conn, [shown])
                cursor.execute("LOCK TABLE flag_tags")
            wait_for(conn, [shown])
            cursor.execute(replace, {"id": request})
        assert shown.result().status_code == 200


@pytest.mark.parametrize("what", ["project", "environment"])
def test_deletion_and_a_change_of_a_draft_do_not_deadlock(world, queue, project, name, user, what):
    path = f"/api/admin/projects/{project}"
    assert user.post("/api/admin/environments", json={"name": name, "type": "test"}).status_code == 201
    link = {"environment": name, "changeRequestsEnabled": True}
    assert user.post(f"{path}/environments", json=link).status_code == 200
    old = world.flag(name, project, archived_at="now")
    segment = {"action": "deleteSegment", "payload": {"id": make(user, name, project=project)}}
    drafts = f"{path}/environments/{name}/change-requests"
    draft = user.post(drafts, json=segment).json["id"]
    deleted, locked = {
        "project": (path, f"flags WHERE id = {old}"),
        "environment": (f"/api/admin/environments/{name}", f"change_requests WHERE id = {draft}"),
    }[what]
    calls = [lambda: user.delete(deleted), lambda: user.post(drafts, json=segment)]
    first, second = queue(f"SELECT FROM {locked} FOR UPDATE", *calls)
    assert (first.status_code, second.status_code) == (200, 404)


def test_default_strategy_cannot_change_during_the_application(world, admin, conn, gate, project, name, user):
    segment = make(admin, name, project=project)
    world.flag(name, project)
    assert admin.post("/api/admin/context", json={"name": name}).status_code == 201
    body = {"id": segment, "name": name, "constraints": [ASKED | {"contextName": name}]}
    place = project, "production"
    request = propose(world, user, change("updateSegment", body), change("updateEnabled", ON, name), place=place)
    path = f"/api/admin/projects/{project}/environments/production/default-strategy"
    with ThreadPoolExecutor(2) as threads:
        with gate.transaction():
            gate.execute("SELECT FROM context_fields WHERE name = %s FOR UPDATE", [name])
            applied = threads.submit(apply, world, user, request, place)
            wait_for(conn, [applied])
            direct = threads.submit(admin.post, path, json={"name": "flexibleRollout", "parameters": {"rollout": "5"}})
            wait_for(conn, [applied, direct])
        applied.result()
        assert direct.result().status_code == 200
    strategies = admin.get(f"/api/admin/projects/{project}/features/{name}/environments/production/strategies").json
    assert [strategy["parameters"]["rollout"] for strategy in strategies] == ["100"]


def test_proposed_dependency_locks_flags_by_name(world, admin, conn, gate, name, user):
    first, second = f"{name}-a", f"{name}-b"
    parent = world.flag(first)
    world.flag(second)
    with ThreadPoolExecutor(1) as threads:
        with gate.transaction():
            gate.execute(f"SELECT FROM flags WHERE id = {parent} FOR UPDATE")
            proposed = threads.submit(propose, world, user, change("addDependency", {"feature": first}, second))
            wait_for(conn, [proposed])
            # The proposal waits for the first flag and has no lock on the second one.
            assert admin.post(f"{PROJECT}/features/{second}/environments/production/on").status_code == 200
        proposed.result()


def test_proposal_leaves_no_lock_and_no_event(world, admin, app, name, user, log):
    world.flag(name)
    proposed = change("updateEnabled", ON, name)
    with app.app_context(), connection() as own, own.transaction():
        actions.new_change(own, actor_of(world, user), "default", "production", proposed)
        assert log() == []
        assert admin.delete(f"{PROJECT}/features/{name}").status_code == 202


def test_conflicts_of_any_number_of_changes_take_five_statements(world, app, name, user):
    world.strategy(world.flag(name), "production", strategy_id=name)
    request = propose(world, user, *[change("deleteStrategy", {"id": name}, name)] * 20)
    changes, counts = changes_of(world, request), []
    for some in (changes[:1], changes):
        with app.app_context(), watched(world.conn) as wire:
            assert actions.conflicts(world.conn, "default", "production", some) == [None] * len(some)
        counts.append(wire.round_trips)
    assert counts == [5, 5]
