"""The roles and projects of the caller."""

from sql.people import groups, roles
from tests.support import fixtures
from tests.support.world import Caller, World, refused

PROFILE, ROLES = "/api/admin/user/profile", "/api/admin/user/roles"


def held(caller: Caller, project: str) -> list[int]:
    """The ids of the caller's roles in a project."""
    response = caller.get(ROLES, query_string={"projectId": project})
    assert response.status_code == 200
    assert response.json["version"] == 1
    return [role["id"] for role in response.json["roles"]]


def test_a_profile_has_the_root_role_and_the_projects(
    world: World, alice: Caller, victor: Caller, olga: Caller, apollo: str, conn
) -> None:
    viewer = {
        "id": 3,
        "type": "root",
        "name": "Viewer",
        "description": "May read.",
        "project": None,
    }
    assert victor.get(PROFILE).json == {"rootRole": viewer, "projects": [], "features": [], "subscriptions": []}
    group = groups.insert(conn, "band")
    fixtures.add_group_user(conn, group, victor.id or 0)
    fixtures.add_project_group(conn, apollo, group, 5)
    fixtures.add_project_group(conn, apollo, group, 4)
    world.member("default", victor)
    assert victor.get(PROFILE).json["projects"] == ["apollo", "default"]
    assert olga.get(PROFILE).json["projects"] == ["apollo"]
    world.project("past", archived_at="2026-01-01T00:00:00Z")
    admins = groups.insert(conn, "admins", root_role=1)
    fixtures.add_group_user(conn, admins, olga.id or 0)
    for admin in (alice, olga):
        assert admin.get(PROFILE).json["projects"] == ["apollo", "default"]


def test_the_roles_in_a_project_are_those_of_the_user_of_the_groups_and_the_root_role(world, victor, apollo, conn):
    other, auditor = roles.insert(conn, "Other"), roles.insert(conn, "Auditor")
    group = groups.insert(conn, "band", root_role=2)
    strange = groups.insert(conn, "strangers", root_role=1)
    fixtures.add_project_group(conn, apollo, strange, other)
    assert held(victor, apollo) == [3]
    world.member(apollo, victor, 5)
    world.member("default", victor, other)
    fixtures.add_group_user(conn, group, victor.id or 0)
    fixtures.add_project_group(conn, apollo, group, auditor)
    assert held(victor, apollo) == [2, 3, 5, auditor]
    assert held(victor, "default") == [2, 3, other]
    found = victor.get(ROLES, query_string={"projectId": apollo}).json["roles"]
    assert found[-1] == {"id": auditor, "type": "custom", "name": "Auditor", "description": "", "project": apollo}
    assert [role["project"] for role in found] == [None, None, apollo, apollo]


def test_a_role_that_is_held_twice_is_listed_once(world, victor, apollo, conn):
    world.member(apollo, victor, 5)
    group = groups.insert(conn, "band", root_role=3)
    fixtures.add_group_user(conn, group, victor.id or 0)
    fixtures.add_project_group(conn, apollo, group, 5)
    assert held(victor, apollo) == [3, 5]


def test_a_hidden_project_answers_like_an_unknown_one(victor, apollo):
    assert held(victor, apollo) == held(victor, "nowhere") == [3]


def test_the_project_is_required(victor):
    for query in ("", "?projectid=default", "?projectId=default&projectId=apollo"):
        assert "projectId: " in refused(victor.get(f"{ROLES}{query}"))


def test_users_only(world, stranger, victor):
    robot = world.user("Robot", email=None, account_type="Service Account")
    for path in (PROFILE, f"{ROLES}?projectId=default"):
        assert robot.get(path).status_code == victor.get(path).status_code == 200
        refused(world.api_key().get(path), 403, "NoAccessError")
        refused(stranger.get(path), 401, "AuthenticationRequired")
