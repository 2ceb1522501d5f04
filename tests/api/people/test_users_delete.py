"""The deletion of a user: what is deleted too, and what stays."""

import pytest

from rules.access import digest
from sql import sessions
from sql.database import Connection, one, rows, value
from sql.people import groups, reset_tokens
from tests.support import fixtures
from tests.support.login import HASH, log_in
from tests.support.sessions import ANY_PAGE, with_session
from tests.support.signup import invitation, sign_up
from tests.support.world import Caller, World, refused

PATH = "/api/admin/user-admin"
OWNED = (
    "sessions",
    "reset_tokens",
    "personal_tokens",
    "past_passwords",
    "project_user_roles",
    "group_users",
    "project_favorites",
    "flag_favorites",
)


def delete(caller: Caller, user: Caller):
    """Delete a user."""
    return caller.delete(f"{PATH}/{user.id}")


def settled(world: World, user: Caller) -> None:
    """Give a user one of everything that a user can have."""
    assert user.id is not None
    world.conn.execute("UPDATE users SET password_hash = %s WHERE id = %s", [HASH, user.id])
    sessions.insert(world.conn, digest(f"session of {user.id}"), user.id, 48)
    world.conn.execute("INSERT INTO past_passwords VALUES (%s, %s)", [user.id, HASH])
    reset_tokens.insert(world.conn, user.id, "alice")
    fixtures.add_project_user(world.conn, "default", user.id, 5)
    fixtures.add_group_user(world.conn, groups.insert(world.conn, f"group of {user.id}"), user.id)
    world.conn.execute("INSERT INTO project_favorites (user_id, project_id) VALUES (%s, 'default')", [user.id])
    world.conn.execute(
        "INSERT INTO flag_favorites (user_id, flag_id) VALUES (%s, %s)", [user.id, world.flag(f"flag-of-{user.id}")]
    )


def owned(conn: Connection, user: Caller) -> dict[str, int]:
    """How much of each a user has."""
    return {
        table: value(conn, f"SELECT count(*) FROM {table} WHERE user_id = %(id)s", {"id": user.id}) for table in OWNED
    }


def test_deleting_a_user_deletes_its_records_and_nothing_else(world, alice, victor, eve, conn):
    for user in (victor, eve):
        settled(world, user)
    since = world.last_event_id()
    response = delete(alice, victor)
    assert response.status_code == 200
    assert response.get_data() == b""
    assert owned(conn, victor) == dict.fromkeys(OWNED, 0)
    assert owned(conn, eve) == dict.fromkeys(OWNED, 1)
    row = one(conn, "SELECT *, deleted_at = now() AS now FROM users WHERE id = %(id)s", {"id": victor.id})
    assert row["now"]
    assert row["password_hash"] is None
    (event,) = world.events(since)
    assert event["type"] == "user-deleted"
    assert event["data"] is None
    assert event["pre_data"] == {
        "id": victor.id,
        "name": "Victor",
        "username": "victor",
        "email": "victor@example.org",
        "rootRole": 3,
    }
    assert (event["created_by"], event["created_by_user_id"]) == ("alice@example.org", alice.id)
    assert event["project"] is event["environment"] is event["feature_name"] is None


def test_former_membership_is_kept(world, alice, victor, conn):
    settled(world, victor)
    delete(alice, victor)
    for table in ("past_project_user_roles", "past_group_users"):
        assert rows(conn, f"SELECT user_id, ended_at = now() AS now FROM {table}") == [
            {"user_id": victor.id, "now": True}
        ]


def test_credentials_end_at_once(world, alice, stranger, conn):
    ada = world.user("Ada", password_hash=HASH)
    sessions.insert(conn, digest("Ada's"), ada.id, 48)
    assert delete(alice, ada).status_code == 200
    for response in (log_in(stranger, "ada"), ada.get(ANY_PAGE), stranger.get(ANY_PAGE, headers=with_session("Ada's"))):
        refused(response, 401, "AuthenticationRequired")
    assert ada.id not in [user["id"] for user in alice.get(PATH).json["users"]]
    for response in (
        alice.get(f"{PATH}/{ada.id}"),
        delete(alice, ada),
        alice.put(f"{PATH}/{ada.id}", json={"name": "Ada"}),
    ):
        refused(response, 404, "NotFoundError")


