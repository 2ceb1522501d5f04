"""Simultaneous changes of projects, on connections that commit: one order, and exactly the events of it."""

import pytest

from rules.api_tokens import new_secret
from sql.database import rows, value
from sql.flags import favorites as flag_favorites
from sql.people import groups
from sql.projects import favorites as project_favorites
from sql.tokens import api_tokens
from tests.support import fixtures
from tests.support.races import at_once, statuses

PATH = "/api/admin/projects"
LONG_AGO = "2026-01-01T00:00:00Z"


@pytest.fixture
def hold(name):
    """The statement that blocks changes of the project."""
    return f"SELECT FROM projects WHERE id = '{name}' FOR UPDATE"


def recorded(conn, project):
    """The types of the events of a project, oldest first."""
    found = rows(conn, "SELECT type FROM events WHERE project = %(p)s ORDER BY id", {"p": project})
    return [row["type"] for row in found]


def live(conn):
    """How many projects are live."""
    return value(conn, "SELECT count(*) FROM projects WHERE archived_at IS NULL")


def test_an_id_is_taken_once(conn, admin, name):
    answers = at_once(*[lambda: admin.post(PATH, json={"name": "A", "id": name})] * 6)
    assert statuses(answers) == {201: 1, 409: 5}
    assert recorded(conn, name) == ["project-created"]


def test_ids_generated_from_one_name_differ(conn, admin, name):
    answers = at_once(*[lambda: admin.post(PATH, json={"name": name})] * 6)
    assert statuses(answers) == {201: 6}
    assert {answer.get_json()["id"] for answer in answers} == {name, *(f"{name}-{number}" for number in range(1, 6))}
    assert all(recorded(conn, answer.get_json()["id"]) == ["project-created"] for answer in answers)


def test_new_and_revived_projects_keep_the_limit(conn, app, world, admin, name, monkeypatch):
    old = [world.project(f"{name}-old-{number}", archived_at=LONG_AGO) for number in range(3)]
    before = live(conn)
    monkeypatch.setitem(app.config, "MAX_PROJECTS", before + 1)
    calls = [lambda id=id: admin.post(f"{PATH}/revive/{id}") for id in old]
    calls += [lambda number=number: admin.post(PATH, json={"name": f"{name} {number}"}) for number in range(3)]
    answers = statuses(at_once(*calls))
    assert (answers[200] + answers[201], answers[400]) == (1, 5)
    assert live(conn) == before + 1


def test_changes_of_different_fields_are_both_kept(conn, queue, admin, project, hold, log):
    answers = queue(
        hold,
        lambda: admin.put(f"{PATH}/{project}", json={"name": "Another"}),
        lambda: admin.put(f"{PATH}/{project}/settings", json={"featureLimit": 3}),
    )
    assert statuses(answers) == {200: 2}
    [row] = rows(conn, "SELECT name, feature_limit FROM projects WHERE id = %(id)s", {"id": project})
    assert row == {"name": "Another", "feature_limit": 3}
    first, second = log()
    assert first["data"] == second["pre_data"]


END = pytest.mark.parametrize(("method", "path"), [("POST", f"{PATH}/archive/{{}}"), ("DELETE", f"{PATH}/{{}}")])
MAKING = """
    WITH held AS (SELECT FROM projects WHERE id = '{0}' FOR SHARE)
    INSERT INTO flags (name, project_id) SELECT '{0}-new', '{0}' FROM held
"""


@END
@pytest.mark.parametrize("statement", [MAKING, "UPDATE flags SET archived_at = NULL WHERE name = '{}'"])
def test_a_project_whose_flag_is_being_created_or_revived_stays(
    world, queue, admin, project, types, method, path, statement
):
    world.flag(project, project, archived_at=LONG_AGO)
    answers = queue(statement.format(project), lambda: admin.request(method, path.format(project)))
    assert statuses(answers) == {409: 1}
    assert types() == []


@END
def test_a_project_ends_once(world, queue, admin, project, hold, types, method, path):
    world.flag(project, project, archived_at=LONG_AGO)
    answers = queue(hold, *[lambda: admin.request(method, path.format(project))] * 5)
    assert statuses(answers) == ({200: 5} if method == "POST" else {200: 1, 404: 4})
    assert types() == (["project-archived"] if method == "POST" else ["feature-deleted", "project-deleted"])


def test_a_token_of_two_deleted_projects_is_not_for_all(conn, queue, world, admin, name):
    projects = [world.project(f"{name}-{letter}") for letter in "ab"]
    key = api_tokens.insert(
        conn, new_secret("[]"), name=name, kind="client", environment="production", projects=projects
    )
    calls = [lambda project=project: admin.delete(f"{PATH}/{project}") for project in projects]
    # Both have looked who else has the key, or one waits for the other.
    answers = queue(f"SELECT FROM api_key_projects WHERE api_key_id = {key} FOR UPDATE", *calls)
    assert statuses(answers) == {200: 2}
    assert rows(conn, "SELECT FROM api_keys WHERE id = %(id)s", {"id": key}) == []
    logs = [recorded(conn, project) for project in projects]
    assert sorted(logs) == [["api-token-deleted", "project-deleted"], ["project-deleted"]]


