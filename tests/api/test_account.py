"""The account of the caller and their permissions."""

import pytest

from sql.database import value
from sql.people import groups, roles, users
from sql.tokens import api_tokens
from tests.support import fixtures
from tests.support.login import log_in
from tests.support.world import Caller, World, refused

PATH = "/api/admin/user"


def me(caller: Caller) -> dict:
    """The record of the caller."""
    response = caller.get(PATH)
    assert response.status_code == 200
    assert response.headers["Cache-Control"] == "no-store"
    return response.json


def rights(caller: Caller) -> set[tuple[str, str | None, str | None]]:
    """Permission, project and environment of all that the caller may do."""
    found = me(caller)["permissions"]
    permissions = {(right["permission"], right.get("project"), right.get("environment")) for right in found}
    assert len(permissions) == len(found)
    return permissions


def test_an_administrator_gets_name_and_admin(alice, conn):
    assert me(alice) == {
        "user": {
            "id": alice.id,
            "isAPI": False,
            "name": "Alice",
            "username": "alice",
            "email": "alice@example.org",
            "accountType": "User",
            "loginAttempts": 0,
            "seenAt": None,
            "createdAt": value(conn, "SELECT iso(now())"),
            "scimId": None,
        },
        "permissions": [{"permission": "ADMIN"}],
        "feedback": [],
        "splash": {},
    }


def test_unset_fields_are_omitted(world, conn):
    nameless = world.user("Ada", username=None)
    conn.execute("UPDATE users SET name = NULL WHERE id = %s", [nameless.id])
    assert me(nameless)["user"].keys() & {"name", "username", "imageUrl"} == set()
    assert "email" not in me(world.user("Bob", email=None))["user"]


def test_an_admin_token_gets_its_name(world, conn):
    key = world.api_key(name="the pipeline")
    answer = me(key)
    now = value(conn, "SELECT iso(now())")
    assert answer["user"] == {
        "id": -42,
        "isAPI": True,
        "username": "the pipeline",
        "loginAttempts": 0,
        "seenAt": now,
        "createdAt": now,
        "scimId": None,
    }
    assert answer["permissions"] == [{"permission": "ADMIN"}]


def test_a_key_behind_the_word_bearer_is_the_same(app, world):
    api_tokens.insert(world.conn, "a-key-of-the-operator", name="of the operator")
    assert me(Caller(app, "Bearer a-key-of-the-operator"))["user"]["username"] == "of the operator"


def test_a_viewer_has_no_permissions_a_member_those_of_the_role(victor, max):
    assert me(victor)["permissions"] == []
    permissions = rights(max)
    assert ("CREATE_FEATURE", "apollo", None) in permissions
    assert {project for _, project, _ in permissions} == {"apollo"}
    assert "UPDATE_PROJECT" not in {permission for permission, _, _ in permissions}


def test_an_editor_gets_global_and_project_permissions(eve):
    permissions = rights(eve)
    assert ("CREATE_PROJECT", None, None) in permissions
    assert ("UPDATE_PROJECT", "default", None) in permissions
    assert ("UPDATE_PROJECT", None, None) not in permissions


def test_rights_of_groups_and_of_custom_roles_add_up(victor, apollo, conn):
    fiddler = roles.insert(conn, "Fiddler", type="root-custom")
    fixtures.allow(conn, fiddler, "CREATE_SEGMENT")
    switcher = roles.insert(conn, "Switcher")
    fixtures.allow(conn, switcher, "UPDATE_FEATURE_ENVIRONMENT", environment="development")
    # What a role holds in one project alone it does not hold in another.
    fixtures.allow(conn, switcher, "DELETE_FEATURE", project="default")
    group = groups.insert(conn, "band", root_role=fiddler)
    fixtures.add_group_user(conn, group, victor.id)
    fixtures.add_project_group(conn, apollo, group, switcher)
    assert rights(victor) == {("CREATE_SEGMENT", None, None), ("UPDATE_FEATURE_ENVIRONMENT", "apollo", "development")}


def test_each_permission_is_listed_once(max, apollo, conn):
    before = rights(max)
    group = groups.insert(conn, "band")
    fixtures.add_group_user(conn, group, max.id)
    fixtures.add_project_group(conn, apollo, group, 5)
    assert rights(max) == before


def test_administrators_by_group_get_admin_alone(olga, conn):
    group = groups.insert(conn, "administrators", root_role=1)
    fixtures.add_group_user(conn, group, olga.id)
    assert me(olga)["permissions"] == [{"permission": "ADMIN"}]


def test_a_service_account_gets_its_record(world):
    robot = world.user("Robot", email=None, account_type="Service Account")
    assert me(robot)["user"]["accountType"] == "Service Account"


def test_a_stranger_is_401(stranger, world, alice, conn):
    refused(stranger.get(PATH), 401, "AuthenticationRequired")
    for kind in ("client", "frontend"):
        refused(world.api_key(kind).get(PATH), 403, "NoAccessError")
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [alice.id])
    refused(alice.get(PATH), 401, "AuthenticationRequired")


def test_the_401_describes_the_login_form_and_no_other_answer_does(stranger, make_app, shared_url, world):
    form = {"type": "password", "path": "/auth/simple/login", "defaultHidden": False, "options": []}
    for headers in ({}, {"Authorization": "forged"}, {"Cookie": "session=forged"}):
        body = stranger.get(PATH, headers=headers).json
        assert list(body) == ["id", "name", "message", *form]
        assert {name: body[name] for name in form} == form
    below = Caller(make_app(shared_url, BASE_URL="https://example.org/flags", BASE_PATH="/flags"))
    assert below.get(f"/flags{PATH}").json["path"] == "/flags/auth/simple/login"
    for response in (
        stranger.get(f"{PATH}/tokens"),
        stranger.get("/api/admin/projects"),
        stranger.get(f"{PATH}/"),
        stranger.post(PATH),
        stranger.post(f"{PATH}/change-password"),
        log_in(stranger, "nobody"),
        world.api_key("client").get(PATH),
    ):
        assert response.status_code >= 400
        assert response.json.keys() == {"id", "name", "message"}


@pytest.mark.parametrize("role", [1, 2, 3])
def test_the_response_has_no_hash_and_no_role(world: World, role: int) -> None:
    user_id = users.insert(
        world.conn, name="Ida", username="ida", email=None, password_hash="$2b$04$secret", root_role=role
    )["id"]
    world.conn.execute(
        "UPDATE personal_tokens SET user_id = %s WHERE user_id = %s", [user_id, (ida := world.user("Other")).id]
    )
    response = ida.get(PATH)
    assert response.json["user"]["id"] == user_id
    assert "rootRole" not in response.json["user"]
    assert "$2b$" not in response.text
