"""Simultaneous changes of projects, on real connections that commit: one order, and exactly the events of it."""

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from sql.database import Connection, rows, value
from sql.flags import favorites as flag_favorites
from sql.people import groups
from sql.projects import favorites as project_favorites
from sql.tokens import api_tokens
from tests.support import fixtures
from tests.support.races import Call, at_once, at_the_gate, statuses, wait_for
from tests.support.world import Caller, World

PATH = "/api/admin/projects"


def recorded(conn: Connection, project: str) -> list[str]:
    """The types of the events of a project, oldest first."""
    return [
        row["type"] for row in rows(conn, "SELECT type FROM events WHERE project = %(p)s ORDER BY id", {"p": project})
    ]


def live(conn: Connection) -> int:
    """How many projects are live."""
    return value(conn, "SELECT count(*) FROM projects WHERE archived_at IS NULL")


def test_an_id_is_taken_once(conn: Connection, admin: Caller, name: str) -> None:
    answers = at_once(*[lambda: admin.post(PATH, json={"name": "A", "id": name})] * 6)
    assert statuses(answers) == {201: 1, 409: 5}
    assert recorded(conn, name) == ["project-created"]


def test_ids_that_are_made_of_one_name_differ(conn: Connection, admin: Caller, name: str) -> None:
    answers = at_once(*[lambda: admin.post(PATH, json={"name": name})] * 6)
    assert statuses(answers) == {201: 6}
    assert {answer.json["id"] for answer in answers} == {name, *(f"{name}-{number}" for number in range(1, 6))}
    assert all(recorded(conn, answer.json["id"]) == ["project-created"] for answer in answers)


