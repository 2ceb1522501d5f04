"""Login: which names and passwords are valid, and how others are refused."""

from datetime import timedelta

import bcrypt
import pytest

from sql.database import one, rows, value
from sql.people import users
from tests.support.login import HASH, ada, log_in
from tests.support.world import PASSWORD, World, refused


def test_the_answer_is_the_user_record(world, stranger, conn):
    user = ada(world)
    now = value(conn, "SELECT iso(now())")
    response = log_in(stranger, "ada")
    assert response.status_code == 200
    assert response.content_type == "application/json"
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


def test_a_login_leaves_a_session_a_day_and_an_instant_but_no_event(world, stranger, conn):
    user = ada(world)
    since = world.last_event_id()
    assert log_in(stranger, "ada").status_code == 200
    assert rows(conn, "SELECT user_id FROM sessions") == [{"user_id": user.id}]
    assert value(conn, "SELECT seen_at = now() FROM users WHERE id = %(id)s", {"id": user.id})
    seen = rows(
        conn,
        "SELECT day = (now() AT TIME ZONE 'UTC')::date AS today FROM user_seen_days WHERE user_id = %(id)s",
        {"id": user.id},
    )
    assert seen == [{"today": True}]
    assert world.events(since) == []


def test_seen_at_is_the_login_before_this_one(world, stranger, conn):
    ada(world)
    assert log_in(stranger, "ada").json["seenAt"] is None
    conn.execute("UPDATE users SET seen_at = '2024-02-29T12:34:56.789Z' WHERE username = 'ada'")
    assert log_in(stranger, "ada").json["seenAt"] == "2024-02-29T12:34:56.789Z"
    assert log_in(stranger, "ada").json["seenAt"] == value(conn, "SELECT iso(now())")


@pytest.mark.parametrize("name", ["ada", "ada@example.org", "ADA@Example.ORG"])
def test_a_user_name_and_an_address_in_any_case_let_in(world, stranger, name):
    user = ada(world)
    response = log_in(stranger, name)
    assert response.status_code == 200
    assert response.json["id"] == user.id


@pytest.mark.parametrize("name", ["Ada", "ADA", " ada", "ada ", "ada@example.org ", "ada@example", ""])
def test_a_name_that_is_only_similar_does_not_log_in(world, stranger, conn, name):
    ada(world)
    refused(log_in(stranger, name), 401, "AuthenticationRequired")
    assert value(conn, "SELECT count(*) FROM sessions") == 0


def test_two_user_names_that_differ_in_case_are_two_users(world, stranger):
    lower, upper = ada(world), world.user("Other", username="ADA", password_hash=HASH)
    assert [log_in(stranger, name).json["id"] for name in ("ada", "ADA")] == [lower.id, upper.id]


def test_a_user_name_or_an_email_is_enough(world, stranger, conn):
    ada(world, username=None)
    by_address = log_in(stranger, "ada@example.org")
    assert by_address.status_code == 200
    assert by_address.json["username"] is None
    world.user("Bob", email=None, password_hash=HASH)
    conn.execute("UPDATE users SET name = NULL WHERE username = 'bob'")
    by_name = log_in(stranger, "bob")
    assert by_name.status_code == 200
    assert by_name.json["name"] is None
    assert "email" not in by_name.json


def test_a_new_user_with_old_names_is_another_user(world, stranger, conn):
    gone = ada(world, password_hash=bcrypt.hashpw(b"another password", bcrypt.gensalt(4)).decode())
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [gone.id])
    heir = ada(world)
    for name in ("ada", "ada@example.org"):
        assert log_in(stranger, name).json["id"] == heir.id
        refused(log_in(stranger, name, "another password"), 401, "AuthenticationRequired")
    assert value(conn, "SELECT login_attempts FROM users WHERE id = %(id)s", {"id": gone.id}) == 0


def test_the_header_is_not_looked_at(world, stranger):
    ada(world)
    assert log_in(stranger, "ada", headers={"Authorization": "no such key"}).status_code == 200


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
    ("body", "field"),
    [
        ({}, "username"),
        ({"username": "ada"}, "password"),
        ({"password": PASSWORD}, "username"),
        ({"username": None, "password": PASSWORD}, "username"),
        ({"username": "ada", "password": None}, "password"),
        ({"username": 1, "password": PASSWORD}, "username"),
        ({"username": ["ada"], "password": PASSWORD}, "username"),
        ({"username": "ada", "password": 12345678}, "password"),
        ({"username": "a\0da", "password": PASSWORD}, "username"),
        ({"username": "ada", "password": "a\0" + PASSWORD}, "password"),
        ({"username": "ada", "password": PASSWORD, "remember": True}, "remember"),
        ([], "body"),
        ("ada", "body"),
    ],
)
def test_a_body_that_does_not_fit_is_refused_and_counts_for_nothing(world, stranger, conn, body, field):
    user = ada(world)
    response = stranger.post("/auth/simple/login", json=body)
    refused(response, 400, "ValidationError")
    assert f"{field}: " in response.json["message"]
    assert value(conn, "SELECT login_attempts FROM users WHERE id = %(id)s", {"id": user.id}) == 0
    for table in ("sessions", "login_throttle", "login_addresses"):
        assert conn.execute(f"SELECT * FROM {table}").fetchall() == []


def test_a_body_that_is_not_json_is_415(stranger):
    form = {"username": "ada", "password": PASSWORD}
    refused(stranger.post("/auth/simple/login", data=form), 415, "ContentTypeError")


def test_a_password_changed_during_the_comparison_is_refused(world, conn):
    user = ada(world)
    compared = value(conn, "SELECT password_hash FROM users WHERE id = %(id)s", {"id": user.id})
    conn.execute("UPDATE users SET password_hash = 'a newer one', login_attempts = 2 WHERE id = %s", [user.id])
    assert users.log_in(conn, user.id, compared, None) is None
    assert users.log_in(conn, user.id, compared, "the upgrade of the old one") is None
    kept = one(conn, "SELECT password_hash, login_attempts, seen_at FROM users WHERE id = %(id)s", {"id": user.id})
    assert kept == {"password_hash": "a newer one", "login_attempts": 2, "seen_at": None}


def test_a_user_deleted_meanwhile_is_not_let_in(world, conn):
    user = ada(world)
    conn.execute("UPDATE users SET deleted_at = now() - %s WHERE id = %s", [timedelta(seconds=1), user.id])
    assert users.log_in(conn, user.id, HASH, None) is None
    assert value(conn, "SELECT seen_at FROM users WHERE id = %(id)s", {"id": user.id}) is None
