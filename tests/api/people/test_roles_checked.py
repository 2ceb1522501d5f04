"""The check of a new role, and the projects in which a role is held."""

import pytest

from sql.people import groups, roles
from tests.support import fixtures
from tests.support.fingerprint import fingerprint
from tests.support.roles import PATH, make
from tests.support.world import World, refused

ROLE = {"name": "Release manager", "description": "", "permissions": [{"name": "UPDATE_FEATURE"}]}


def test_a_valid_role_with_a_free_name_passes_and_is_not_created(alice, conn):
    before = fingerprint(conn)
    for body in (ROLE, {"name": "Release manager"}, ROLE | {"type": "root-custom", "permissions": [{"id": 12}]}):
        response = alice.post(f"{PATH}/validate", json=body)
        assert (response.status_code, response.get_data()) == (200, b"")
    assert fingerprint(conn) == before


def test_a_taken_name_is_409_in_any_case(alice):
    make(alice, "Auditor")
    for name in ("Auditor", "auDITOR", " Auditor ", "viewer"):
        message = refused(alice.post(f"{PATH}/validate", json=ROLE | {"name": name}), 409, "NameExistsError")
        assert message.startswith("name: ")


@pytest.mark.parametrize(
    "change",
    [
        {"name": ""},
        {"name": None},
        {"type": "root"},
        {"permissions": [{"name": "ADMIN"}]},
        {"permissions": [{"name": "NO_SUCH"}]},
        {"permissions": [{"name": "CREATE_PROJECT"}]},
        {"permissions": [{"name": "UPDATE_FEATURE", "environment": "development"}]},
        {"permissions": [{"name": "UPDATE_FEATURE_ENVIRONMENT", "environment": "nowhere"}]},
        {"unknown": 1},
    ],
)
def test_the_check_refuses_what_a_post_refuses_with_the_same_message(alice, change):
    body = ROLE | change
    assert refused(alice.post(f"{PATH}/validate", json=body)) == refused(alice.post(PATH, json=body))


def test_the_projects_of_a_role_are_counted_by_kind_of_holder(world: World, alice, apollo, conn) -> None:
    auditor, other = roles.insert(conn, "Auditor"), roles.insert(conn, "Other")
    ada, bob = world.user("Ada"), world.user("Bob")
    robot = world.user("Robot", account_type="Service Account")
    crew = groups.insert(conn, "crew")
    for user in (ada, bob, robot):
        world.member("default", user, auditor)
    world.member(apollo, ada, other)
    for project in ("default", apollo):
        fixtures.add_project_group(conn, project, crew, auditor)
    found = alice.get(f"/api/admin/projects/roles/{auditor}/access")
    assert found.json == {
        "projects": [
            {"project": "apollo", "role": auditor, "userCount": 0, "groupCount": 1, "serviceAccountCount": 0},
            {"project": "default", "role": auditor, "userCount": 2, "groupCount": 1, "serviceAccountCount": 1},
        ]
    }
    assert alice.get("/api/admin/projects/roles/1/access").json == {"projects": []}


def test_an_unknown_role_has_no_projects(alice):
    refused(alice.get("/api/admin/projects/roles/999/access"), 404, "NotFoundError")
    refused(alice.get("/api/admin/projects/roles/x/access"))