def test_the_last_place_is_taken_once_by_a_new_project_or_a_revived_one(
    conn: Connection, app: Flask, world: World, admin: Caller, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = [world.project(f"{name}-old-{number}", archived_at="2026-01-01T00:00:00Z") for number in range(3)]
    before = live(conn)
    monkeypatch.setitem(app.config, "MAX_PROJECTS", before + 1)
    calls = [lambda id=id: admin.post(f"{PATH}/revive/{id}") for id in old]
    calls += [lambda number=number: admin.post(PATH, json={"name": f"{name} {number}"}) for number in range(3)]
    answers = statuses(at_once(*calls))
    assert (answers[200] + answers[201], answers[400]) == (1, 5)
    assert live(conn) == before + 1


def test_two_changes_of_different_fields_both_hold(
    conn: Connection, gate: Connection, world: World, admin: Caller, name: str
) -> None:
    world.project(name)
    calls = [
        lambda: admin.put(f"{PATH}/{name}", json={"name": "Another"}),
        lambda: admin.put(f"{PATH}/{name}/settings", json={"featureLimit": 3}),
    ]
    answers = at_the_gate(conn, gate, f"SELECT FROM projects WHERE id = '{name}' FOR UPDATE", *calls)
    assert statuses(answers) == {200: 2}
    [row] = rows(conn, "SELECT name, feature_limit FROM projects WHERE id = %(id)s", {"id": name})
    assert row == {"name": "Another", "feature_limit": 3}
    first, second = rows(conn, "SELECT data, pre_data FROM events WHERE project = %(p)s ORDER BY id", {"p": name})
    assert first["data"] == second["pre_data"]


END: list[tuple[str, str]] = [("POST", f"{PATH}/archive/{{}}"), ("DELETE", f"{PATH}/{{}}")]


@pytest.mark.parametrize(("method", "path"), END)
def test_a_project_in_which_a_flag_is_being_made_stays(
    conn: Connection, gate: Connection, world: World, admin: Caller, name: str, method: str, path: str
) -> None:
    world.project(name)
    making = f"""
        WITH held AS (SELECT FROM projects WHERE id = '{name}' FOR SHARE)
        INSERT INTO flags (name, project_id) SELECT '{name}', '{name}' FROM held"""
    answers = at_the_gate(conn, gate, making, lambda: admin.request(method, path.format(name)))
    assert statuses(answers) == {409: 1}
    assert recorded(conn, name) == []


@pytest.mark.parametrize(("method", "path"), END)
def test_a_project_in_which_a_flag_is_being_revived_stays(
    conn: Connection, gate: Connection, world: World, admin: Caller, name: str, method: str, path: str
) -> None:
    world.flag(name, world.project(name), archived_at="2026-01-01T00:00:00Z")
    reviving = f"UPDATE flags SET archived_at = NULL WHERE name = '{name}'"
    answers = at_the_gate(conn, gate, reviving, lambda: admin.request(method, path.format(name)))
    assert statuses(answers) == {409: 1}
    assert recorded(conn, name) == []


@pytest.mark.parametrize(("method", "path"), END)
def test_a_project_ends_once(
    conn: Connection, gate: Connection, world: World, admin: Caller, name: str, method: str, path: str
) -> None:
    world.flag(name, world.project(name), archived_at="2026-01-01T00:00:00Z")
    calls = [lambda: admin.request(method, path.format(name))] * 5
    answers = at_the_gate(conn, gate, f"SELECT FROM projects WHERE id = '{name}' FOR UPDATE", *calls)
    assert statuses(answers) == ({200: 5} if method == "POST" else {200: 1, 404: 4})
    assert recorded(conn, name) == (
        ["project-archived"] if method == "POST" else ["feature-deleted", "project-deleted"]
    )


def test_a_token_of_two_deleted_projects_is_not_for_all(
    conn: Connection, gate: Connection, world: World, admin: Caller, name: str
) -> None:
    projects = [world.project(f"{name}-{letter}") for letter in "ab"]
    key = api_tokens.insert(
        conn, api_tokens.generate("[]"), name=name, kind="client", environment="production", projects=projects
    )
    calls = [lambda project=project: admin.delete(f"{PATH}/{project}") for project in projects]
    # Both have looked who else has the key, or one waits for the other.
    answers = at_the_gate(conn, gate, f"SELECT FROM api_key_projects WHERE api_key_id = {key} FOR UPDATE", *calls)
    assert statuses(answers) == {200: 2}
    assert rows(conn, "SELECT FROM api_keys WHERE id = %(id)s", {"id": key}) == []
    logs = [recorded(conn, project) for project in projects]
    assert sorted(logs) == [["api-token-deleted", "project-deleted"], ["project-deleted"]]


def test_an_environment_that_is_being_deleted_is_linked_to_no_new_project(
    conn: Connection, gate: Connection, admin: Caller, name: str
) -> None:
    conn.execute("INSERT INTO environments (name, type, sort_order) VALUES (%s, 'test', 9)", [name])
    calls: list[Any] = [
        lambda: admin.post(PATH, json={"name": "A", "id": f"{name}-a", "environments": [name]}),
        lambda: admin.post(PATH, json={"name": "B", "id": f"{name}-b"}),
    ]
    answers = at_the_gate(conn, gate, f"DELETE FROM environments WHERE name = '{name}'", *calls)
    assert [answer.status_code for answer in answers] == [400, 201]
    assert answers[1].json["environments"] == ["development", "production"]


def test_a_project_that_is_being_deleted_is_nobodys_favourite(
    conn: Connection, gate: Connection, world: World, name: str
) -> None:
    world.project(name)
    user = world.user(name)
    deleting = f"DELETE FROM projects WHERE id = '{name}'"
    [answer] = at_the_gate(conn, gate, deleting, lambda: user.post(f"{PATH}/{name}/favorites"))
    assert answer.status_code == 200
    assert recorded(conn, name) == []
    assert project_favorites.add(conn, user.id or 0, name) is False


@pytest.mark.parametrize("end", ["archive", "delete"])
def test_deleting_a_project_never_deadlocks_with_its_changes(
    world: World, admin: Caller, conn: Connection, gate: Connection, name: str, end: str
) -> None:
    world.project(name)
    world.flag(name, name)
    created = admin.post("/api/admin/segments", json={"name": name, "constraints": []})
    segment = {"name": name, "constraints": [], "project": name}
    calls = [
        lambda: admin.post(
            f"{PATH}/{name}/features/{name}/environments/production/strategies",
            json={"name": "default", "segments": [created.json["id"]]},
        ),
        lambda: admin.delete(f"{PATH}/{name}") if end == "delete" else admin.post(f"{PATH}/archive/{name}"),
        lambda: admin.put(f"/api/admin/segments/{created.json['id']}", json=segment),
    ]
    with ThreadPoolExecutor(len(calls)) as threads:
        futures: list[Future] = []
        with gate.transaction():
            # The strategy comes as far as its type, with the flag in its hand; the second then waits for that flag.
            gate.execute("SELECT FROM strategy_types WHERE name = 'default' FOR UPDATE")
            for call in calls:
                futures.append(threads.submit(call))
                wait_for(conn, futures)
        answers = [future.result() for future in futures]
    assert [answer.status_code for answer in answers] == [200, 409, 204]


def test_a_token_for_a_project_being_deleted_is_refused(
    world: World, admin: Caller, conn: Connection, gate: Connection, name: str
) -> None:
    world.project(name)
    segment = value(
        conn, "INSERT INTO segments (name, project_id) VALUES (%(name)s, %(name)s) RETURNING id", {"name": name}
    )
    strategy = world.strategy(world.flag(name))
    conn.execute("INSERT INTO strategy_segments VALUES (%s, %s)", [strategy, segment])
    key = {"type": "client", "tokenName": name, "environment": "development", "projects": [name]}
    with ThreadPoolExecutor(2) as threads:
        with gate.transaction():
            # The last that is looked at before the project itself, when its keys are gone.
            gate.execute("SELECT FROM strategy_segments WHERE strategy_id = %s FOR UPDATE", [strategy])
            deleted = threads.submit(lambda: admin.delete(f"{PATH}/{name}"))
            wait_for(conn, [deleted])
            created = threads.submit(lambda: admin.post("/api/admin/api-tokens", json=key))
            wait_for(conn, [deleted, created])
        assert (deleted.result().status_code, created.result().status_code) == (200, 400)
    assert recorded(conn, name) == ["project-deleted"]


def test_the_id_of_a_project_made_private_meanwhile_stays_taken(
    conn: Connection, gate: Connection, world: World, name: str
) -> None:
    world.project(name)
    editor = world.user(name, 2)
    assert editor.get(PATH).status_code == 200
    ended = f"UPDATE projects SET mode = 'private' WHERE id = '{name}'; DELETE FROM projects WHERE id = '{name}'"
    answers = at_the_gate(conn, gate, ended, lambda: editor.post(PATH, json={"name": "Again", "id": name}))
    assert statuses(answers) == {409: 1}
    assert recorded(conn, name) == []


def while_a_project_is_deleted(
    conn: Connection, gate: Connection, admin: Caller, project: str, call: Call
) -> list[TestResponse]:
    """The answers to the deletion of a project, and to a call that begins when the deletion holds the project."""
    key = api_tokens.insert(
        conn, api_tokens.generate(project), name=project, kind="client", environment="development", projects=[project]
    )
    with ThreadPoolExecutor(2) as threads:
        with gate.transaction():
            gate.execute("SELECT FROM api_keys WHERE id = %s FOR UPDATE", [key])
            futures = [threads.submit(admin.delete, f"{PATH}/{project}")]
            wait_for(conn, futures)
            futures.append(threads.submit(call))
            wait_for(conn, futures)
        return [future.result() for future in futures]


@pytest.mark.parametrize("has_favorites", [False, True])
def test_a_user_and_a_project_deleted_at_once_are_no_deadlock(
    conn: Connection, gate: Connection, world: World, admin: Caller, name: str, has_favorites: bool
) -> None:
    world.project(name)
    user = world.user(name)
    assert user.id is not None
    world.member(name, user)
    if has_favorites:
        project_favorites.add(conn, user.id, name)
        flag_favorites.add(conn, user.id, world.flag(name, name, archived_at="2026-01-01T00:00:00Z"))
    path = f"/api/admin/user-admin/{user.id}"
    assert statuses(while_a_project_is_deleted(conn, gate, admin, name, lambda: admin.delete(path))) == {200: 2}
    assert admin.get(path).status_code == 404
    assert admin.get(f"{PATH}/{name}/overview").status_code == 404


def test_a_group_and_a_project_deleted_at_once_are_no_deadlock(
    conn: Connection, gate: Connection, world: World, admin: Caller, name: str
) -> None:
    world.project(name)
    group = groups.insert(conn, name)
    fixtures.add_project_group(conn, name, group, 5)
    path = f"/api/admin/groups/{group}"
    assert statuses(while_a_project_is_deleted(conn, gate, admin, name, lambda: admin.delete(path))) == {200: 2}
    assert admin.get(path).status_code == 404
    assert admin.get(f"{PATH}/{name}/overview").status_code == 404
