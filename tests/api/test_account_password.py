"""A new password of one's own: by session, with the old one, and none of the last five."""

from itertools import pairwise
from typing import Any

import bcrypt
import pytest

from rules.access import digest
from rules.login import name_digest
from sql import login_throttle, sessions
from sql.database import Connection, rows, value
from tests.support.login import HASH, ada, log_in
from tests.support.sessions import ANY_PAGE, NEW, PATH, change, with_session
from tests.support.world import PASSWORD, Caller, World, refused


def begin(conn: Connection, user: Caller, session: str = "Ada") -> None:
    """Have the user logged in."""
    assert user.id is not None
    sessions.insert(conn, digest(session), user.id, 48)


@pytest.fixture
def user(world: World, conn: Connection) -> Caller:
    """Ada, who has logged in."""
    user = ada(world)
    begin(conn, user)
    return user


def state(world: World) -> list[Any]:
    """All that a change of a password touches."""
    return [
        rows(world.conn, f"SELECT * FROM {table} ORDER BY 1, 2") for table in ("users", "sessions", "past_passwords")
    ]


def test_the_new_password_holds_and_all_sessions_have_ended(world, stranger, user, alice, conn):
    begin(conn, user, "elsewhere")
    begin(conn, alice, "Alice's")
    since = world.last_event_id()
    assert change(stranger).status_code == 200
    for session in ("Ada", "elsewhere"):
        refused(stranger.get(ANY_PAGE, headers=with_session(session)), 401, "AuthenticationRequired")
    assert rows(conn, "SELECT user_id FROM sessions") == [{"user_id": alice.id}]
    assert log_in(stranger, "ada").status_code == 401
    assert log_in(stranger, "ada", NEW).status_code == 200
    # A personal token is no session.
    assert user.get(ANY_PAGE).status_code == 200
    assert world.events(since) == []


def test_the_hash_has_the_cost_of_today(app, stranger, user, conn):
    change(stranger)
    kept = value(conn, "SELECT password_hash FROM users WHERE id = %(id)s", {"id": user.id})
    assert int(kept.split("$")[2]) == app.config["BCRYPT_ROUNDS"]


def test_the_old_password_must_be_right(world, stranger, user):
    before, since = state(world), world.last_event_id()
    refused(change(stranger, old="wrong"), 401, "AuthenticationRequired")
    counted = state(world)
    (now,) = [row for row in counted[0] if row["id"] == user.id]
    assert now["login_attempts"] == 1
    assert [row | ({"login_attempts": 0} if row["id"] == user.id else {}) for row in counted[0]] == before[0]
    assert counted[1:] == before[1:]
    assert world.events(since) == []


@pytest.mark.usefixtures("user")
def test_guessing_by_a_session_is_slowed_down_like_guessing_at_the_login(app, world, stranger, conn, monkeypatch):
    for _ in range(5):
        refused(change(stranger, old="a guess"), 401, "AuthenticationRequired")
    before = state(world)
    # Nor is anything compared for a blocked caller.
    monkeypatch.setattr(app.extensions["passwords"], "matches", None)
    # The right one as well, and at the login as well.
    for response in (change(stranger, old="a guess"), change(stranger), log_in(stranger, "ada@example.org")):
        refused(response, 429, "RateLimitError")
        assert int(response.headers["Retry-After"]) >= 1
    assert state(world) == before
    monkeypatch.undo()
    conn.execute("UPDATE login_throttle SET blocked_until = now()")
    assert change(stranger).status_code == 200


def test_users_without_an_email_are_throttled_by_user_name(world, stranger, conn):
    begin(conn, ada(world, email=None))
    for _ in range(5):
        refused(change(stranger, old="a guess"), 401, "AuthenticationRequired")
    refused(log_in(stranger, "ada"), 429, "RateLimitError")


@pytest.mark.usefixtures("user")
def test_a_right_password_waits_after_failures_meanwhile(app, world, stranger, monkeypatch):
    hasher = app.extensions["passwords"]
    compare = type(hasher).matches

    def others_fail(password: str, kept: str | None) -> bool:
        for _ in range(6):
            login_throttle.fail(world.conn, name_digest("ada@example.org"), login_throttle.Limits(5, 900))
        return compare(hasher, password, kept)

    monkeypatch.setattr(hasher, "matches", others_fail)
    before = state(world)
    refused(change(stranger), 429, "RateLimitError")
    assert state(world) == before


