"""Users as administrators see them: one, all, and who is found."""

import pytest

from sql.database import rows, value
from sql.people import roles
from tests.support.world import Caller, World, refused

PATH = "/api/admin/user-admin"


def robot(world: World, name: str = "Robot") -> Caller:
    """A service account with a token."""
    return world.user(name, email=None, account_type="Service Account")


def record(user: Caller, created_at: str, **fields: object) -> dict[str, object]:
    """The record of a user of the cast, who has never logged in."""
    return {
        "id": user.id,
        "isAPI": False,
        "rootRole": 3,
        "accountType": "User",
        "loginAttempts": 0,
        "seenAt": None,
        "createdAt": created_at,
        "scimId": None,
    } | fields


@pytest.fixture
def now(conn) -> str:
    """The instant of the test."""
    return value(conn, "SELECT iso(now())")


def test_a_user_is_read(alice, victor, now):
    response = alice.get(f"{PATH}/{victor.id}")
    assert response.status_code == 200
    assert response.json == record(victor, now, name="Victor", username="victor", email="victor@example.org")


def test_unset_fields_are_omitted_or_null(world, alice, conn, now):
    ada, bob = world.user("Ada", username=None), world.user("Bob", email=None)
    conn.execute("UPDATE users SET name = NULL WHERE id = ANY(%s)", [[ada.id, bob.id]])
    expected = [record(ada, now, email="ada@example.org"), record(bob, now, username="bob")]
    assert [alice.get(f"{PATH}/{user.id}").json for user in (ada, bob)] == expected
    listed = {user["id"]: user for user in alice.get(PATH).json["users"]}
    assert [listed[user.id] for user in (ada, bob)] == [user | {"inviteLink": ""} for user in expected]


def test_set_fields_are_returned(alice, victor, conn, now):
    conn.execute(
        "UPDATE users SET image_url = 'https://example.org/v.png', scim_id = 's7', login_attempts = 2,"
        " seen_at = '2026-02-03T04:05:06.789Z' WHERE id = %s",
        [victor.id],
    )
    expected = {
        "imageUrl": "https://example.org/v.png",
        "scimId": "s7",
        "loginAttempts": 2,
        "seenAt": "2026-02-03T04:05:06.789Z",
    }
    named = {"name": "Victor", "username": "victor", "email": "victor@example.org"}
    assert alice.get(f"{PATH}/{victor.id}").json == record(victor, now, **named, **expected)


def test_the_list_has_users_without_service_accounts_and_the_root_roles(world, alice, victor, conn):
    robot(world)
    gone = world.user("Gone")
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [gone.id])
    fiddler = roles.insert(conn, "Fiddler", type="root-custom", description="Fiddles.")
    roles.insert(conn, "Of projects")
    answer = alice.get(PATH).json
    administrator = value(conn, "SELECT min(id) FROM users")
    assert [user["id"] for user in answer["users"]] == [administrator, alice.id, victor.id]
    assert [user["rootRole"] for user in answer["users"]] == [1, 1, 3]
    assert [role["id"] for role in answer["rootRoles"]] == [1, 2, 3, fiddler]
    assert answer["rootRoles"][0] == {
        "id": 1,
        "type": "root",
        "name": "Admin",
        "description": "May do everything.",
        "project": None,
    }
    assert answer["rootRoles"][3] == {
        "id": fiddler,
        "type": "root-custom",
        "name": "Fiddler",
        "description": "Fiddles.",
        "project": None,
    }


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "POST"])
def test_unknown_users_are_404(world, alice, conn, method):
    gone = world.user("Gone")
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [gone.id])
    before, since = rows(conn, "SELECT * FROM users ORDER BY id"), world.last_event_id()
    suffix, body = {
        "GET": ("", {}),
        "PUT": ("", {"json": {"name": "Another"}}),
        "DELETE": ("", {}),
        "POST": ("/change-password", {"json": {"password": "a new password"}}),
    }[method]
    for user_id in (robot(world).id, gone.id, 2**31 - 1, 2**31, 10**40):
        message = refused(alice.request(method, f"{PATH}/{user_id}{suffix}", **body), 404, "NotFoundError")
        # An id that no user can have is not looked up.
        assert message == ("No user has that id." if user_id < 2**31 else "Not found.")
    for user_id in ("0", "-1", "1.0", "x", "01", "%31%20", "٧"):
        refused(alice.request(method, f"{PATH}/{user_id}{suffix}", **body), 400)
    assert [row for row in rows(conn, "SELECT * FROM users ORDER BY id") if row["username"] != "robot"] == before
    assert world.events(since) == []


def found(caller: Caller, text: str) -> list[str]:
    """The names of those whom a search finds."""
    response = caller.get(f"{PATH}/search", query_string={"q": text})
    assert response.status_code == 200
    return [hit["name"] for hit in response.json]


def test_a_search_looks_at_name_user_name_and_address_in_any_case(world, victor):
    world.user("Ada", username="countess", email="LOVELACE@example.com".lower())
    world.user("Álvaro", username="al_50%", email=None)
    for text in ("ada", "ADA", "Count", "lace@", "LOVE"):
        assert found(victor, text) == ["Ada"], text
    assert found(victor, "ÁLVARO") == ["Álvaro"]
    assert found(victor, "_5") == found(victor, "0%") == ["Álvaro"]
    assert found(victor, "a_a") == found(victor, "%%") == found(victor, "\\\\") == []
    assert found(victor, "example.org") == ["Victor"]


def test_a_hit_names_the_user_only(world, victor, conn):
    ada = world.user("Ada", username=None)
    (hit,) = victor.get(f"{PATH}/search?q=ada").json
    assert hit == {"id": ada.id, "name": "Ada", "email": "ada@example.org", "accountType": "User"}
    conn.execute("UPDATE users SET image_url = 'https://example.org/a.png' WHERE id = %s", [ada.id])
    assert victor.get(f"{PATH}/search?q=ada").json[0]["imageUrl"] == "https://example.org/a.png"


def test_a_search_finds_no_service_accounts_and_no_deleted_users(world, victor, conn):
    robot(world)
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [world.user("Robin").id])
    assert found(victor, "rob") == []


@pytest.mark.parametrize("query", ["", "?q=", "?q=v", "?Q=vi", "?q=%F0%9F%90%98"])
def test_a_search_needs_two_characters(victor, query):
    response = victor.get(f"{PATH}/search{query}")
    assert response.status_code == 200
    assert response.json == []


def test_a_search_that_does_not_fit_is_refused(victor):
    for query in ("?q=vi&q=ct", "?q=vi%00", "?q=%ff%ff"):
        refused(victor.get(f"{PATH}/search{query}"))


def test_the_response_has_no_hash(world, alice):
    world.user("Ada", password_hash="$2b$04$of-ada")
    for path in (PATH, f"{PATH}/search?q=ada"):
        assert "$2b$" not in alice.get(path).text
