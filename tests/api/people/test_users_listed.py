"""Users and groups for project access, numbers of administrators, and the check of a password."""

import pytest

from sql.database import value
from sql.people import groups, roles
from tests.support import fixtures
from tests.support.fingerprint import fingerprint
from tests.support.world import World, refused

PATH = "/api/admin/user-admin"


def test_users_service_accounts_and_groups_are_listed_for_access(world: World, victor, conn) -> None:
    robot = world.user("Robot", email=None, account_type="Service Account")
    gone = world.user("Gone")
    zoo, band = groups.insert(conn, "zoo", root_role=2), groups.insert(conn, "band")
    for member in (victor, robot, gone):
        fixtures.add_group_user(conn, zoo, member.id or 0)
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [gone.id])
    conn.execute("UPDATE users SET image_url = 'https://example.org/v.png' WHERE id = %s", [victor.id])
    found = victor.get(f"{PATH}/access").json
    ids = [user["id"] for user in found["users"]]
    assert ids == sorted(ids)
    assert ids[0] == value(conn, "SELECT min(id) FROM users")
    assert gone.id not in ids
    users = {user["id"]: user for user in found["users"]}
    assert users[victor.id] == {
        "id": victor.id,
        "name": "Victor",
        "username": "victor",
        "email": "victor@example.org",
        "imageUrl": "https://example.org/v.png",
        "accountType": "User",
    }
    assert users[robot.id] == {"id": robot.id, "name": "Robot", "username": "robot", "accountType": "Service Account"}
    assert found["groups"] == [
        {"id": band, "name": "band", "userCount": 0, "rootRole": None},
        {"id": zoo, "name": "zoo", "userCount": 2, "rootRole": 2},
    ]


def test_administrators_are_counted_by_kind(world: World, alice, conn) -> None:
    conn.execute("UPDATE users SET root_role_id = 3 WHERE id <> %s", [alice.id])
    assert alice.get(f"{PATH}/admin-count").json == {"password": 0, "noPassword": 1, "service": 0}
    custom = roles.insert(conn, "Boss", type="root-custom")
    fixtures.allow(conn, custom, "ADMIN")
    for name in ("Ada", "Bob"):
        world.user(name, root_role=1, password_hash="a hash")
    world.user("Cid", root_role=custom)
    world.user("Robot", root_role=1, account_type="Service Account")
    gone = world.user("Gone", root_role=1, password_hash="a hash")
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [gone.id])
    # By a group.
    group = groups.insert(conn, "administrators", root_role=1)
    fixtures.add_group_user(conn, group, world.user("Dan").id or 0)
    world.user("Eva", root_role=2)
    assert alice.get(f"{PATH}/admin-count").json == {"password": 2, "noPassword": 2, "service": 1}


def test_a_password_is_checked_and_nothing_changes(app, victor, conn, monkeypatch):
    monkeypatch.setitem(app.config, "PASSWORD_MIN_LENGTH", 10)
    victor.get(f"{PATH}/access")
    before = fingerprint(conn)
    check = f"{PATH}/validate-password"
    assert victor.post(check, json={"password": "ten chars!"}).status_code == 200
    for password in ("nine char", "é" * 37, 1234567890, None):
        assert "password: " in refused(victor.post(check, json={"password": password}))
    refused(victor.post(check, json={}))
    assert fingerprint(conn) == before


@pytest.mark.parametrize("word", ["access", "admin-count", "search"])
def test_words_win_over_ids(alice, word):
    assert alice.get(f"{PATH}/{word}").status_code == 200
    refused(alice.delete(f"{PATH}/{word}"), 404, "NotFoundError")


# Operations of other versions, and of none.
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "user-admin/inactive"),
        ("GET", "user-admin/scim-users"),
        ("DELETE", "user-admin/inactive"),
        ("POST", "user-admin/inactive/delete"),
        ("GET", "groups/scim-groups"),
        ("GET", "roles/default"),
        ("GET", "segments/active"),
        ("GET", "segments/active/strategies"),
        ("GET", "projects/roles/default/access"),
        ("GET", "service-account/inactive/token"),
        ("DELETE", "service-account/inactive"),
        ("DELETE", "service-account/1/token/all"),
        ("DELETE", "user/tokens/all"),
        ("DELETE", "projects/default/users/all/roles"),
        ("DELETE", "projects/default/groups/all/roles"),
    ],
)
def test_an_unknown_operation_is_404_and_not_an_invalid_id(alice, method, path):
    refused(alice.request(method, f"/api/admin/{path}"), 404, "NotFoundError")
