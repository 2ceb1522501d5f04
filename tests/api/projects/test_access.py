"""The users, groups and roles of a project, and who may read of them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sql.database import value
from sql.people import groups, roles
from tests.support import fixtures
from tests.support.login import HASH
from tests.support.world import Caller, refused

LONG_AGO = datetime(2024, 2, 29, 12, 34, 56, 789000, tzinfo=UTC)


def path(project: str = "apollo") -> str:
    """Where the access to a project is read."""
    return f"/api/admin/projects/{project}/access"


def read(caller: Caller, project: str = "apollo") -> dict[str, Any]:
    """The project access record."""
    response = caller.get(path(project))
    assert response.status_code == 200
    assert response.content_type == "application/json"
    assert set(response.json) == {"groups", "users", "roles"}
    return response.json


def day(number: int) -> datetime:
    """An instant so many days after another."""
    return LONG_AGO + timedelta(days=number)


def test_a_user_is_listed_with_all_roles_and_the_first(world, alice, conn):
    world.project("apollo")
    custom = roles.insert(conn, "Auditor")
    ada = world.user("Ada")
    for number, role in enumerate((5, custom, 4)):
        world.member("apollo", ada, role, created_at=day(number))
    assert read(alice)["users"] == [
        {
            "isAPI": False,
            "name": "Ada",
            "email": "ada@example.org",
            "id": ada.id,
            "imageUrl": None,
            "addedAt": "2024-02-29T12:34:56.789Z",
            "roleId": 5,
            "roles": [4, 5, custom],
        }
    ]


def test_users_stand_in_the_order_in_which_they_came(world, alice):
    world.project("apollo")
    third, first, second = (world.user(name) for name in ("Ada", "Bob", "Cid"))
    world.member("apollo", third, 4, created_at=day(3))
    world.member("apollo", first, 5, created_at=day(1))
    world.member("apollo", second, 5, created_at=day(2))
    # A second role does not change the order.
    world.member("apollo", first, 4, created_at=day(9))
    assert [(user["id"], user["roleId"], user["addedAt"][:10]) for user in read(alice)["users"]] == [
        (first.id, 5, "2024-03-01"),
        (second.id, 5, "2024-03-02"),
        (third.id, 4, "2024-03-03"),
    ]


def test_unset_fields_are_omitted_or_null(world, alice, conn):
    world.project("apollo")
    nameless, without_address, pictured = world.user("Ada"), world.user("Bob", email=None), world.user("Cid")
    conn.execute("UPDATE users SET name = NULL WHERE id = %s", [nameless.id])
    conn.execute("UPDATE users SET image_url = 'https://example.org/cid.png' WHERE id = %s", [pictured.id])
    for number, user in enumerate((nameless, without_address, pictured)):
        world.member("apollo", user, created_at=day(number))
    first, second, third = read(alice)["users"]
    assert "name" not in first
    assert first["email"] == "ada@example.org"
    assert (second["name"], second["email"]) == ("Bob", None)
    assert third["imageUrl"] == "https://example.org/cid.png"
    assert first["imageUrl"] is second["imageUrl"] is None


def test_deleted_users_and_those_of_other_projects_are_not_listed(world, alice, conn):
    world.project("apollo")
    gone, elsewhere = world.user("Gone"), world.user("Else")
    world.member("apollo", gone)
    world.member("default", elsewhere)
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [gone.id])
    assert read(alice)["users"] == []
    assert [user["id"] for user in read(alice, "default")["users"]] == [elsewhere.id]


def test_a_group_is_listed_with_its_roles_and_members(world, alice, conn):
    world.project("apollo")
    custom = roles.insert(conn, "Auditor")
    group = groups.insert(
        conn,
        "crew",
        description="Who flies",
        root_role=2,
        mappings_sso=["sso-b", "sso-a"],
        created_by="alice@example.org",
    )
    fixtures.update(conn, "groups", group, created_at=day(0))
    for number, role in enumerate((custom, 4, 5), start=2):
        fixtures.add_project_group(conn, "apollo", group, role, day(number))
    second, first = world.user("Ada"), world.user("Bob", email=None)
    fixtures.add_group_user(conn, group, second.id, created_by="bob", created_at=day(5))
    fixtures.add_group_user(conn, group, first.id, created_at=day(4))
    (entry,) = read(alice)["groups"]
    members = entry.pop("users")
    assert entry == {
        "name": "crew",
        "id": group,
        "addedAt": "2024-03-02T12:34:56.789Z",
        "roleId": custom,
        "roles": [4, 5, custom],
        "description": "Who flies",
        "mappingsSSO": ["sso-b", "sso-a"],
        "rootRole": 2,
        "createdBy": "alice@example.org",
        "createdAt": "2024-02-29T12:34:56.789Z",
        "scimId": None,
    }
    assert [(member["user"]["id"], member["joinedAt"], member["createdBy"]) for member in members] == [
        (first.id, "2024-03-04T12:34:56.789Z", None),
        (second.id, "2024-03-05T12:34:56.789Z", "bob"),
    ]
    assert all(set(member) == {"joinedAt", "createdBy", "user"} for member in members)
    assert members[1]["user"] == {
        "id": second.id,
        "isAPI": False,
        "name": "Ada",
        "username": "ada",
        "email": "ada@example.org",
        "rootRole": 3,
        "accountType": "User",
        "loginAttempts": 0,
        "emailSent": False,
        "seenAt": None,
        "createdAt": value(conn, "SELECT iso(now())"),
        "scimId": None,
    }


def test_a_bare_group_is_listed_with_nulls_and_empty_lists(world, alice, conn):
    world.project("apollo")
    group = groups.insert(conn, "nobody")
    fixtures.add_project_group(conn, "apollo", group, 5)
    (entry,) = read(alice)["groups"]
    assert {key: entry[key] for key in ("description", "rootRole", "createdBy", "scimId")} == dict.fromkeys(
        ("description", "rootRole", "createdBy", "scimId")
    )
    assert entry["mappingsSSO"] == entry["users"] == []


def test_former_members_are_not_listed(world, alice, conn):
    world.project("apollo")
    group = groups.insert(conn, "crew")
    fixtures.add_project_group(conn, "apollo", group, 5)
    stays, gone, left = (world.user(name) for name in ("Ada", "Bob", "Cid"))
    for user in (stays, gone, left):
        fixtures.add_group_user(conn, group, user.id)
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [gone.id])
    fixtures.remove_group_user(conn, group, left.id)
    (entry,) = read(alice)["groups"]
    assert [member["user"]["id"] for member in entry["users"]] == [stays.id]
    # Being in a group is not being there oneself.
    assert read(alice)["users"] == []


def test_groups_with_a_role_are_listed_in_order_of_arrival(world, alice, conn):
    world.project("apollo")
    late, early, elsewhere, _ = (groups.insert(conn, name) for name in ("a", "b", "c", "d"))
    fixtures.add_project_group(conn, "apollo", late, 5, day(2))
    fixtures.add_project_group(conn, "apollo", early, 5, day(1))
    fixtures.add_project_group(conn, "default", elsewhere, 5)
    assert [group["id"] for group in read(alice)["groups"]] == [early, late]


def test_the_roles_are_those_that_can_be_given_in_a_project(world, alice, conn):
    world.project("apollo")
    roles.insert(conn, "Root auditor", type="root-custom")
    auditor = roles.insert(conn, "Auditor", description="Looks on")
    cleaner = roles.insert(conn, "A cleaner")
    assert [(role["id"], role["type"], role["name"]) for role in read(alice)["roles"]] == [
        (4, "project", "Owner"),
        (5, "project", "Member"),
        (auditor, "custom", "Auditor"),
        (cleaner, "custom", "A cleaner"),
    ]
    assert read(alice)["roles"][2] == {
        "id": auditor,
        "type": "custom",
        "name": "Auditor",
        "description": "Looks on",
        "project": None,
    }
    assert read(alice)["users"] == read(alice)["groups"] == []


def test_the_response_has_no_hash_and_no_token(world, alice, conn):
    world.project("apollo")
    ada = world.user("Ada", password_hash=HASH)
    world.member("apollo", ada)
    group = groups.insert(conn, "crew")
    fixtures.add_group_user(conn, group, ada.id)
    fixtures.add_project_group(conn, "apollo", group, 5)
    text = alice.get(path()).get_data(as_text=True)
    for secret in (HASH, "$2b$", ada.key, ada.key.removeprefix("user:"), "password", "digest"):
        assert secret not in text


def test_owners_and_administrators_read_the_access_list(olga, alice, world):
    assert [user["id"] for user in read(olga)["users"]] == [olga.id]
    assert read(alice) == read(olga) == read(world.api_key())


def test_an_editor_reads_that_of_project_default_and_of_no_other(eve, apollo):
    assert read(eve, "default")["users"] == []
    refused(eve.get(path(apollo)), 403, "NoAccessError")


@pytest.mark.parametrize("project", ["default", "apollo", "unknown", "APOLLO", "%00"])
def test_callers_without_the_permission_learn_nothing(world, victor, max, stranger, project):
    for caller in (victor, max, world.api_key("client"), world.api_key("frontend")):
        refused(caller.get(path(project)), 403, "NoAccessError")
    refused(stranger.get(path(project)), 401, "AuthenticationRequired")


@pytest.mark.usefixtures("apollo")
@pytest.mark.parametrize("project", ["unknown", "Apollo", "apollo%20", "apollo%00", "%F0%9F%90%98", "x" * 5000])
def test_an_unknown_project_is_404_with_the_permission(alice, project):
    refused(alice.get(path(project)), 404, "NotFoundError")


@pytest.mark.parametrize("permission", ["UPDATE_PROJECT", "PROJECT_USER_ACCESS_READ"])
def test_the_right_can_be_given_by_a_custom_role(world, apollo, conn, permission):
    reader, by_group, elsewhere = (world.user(name) for name in ("Ada", "Bob", "Cid"))
    role = roles.insert(conn, "Reader")
    fixtures.allow(conn, role, permission)
    world.member(apollo, reader, role)
    group = groups.insert(conn, "crew")
    fixtures.add_group_user(conn, group, by_group.id)
    fixtures.add_project_group(conn, apollo, group, role)
    world.member("default", elsewhere, role)
    for caller in (reader, by_group):
        assert [user["id"] for user in read(caller)["users"]] == [reader.id]
        refused(caller.get(path("default")), 403, "NoAccessError")
    refused(elsewhere.get(path()), 403, "NoAccessError")
    assert [user["id"] for user in read(elsewhere, "default")["users"]] == [elsewhere.id]


@pytest.mark.parametrize(
    "permission", ["PROJECT_USER_ACCESS_WRITE", "PROJECT_SETTINGS_READ", "DELETE_PROJECT", "UPDATE_FEATURE"]
)
def test_other_permissions_are_not_enough(world, victor, apollo, conn, permission):
    role = roles.insert(conn, "Something else")
    fixtures.allow(conn, role, permission)
    world.member(apollo, victor, role)
    refused(victor.get(path()), 403, "NoAccessError")


def test_a_custom_root_role_gives_the_right_in_all_projects(world, apollo, conn):
    role = roles.insert(conn, "Reader of all", type="root-custom")
    fixtures.allow(conn, role, "PROJECT_USER_ACCESS_READ")
    ada = world.user("Ada", root_role=role)
    assert read(ada, apollo)["users"] == read(ada, "default")["users"] == []
    refused(ada.get(path("unknown")), 404, "NotFoundError")


def test_reading_leaves_no_event(world, olga):
    since = world.last_event_id()
    read(olga)
    assert world.events(since) == []
