"""Login: which names and passwords are valid, and how others are refused."""

from datetime import timedelta

import bcrypt
import pytest

from sql.database import one, rows, value
from sql.people import users
from tests.support.fingerprint import fingerprint
from tests.support.login import HASH, ada, log_in
from tests.support.world import PASSWORD, World, refused


def test_a_login_returns_the_user_and_creates_a_session_and_a_day(world, stranger, conn):
    user = ada(world)
    since, now = world.last_event_id(), value(conn, "SELECT iso(now())")
    # A wrong header is ignored.
    response = log_in(stranger, "ada", headers={"Authorization": "no such key"})
    assert (response.status_code, response.content_type) == (200, "application/json")
    assert response.json == {
        "id": user.id,
        "isAPI": False,
        "name": "Ada",
        "username": "ada",
        "email": "ada@example.org",
        "rootRole": 3,
        "accountType": "User",
        "loginAttempts": 0,
        "emailSent": False,
        "seenAt": None,
        "createdAt": now,
        "scimId": None,
    }
    assert rows(conn, "SELECT user_id FROM sessions") == [{"user_id": user.id}]
    seen = rows(conn, "SELECT user_id, day = (now() AT TIME ZONE 'UTC')::date AS today FROM user_seen_days")
    assert seen == [{"user_id": user.id, "today": True}]
    assert world.events(since) == []
    # seenAt is the previous login.
    conn.execute("UPDATE users SET seen_at = '2024-02-29T12:34:56.789Z' WHERE username = 'ada'")
    assert log_in(stranger, "ada").json["seenAt"] == "2024-02-29T12:34:56.789Z"
    assert log_in(stranger, "ada").json["seenAt"] == now


def test_an_address_is_valid_in_any_case_and_a_user_name_in_its_own(world, stranger, conn):
    lower, upper = ada(world), world.user("Other", username="ADA", password_hash=HASH)
    for name in ("ada", "ada@example.org", "ADA@Example.ORG"):
        assert log_in(stranger, name).json["id"] == lower.id
    assert log_in(stranger, "ADA").json["id"] == upper.id
    conn.execute("DELETE FROM sessions")
    for name in ("Ada", " ada", "ada ", "ada@example.org ", "ada@example", ""):
        refused(log_in(stranger, name), 401, "AuthenticationRequired")
    assert value(conn, "SELECT count(*) FROM sessions") == 0


def test_a_user_name_or_an_email_is_enough(world, stranger, conn):
    ada(world, username=None)
    assert log_in(stranger, "ada@example.org").json["username"] is None
    world.user("Bob", email=None, password_hash=HASH)
    conn.execute("UPDATE users SET name = NULL WHERE username = 'bob'")
    by_name = log_in(stranger, "bob").json
    assert (by_name["name"], "email" in by_name) == (None, False)


def test_a_new_user_with_old_names_is_another_user(world, stranger, conn):
    gone = ada(world, password_hash=bcrypt.hashpw(b"another password", bcrypt.gensalt(4)).decode())
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [gone.id])
    heir = ada(world)
    for name in ("ada", "ada@example.org"):
        assert log_in(stranger, name).json["id"] == heir.id
        refused(log_in(stranger, name, "another password"), 401, "AuthenticationRequired")
    assert value(conn, "SELECT login_attempts FROM users WHERE id = %(id)s", {"id": gone.id}) == 0


