"""Changes of a project's access and environments at once, on connections that commit: one order, and its events."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from sql.catalog import environments
from sql.database import rows
from sql.people import groups
from tests.support import fixtures
from tests.support.project_access import held, roles_url
from tests.support.races import statuses, wait_for


@pytest.fixture
def project(world, name):
    """A project without environments."""
    return world.project(name, ())


@pytest.fixture
def hold(project):
    """The statement that blocks changes of the project."""
    return f"SELECT FROM projects WHERE id = '{project}' FOR UPDATE"


@pytest.mark.parametrize("kind", ["user", "group"])
def test_two_last_owners_cannot_both_be_removed(world, conn, queue, admin, project, hold, types, kind):
    first = world.user(project)
    world.member(project, first, 4)
    if kind == "user":
        second = world.user(f"{project}-2").id
        fixtures.add_project_user(conn, project, second, 4)
    else:
        second = groups.insert(conn, project)
        fixtures.add_project_group(conn, project, second, 4)
    answers = queue(
        hold,
        lambda: admin.delete(roles_url("user", first.id, project)),
        lambda: admin.put(roles_url(kind, second, project), json={"roles": []}),
    )
    assert statuses(answers) == {200: 1, 409: 1}
    assert [role for _, _, role in held(conn, project)] == [4]
    assert len(types()) == 1


def test_a_role_given_twice_at_once_is_recorded_once(world, queue, admin, project, hold, types):
    user = world.user(project)
    place = f"/api/admin/projects/{project}/access"
    asked = {"roles": [4, 5], "users": [user.id], "groups": []}
    assert statuses(queue(hold, *[lambda: admin.post(place, json=asked)] * 2)) == {200: 2}
    assert statuses(queue(hold, *[lambda: admin.put(place, json={"roles": []})] * 2)) == {200: 2}
    assert types() == ["project-access-added", "project-access-updated"]


def test_a_user_being_deleted_gets_no_role(world, conn, queue, admin, project, types):
    user = world.user(project)
    asked = {"roles": [5], "users": [user.id], "groups": []}
    answers = queue(
        f"UPDATE users SET deleted_at = now() WHERE id = {user.id}",
        lambda: admin.post(f"/api/admin/projects/{project}/access", json=asked),
        lambda: admin.put(roles_url("user", user.id, project), json={"roles": [5]}),
    )
    assert statuses(answers) == {400: 1, 404: 1}
    assert held(conn, project) == set()
    assert types() == []


def test_of_two_links_of_an_environment_one_gets_409(world, queue, admin, project, hold, types):
    world.flag(project, project)
    place = f"/api/admin/projects/{project}/environments"
    answers = queue(hold, *[lambda: admin.post(place, json={"environment": "production"})] * 2)
    assert statuses(answers) == {200: 1, 409: 1}
    assert statuses(queue(hold, *[lambda: admin.delete(f"{place}/production")] * 2)) == {200: 2}
    assert types() == ["project-environment-added", "project-environment-removed"]


def test_a_flag_being_created_has_the_environment_being_added(conn, queue, admin, project):
    environments.insert(conn, "staging", "preproduction")
    # Requests that create a flag hold its project like this.
    making = f"""
        WITH held AS (SELECT id FROM projects WHERE id = '{project}' FOR SHARE)
        INSERT INTO flags (name, project_id) SELECT id, id FROM held
    """
    place = f"/api/admin/projects/{project}/environments"
    assert statuses(queue(making, lambda: admin.post(place, json={"environment": "staging"}))) == {200: 1}
    states = "SELECT environment FROM flag_environments JOIN flags ON flags.id = flag_id WHERE name = %(name)s"
    assert rows(conn, states, {"name": project}) == [{"environment": "staging"}]


def test_roles_in_a_project_lock_groups_before_users(world, conn, gate, admin, project):
    user, group = world.user(project), groups.insert(conn, project)
    body = {"roles": [{"id": 4, "users": [user.id], "groups": [group]}]}
    with ThreadPoolExecutor(1) as thread:
        with gate.transaction():
            # As a change of the group does, which then locks its members.
            gate.execute("SELECT FROM groups WHERE id = %s FOR UPDATE", [group])
            future = thread.submit(admin.put, f"/api/admin/projects/{project}/access", json=body)
            wait_for(conn, [future])
            gate.execute("SELECT FROM users WHERE id = %s FOR NO KEY UPDATE NOWAIT", [user.id])
        assert future.result().status_code == 200
