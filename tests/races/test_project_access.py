"""Changes of a project's access and environments at once: one order, and exactly the events of it.

On connections that commit.
"""

from uuid import uuid4

import pytest

from sql.database import Connection, rows, value
from sql.people import groups
from sql.vocabulary import environments
from tests.support import fixtures
from tests.support.project_access import roles_url
from tests.support.races import at_the_gate, statuses
from tests.support.world import Caller, World


@pytest.fixture
def project(world: World) -> str:
    """A project of this race's own."""
    return world.project(f"race-{uuid4().hex}", ())


def hold(project: str) -> str:
    """Blocks changes of the project."""
    return f"SELECT FROM projects WHERE id = '{project}' FOR UPDATE"


def person(world: World) -> Caller:
    """A user of whom there is no other."""
    return world.user(f"u{uuid4().hex}")


def owners(conn: Connection, project: str) -> int:
    """How many users and groups own a project."""
    statement = """
        SELECT (SELECT count(*) FROM project_user_roles WHERE project_id = %(id)s AND role_id = 4)
             + (SELECT count(*) FROM project_group_roles WHERE project_id = %(id)s AND role_id = 4)
    """
    return value(conn, statement, {"id": project})


def types(conn: Connection, project: str) -> list[str]:
    """The types of a project's events, in order."""
    return [
        row["type"]
        for row in rows(conn, "SELECT type FROM events WHERE project = %(id)s ORDER BY type", {"id": project})
    ]


@pytest.mark.parametrize("kind", ["user", "group"])
def test_two_last_owners_cannot_both_be_removed(world, conn, gate, admin, project, kind):
    first = person(world)
    world.member(project, first, 4)
    if kind == "user":
        second = person(world).id
        fixtures.add_project_user(conn, project, second, 4)
    else:
        second = groups.insert(conn, uuid4().hex)
        fixtures.add_project_group(conn, project, second, 4)
    answers = at_the_gate(
        conn,
        gate,
        hold(project),
        lambda: admin.delete(roles_url("user", first.id or 0, project)),
        lambda: admin.put(roles_url(kind, second, project), json={"roles": []}),
    )
    assert statuses(answers) == {200: 1, 409: 1}
    assert owners(conn, project) == 1
    assert len(types(conn, project)) == 1


def test_a_role_given_twice_at_once_is_recorded_once(world, conn, gate, admin, project):
    user = person(world)
    place = f"/api/admin/projects/{project}/access"
    asked = {"roles": [4, 5], "users": [user.id], "groups": []}
    answers = at_the_gate(conn, gate, hold(project), *[lambda: admin.post(place, json=asked)] * 2)
    assert statuses(answers) == {200: 2}
    assert types(conn, project) == ["project-access-added"]
    answers = at_the_gate(conn, gate, hold(project), *[lambda: admin.put(place, json={"roles": []})] * 2)
    assert statuses(answers) == {200: 2}
    assert types(conn, project) == ["project-access-added", "project-access-updated"]


def test_a_user_being_deleted_gets_no_role(world, conn, gate, admin, project):
    user = person(world)
    place = f"/api/admin/projects/{project}/access"
    delete = f"UPDATE users SET deleted_at = now() WHERE id = {user.id}"
    asked = {"roles": [5], "users": [user.id], "groups": []}
    answers = at_the_gate(
        conn,
        gate,
        delete,
        lambda: admin.post(place, json=asked),
        lambda: admin.put(roles_url("user", user.id or 0, project), json={"roles": [5]}),
    )
    assert statuses(answers) == {400: 1, 404: 1}
    assert value(conn, "SELECT count(*) FROM project_user_roles WHERE project_id = %(id)s", {"id": project}) == 0
    assert types(conn, project) == []


def test_of_two_links_of_an_environment_one_gets_409(world, conn, gate, admin, project):
    world.flag(f"flag-{uuid4().hex}", project)
    place = f"/api/admin/projects/{project}/environments"
    answers = at_the_gate(
        conn, gate, hold(project), *[lambda: admin.post(place, json={"environment": "production"})] * 2
    )
    assert statuses(answers) == {200: 1, 409: 1}
    assert types(conn, project) == ["project-environment-added"]
    answers = at_the_gate(conn, gate, hold(project), *[lambda: admin.delete(f"{place}/production")] * 2)
    assert statuses(answers) == {200: 2}
    assert types(conn, project) == ["project-environment-added", "project-environment-removed"]


def test_a_flag_that_is_being_made_has_the_environment_that_is_being_added(conn, gate, admin, project):
    environments.insert(conn, "staging", "preproduction")
    name = f"flag-{uuid4().hex}"
    # Requests that create a flag hold its project like this.
    making = f"""
        WITH held AS (SELECT id FROM projects WHERE id = '{project}' FOR SHARE)
        INSERT INTO flags (name, project_id) SELECT '{name}', id FROM held
    """
    place = f"/api/admin/projects/{project}/environments"
    answers = at_the_gate(conn, gate, making, lambda: admin.post(place, json={"environment": "staging"}))
    assert statuses(answers) == {200: 1}
    states = "SELECT environment FROM flag_environments JOIN flags ON flags.id = flag_id WHERE name = %(name)s"
    assert [row["environment"] for row in rows(conn, states, {"name": name})] == ["staging"]
