"""What a user may do, as administrators see it."""

from typing import Any

from sql.catalog import environments
from tests.support import fixtures
from tests.support.world import Caller, World, refused

Json = dict[str, Any]


def permissions(alice: Caller, user: Caller, scope: str = "") -> Json:
    """The permissions of a user in a scope."""
    response = alice.get(f"/api/admin/user-admin/{user.id}/permissions{scope}")
    assert response.status_code == 200, response.text
    return response.json


def held(found: Json, kind: str) -> set[str]:
    """The names of the permissions of a kind that the user has."""
    return {one["name"] for one in found["overview"][kind] if one["hasPermission"]}


IN_DEFAULT = "?project=default&environment=production"


def test_all_permissions_are_listed(world: World, alice: Caller) -> None:
    tree = alice.get("/api/admin/permissions").json["permissions"]
    [production] = [one["permissions"] for one in tree["environments"] if one["name"] == "production"]
    user = world.user("ida")
    found = permissions(alice, user, IN_DEFAULT)
    expected = {"root": tree["root"], "project": tree["project"], "environment": production}
    for kind, listed in expected.items():
        assert found["overview"][kind] == [one | {"hasPermission": False} for one in listed]
    assert found["user"] == alice.get(f"/api/admin/user-admin/{user.id}").json
    assert (found["rootRole"]["name"], found["projectRoles"]) == ("Viewer", [])


def test_an_administrator_has_every_permission(alice: Caller) -> None:
    found = permissions(alice, alice, IN_DEFAULT)
    assert all(one["hasPermission"] for kind in found["overview"].values() for one in kind)
    for scope in ("", "?project=default", "?project=default&environment=nowhere"):
        assert permissions(alice, alice, scope)["overview"]["environment"] == []


def test_project_roles_count_in_their_project(world: World, alice: Caller) -> None:
    world.project("hermes")
    user = world.user("ida")
    world.member("hermes", user)
    in_hermes = permissions(alice, user, "?project=hermes&environment=production")
    assert held(in_hermes, "root") == set()
    assert "CREATE_FEATURE" in held(in_hermes, "project")
    assert "UPDATE_FEATURE_ENVIRONMENT" in held(in_hermes, "environment")
    [role] = in_hermes["projectRoles"]
    assert role == alice.get("/api/admin/roles/5").json
    for scope in ("", IN_DEFAULT, "?project=nowhere"):
        assert held(permissions(alice, user, scope), "project") == set()
        assert permissions(alice, user, scope)["projectRoles"] == []


def test_groups_count(world: World, alice: Caller) -> None:
    user = world.user("ida")
    group = fixtures.insert(world.conn, "groups", name="g", root_role_id=2)["id"]
    fixtures.add_group_user(world.conn, group, user.id or 0)
    found = permissions(alice, user)
    assert "CREATE_SEGMENT" in held(found, "root")
    # The role Editor has permissions in the project default only.
    assert held(found, "project") == set()
    assert "CREATE_FEATURE" in held(permissions(alice, user, IN_DEFAULT), "project")
    assert found["rootRole"]["name"] == "Viewer"


def test_permission_counts_in_its_environment(world: World, alice: Caller) -> None:
    environments.insert(world.conn, "staging", type="test")
    role = fixtures.insert(world.conn, "roles", name="r", type="custom", description="")["id"]
    fixtures.allow(world.conn, role, "CREATE_FEATURE_STRATEGY", environment="staging")
    user = world.user("ida")
    world.member("default", user, role)
    in_staging = permissions(alice, user, "?project=default&environment=staging")
    assert held(in_staging, "environment") == {"CREATE_FEATURE_STRATEGY"}
    assert held(permissions(alice, user, IN_DEFAULT), "environment") == set()


def test_service_account_has_permissions(world: World, alice: Caller) -> None:
    robot = world.user("robot", 2, email=None, account_type="Service Account")
    assert "CREATE_SEGMENT" in held(permissions(alice, robot), "root")


def test_deleted_user_is_404(world: World, alice: Caller) -> None:
    user = world.user("ida")
    assert alice.delete(f"/api/admin/user-admin/{user.id}").status_code == 200
    message = refused(alice.get(f"/api/admin/user-admin/{user.id}/permissions"), 404, "NotFoundError")
    assert message == "No user has that id."