def people_who_cannot_log_in(world: World) -> dict[str, tuple[str, str]]:
    """For each reason, the name and password of an attempt that must fail."""
    ada(world)
    world.user("Gone", password_hash=HASH)
    world.conn.execute("UPDATE users SET deleted_at = now() WHERE username = 'gone'")
    world.user("Empty", password_hash=None)
    world.user("Robot", password_hash=HASH, account_type="Service Account")
    return {
        "wrong password": ("ada", "wrong horse battery"),
        "wrong password, address": ("ada@example.org", "wrong horse battery"),
        "other case": ("ada", PASSWORD.upper()),
        "empty password": ("ada", ""),
        "a part of the password": ("ada", PASSWORD[:-1]),
        "unknown": ("nobody", PASSWORD),
        "unknown address": ("nobody@example.org", PASSWORD),
        "deleted": ("gone", PASSWORD),
        "deleted, address": ("gone@example.org", PASSWORD),
        "password-less": ("empty", PASSWORD),
        "password-less, empty": ("empty", ""),
        "service account": ("robot", PASSWORD),
        "too long": ("ada", "x" * 73),
        "much too long": ("ada", "x" * 10_000),
        "much too long a name": ("x" * 10_000, PASSWORD),
    }


def test_all_refusals_have_the_same_message(world, stranger, conn):
    cases = people_who_cannot_log_in(world)
    since = world.last_event_id()
    answers = set()
    for name, password in cases.values():
        conn.execute("DELETE FROM login_throttle")
        response = log_in(stranger, name, password)
        refused(response, 401, "AuthenticationRequired")
        headers = {header for header, _ in response.headers}
        answers.add((response.json["message"], response.content_length, frozenset(headers)))
        assert "Set-Cookie" not in response.headers
    assert len(answers) == 1
    assert value(conn, "SELECT count(*) FROM sessions") == 0
    assert value(conn, "SELECT count(*) FROM users WHERE seen_at IS NOT NULL") == 0
    assert value(conn, "SELECT count(*) FROM user_seen_days") == 0
    assert world.events(since) == []


def test_failures_are_counted_until_a_success(world, stranger, conn):
    user, other = ada(world), world.user("Bob", password_hash=HASH)
    attempts = "SELECT login_attempts FROM users WHERE id = %(id)s"
    for count, name in enumerate(("ada", "ada@example.org", "Ada@Example.org"), start=1):
        log_in(stranger, name, "wrong horse battery")
        assert value(conn, attempts, {"id": user.id}) == count
    assert value(conn, attempts, {"id": other.id}) == 0
    assert log_in(stranger, "ada").json["loginAttempts"] == 0
    assert value(conn, attempts, {"id": user.id}) == 0


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"password": PASSWORD}, "username: is required"),
        ({"username": "ada", "password": None}, "password: must not be null"),
        ({"username": ["ada"], "password": PASSWORD}, "username: must be a string"),
        ({"username": "ada", "password": PASSWORD, "remember": True}, "remember: unknown property"),
        ([], "body: must be a JSON object"),
    ],
)
def test_an_invalid_body_is_refused_and_not_counted(world, stranger, conn, body, message):
    ada(world)
    before = fingerprint(conn)
    assert refused(stranger.post("/auth/simple/login", json=body)) == message
    assert fingerprint(conn) == before
    assert value(conn, "SELECT max(login_attempts) FROM users") == 0
    for table in ("login_throttle", "login_addresses"):
        assert rows(conn, f"SELECT * FROM {table}") == []


def test_a_form_is_415(stranger):
    form = {"username": "ada", "password": PASSWORD}
    refused(stranger.post("/auth/simple/login", data=form), 415, "ContentTypeError")


def test_a_user_changed_or_deleted_during_the_comparison_is_refused(world, conn):
    user = ada(world)
    conn.execute("UPDATE users SET password_hash = 'a newer one', login_attempts = 2 WHERE id = %s", [user.id])
    for upgrade in (None, "the upgrade of the old one"):
        assert users.log_in(conn, user.id, HASH, upgrade) is None
    kept = "SELECT password_hash, login_attempts, seen_at FROM users WHERE id = %(id)s"
    assert one(conn, kept, {"id": user.id}) == {"password_hash": "a newer one", "login_attempts": 2, "seen_at": None}
    conn.execute("UPDATE users SET deleted_at = now() - %s WHERE id = %s", [timedelta(seconds=1), user.id])
    assert users.log_in(conn, user.id, "a newer one", None) is None
    assert value(conn, "SELECT seen_at FROM users WHERE id = %(id)s", {"id": user.id}) is None