def test_an_environment_being_deleted_is_linked_to_no_new_project(conn, queue, admin, name):
    conn.execute("INSERT INTO environments (name, type, sort_order) VALUES (%s, 'test', 9)", [name])
    answers = queue(
        f"DELETE FROM environments WHERE name = '{name}'",
        lambda: admin.post(PATH, json={"name": "A", "id": f"{name}-a", "environments": [name]}),
        lambda: admin.post(PATH, json={"name": "B", "id": f"{name}-b"}),
    )
    assert [answer.status_code for answer in answers] == [400, 201]
    assert answers[1].get_json()["environments"] == ["development", "production"]


def test_a_project_being_deleted_becomes_no_favourite(conn, queue, world, project, types):
    user = world.user(project)
    deleting = f"DELETE FROM projects WHERE id = '{project}'"
    [answer] = queue(deleting, lambda: user.post(f"{PATH}/{project}/favorites"))
    assert answer.status_code == 200
    assert types() == []
    assert project_favorites.add(conn, user.id, project) is False


@pytest.mark.parametrize("end", ["archive", "delete"])
def test_ending_a_project_does_not_deadlock_with_its_changes(world, admin, queue, project, end):
    world.flag(project, project)
    created = admin.post("/api/admin/segments", json={"name": project, "constraints": []}).get_json()["id"]
    strategies = f"{PATH}/{project}/features/{project}/environments/production/strategies"
    segment = {"name": project, "constraints": [], "project": project}
    answers = queue(
        # The strategy comes as far as its type and holds the flag; the second then waits for that flag.
        "SELECT FROM strategy_types WHERE name = 'default' FOR UPDATE",
        lambda: admin.post(strategies, json={"name": "default", "segments": [created]}),
        lambda: admin.delete(f"{PATH}/{project}") if end == "delete" else admin.post(f"{PATH}/archive/{project}"),
        lambda: admin.put(f"/api/admin/segments/{created}", json=segment),
    )
    assert [answer.status_code for answer in answers] == [200, 409, 204]


def test_a_token_for_a_project_being_deleted_is_refused(world, admin, conn, queue, project, types):
    statement = "INSERT INTO segments (name, project_id) VALUES (%(name)s, %(name)s) RETURNING id"
    segment = value(conn, statement, {"name": project})
    strategy = world.strategy(world.flag(project))
    conn.execute("INSERT INTO strategy_segments VALUES (%s, %s)", [strategy, segment])
    key = {"type": "client", "tokenName": project, "environment": "development", "projects": [project]}
    answers = queue(
        # The last that is looked at before the project itself, when its keys are gone.
        f"SELECT FROM strategy_segments WHERE strategy_id = '{strategy}' FOR UPDATE",
        lambda: admin.delete(f"{PATH}/{project}"),
        lambda: admin.post("/api/admin/api-tokens", json=key),
    )
    assert [answer.status_code for answer in answers] == [200, 400]
    assert types() == ["project-deleted"]


def test_the_id_of_a_project_being_made_private_stays_taken(queue, world, project, types):
    editor = world.user(project, 2)
    assert editor.get(PATH).status_code == 200
    ended = f"UPDATE projects SET mode = 'private' WHERE id = '{project}'; DELETE FROM projects WHERE id = '{project}'"
    answers = queue(ended, lambda: editor.post(PATH, json={"name": "Again", "id": project}))
    assert statuses(answers) == {409: 1}
    assert types() == []


@pytest.mark.parametrize("other", ["user", "user with favourites", "group"])
def test_a_project_does_not_deadlock_with_a_member_deleted_at_once(conn, queue, world, admin, project, other):
    if other == "group":
        group = groups.insert(conn, project)
        fixtures.add_project_group(conn, project, group, 5)
        path = f"/api/admin/groups/{group}"
    else:
        user = world.user(project)
        world.member(project, user)
        path = f"/api/admin/user-admin/{user.id}"
        if other == "user with favourites":
            project_favorites.add(conn, user.id, project)
            flag_favorites.add(conn, user.id, world.flag(project, project, archived_at=LONG_AGO))
    key = api_tokens.insert(
        conn, new_secret(project), name=project, kind="client", environment="development", projects=[project]
    )
    # The deletion of the project holds the project when it waits for its token.
    lock = f"SELECT FROM api_keys WHERE id = {key} FOR UPDATE"
    answers = queue(lock, lambda: admin.delete(f"{PATH}/{project}"), lambda: admin.delete(path))
    assert statuses(answers) == {200: 2}
    assert admin.get(path).status_code == 404
    assert admin.get(f"{PATH}/{project}/overview").status_code == 404