def test_the_last_five_passwords_are_refused_and_older_ones_accepted(stranger, user, conn):
    last = [PASSWORD, *(f"password number {number}" for number in range(5))]
    for old, new in pairwise(last):
        assert change(stranger, new, old).status_code == 200
        begin(conn, user)
    for known in last[1:]:
        assert "last 5" in refused(change(stranger, known, last[-1]))
    assert change(stranger, PASSWORD, last[-1]).status_code == 200
    begin(conn, user)
    refused(change(stranger, last[2], PASSWORD))
    assert change(stranger, last[1], PASSWORD).status_code == 200
    assert value(conn, "SELECT count(*) FROM past_passwords WHERE user_id = %(id)s", {"id": user.id}) == 4


@pytest.mark.usefixtures("user")
def test_the_passwords_of_others_do_not_count(world, stranger, conn):
    bob = world.user("Bob", password_hash=bcrypt.hashpw(NEW.encode(), bcrypt.gensalt(4)).decode())
    conn.execute(
        "INSERT INTO past_passwords VALUES (%s, %s)", [bob.id, bcrypt.hashpw(NEW.encode(), bcrypt.gensalt(4)).decode()]
    )
    assert change(stranger).status_code == 200


@pytest.mark.usefixtures("user")
def test_a_wrong_old_password_reveals_no_earlier_one(stranger):
    refused(change(stranger, PASSWORD, "wrong"), 401, "AuthenticationRequired")


@pytest.mark.parametrize("known", ["Augusta Ada", "AUGUSTA ADA", "countess", "augusta@Example.org"])
def test_a_name_of_ones_own_is_no_password(world, stranger, conn, known):
    begin(conn, world.user("Augusta Ada", username="countess", email="augusta@example.org", password_hash=HASH))
    before = state(world)
    assert "password: " in refused(change(stranger, known))
    assert state(world) == before


@pytest.mark.usefixtures("user")
def test_the_least_length_is_a_setting(app, stranger, monkeypatch):
    monkeypatch.setitem(app.config, "PASSWORD_MIN_LENGTH", 12)
    assert "at least 12 characters" in refused(change(stranger, "elevenchars"))
    assert change(stranger, "twelve chars").status_code == 200


@pytest.mark.usefixtures("user")
@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"password": ...}, "password"),
        ({"oldPassword": ...}, "oldPassword"),
        ({"confirmPassword": ...}, "confirmPassword"),
        ({"confirmPassword": "something else"}, "confirmPassword"),
        ({"confirmPassword": NEW.upper()}, "confirmPassword"),
        ({"confirmPassword": None}, "confirmPassword"),
        ({"password": "shorter", "confirmPassword": "shorter"}, "password"),
        ({"password": "é" * 37, "confirmPassword": "é" * 37}, "password"),
        ({"password": 12345678, "confirmPassword": 12345678}, "password"),
        ({"oldPassword": 5}, "oldPassword"),
        ({"user": "bob"}, "user"),
    ],
)
def test_a_body_that_does_not_fit_changes_nothing(world, stranger, fields, named):
    body = {"password": NEW, "confirmPassword": NEW, "oldPassword": PASSWORD} | fields
    before = state(world)
    response = stranger.post(
        PATH, json={key: word for key, word in body.items() if word is not ...}, headers=with_session("Ada")
    )
    assert f"{named}: " in refused(response)
    assert state(world) == before


def test_only_a_session_on_our_own_pages_can_change_the_password(world, stranger, user, alice):
    before = state(world)
    body = {"password": NEW, "confirmPassword": NEW, "oldPassword": PASSWORD}
    for caller in (alice, user, world.api_key()):
        refused(caller.post(PATH, json=body), 403, "NoAccessError")
    refused(stranger.post(PATH, json=body), 401, "AuthenticationRequired")
    refused(
        stranger.post(PATH, json=body, headers=with_session("Ada", Origin="http://evil.example")), 403, "NoAccessError"
    )
    assert state(world) == before


def test_a_hash_that_is_upgraded_at_a_login_is_no_change_of_the_password(world, stranger, conn):
    costly = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(5)).decode()
    user = ada(world, password_hash=costly)
    assert log_in(stranger, "ada").status_code == 200
    assert value(conn, "SELECT password_hash FROM users WHERE id = %(id)s", {"id": user.id}) != costly
    assert rows(conn, "SELECT * FROM past_passwords") == []
    begin(conn, user)
    assert change(stranger).status_code == 200