def test_names_are_free_again_and_stay_in_the_log(world, alice, victor, conn):
    own = alice.post(f"{PATH}", json={"username": "passing", "email": "passing@example.org", "rootRole": 1}).json["id"]
    since = world.last_event_id()
    assert (
        victor.post(
            "/api/admin/user/tokens", json={"description": "x", "expiresAt": "2099-01-01T00:00:00Z"}
        ).status_code
        == 201
    )
    delete(alice, victor)
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [own])
    created = alice.post(PATH, json={"username": "victor", "email": "victor@example.org", "rootRole": 3})
    assert created.status_code == 201
    assert created.json["id"] != victor.id
    recorded = [(event["type"], event["created_by"], event["created_by_user_id"]) for event in world.events(since)]
    assert recorded[0] == ("pat-created", "victor@example.org", victor.id)


def test_a_deleted_user_leaves_the_signup_token(world, alice, stranger, conn):
    secret = invitation(world)
    grace = sign_up(stranger, secret).json
    assert alice.delete(f"{PATH}/{grace['id']}").status_code == 200
    assert rows(conn, "SELECT * FROM signup_token_users") == []
    assert sign_up(stranger, secret).status_code == 200


def test_a_user_may_delete_himself(world, alice, conn):
    settled(world, alice)
    assert delete(alice, alice).status_code == 200
    assert owned(conn, alice) == dict.fromkeys(OWNED, 0)
    refused(alice.get(PATH), 401, "AuthenticationRequired")


def test_the_last_administrator_stays(world, alice, conn):
    conn.execute("UPDATE users SET root_role_id = 2 WHERE root_role_id = 1 AND id <> %s", [alice.id])
    world.user("Robot", root_role=1, email=None, account_type="Service Account")
    settled(world, alice)
    before, since = rows(conn, "SELECT * FROM users ORDER BY id"), world.last_event_id()
    for caller in (alice, world.api_key()):
        refused(delete(caller, alice), 409, "ConflictError")
    assert rows(conn, "SELECT * FROM users ORDER BY id") == before
    assert owned(conn, alice) == dict.fromkeys(OWNED, 1)
    assert world.events(since) == []
    world.user("Grace", root_role=1)
    assert delete(alice, alice).status_code == 200


def test_only_administrators_delete_users(world, eve, victor, stranger, conn):
    before = rows(conn, "SELECT * FROM users ORDER BY id")
    for caller in (eve, victor, world.api_key("frontend")):
        refused(delete(caller, victor), 403, "NoAccessError")
    refused(delete(stranger, victor), 401, "AuthenticationRequired")
    assert rows(conn, "SELECT * FROM users ORDER BY id") == before


def test_a_deletion_takes_any_body(alice, victor):
    assert alice.delete(f"{PATH}/{victor.id}", data="nonsense", content_type="text/plain").status_code == 200


@pytest.mark.parametrize("kind", ["User", "Service Account"])
def test_tokens_that_an_earlier_deletion_passed_over_go_too(world, alice, victor, conn, kind):
    gone = world.user("Gone", account_type=kind)
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [gone.id])
    delete(alice, victor)
    assert owned(conn, gone)["personal_tokens"] == 0


def test_a_deletion_is_rolled_back_if_its_event_fails(world, alice, victor, conn):
    settled(world, victor)
    conn.execute("ALTER TABLE events ADD CONSTRAINT refuse CHECK (type <> 'user-deleted') NOT VALID")
    refused(delete(alice, victor), 500, "InternalError")
    assert owned(conn, victor) == dict.fromkeys(OWNED, 1)
    assert victor.get(ANY_PAGE).status_code == 200
