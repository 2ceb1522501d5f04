"""Links with which users set a password: created, checked, used and ended."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from rules.access import digest
from sql import sessions
from sql.database import rows, value
from sql.people import reset_tokens
from tests.support.event_log import event, events
from tests.support.fingerprint import fingerprint
from tests.support.login import ada, log_in
from tests.support.login_throttle import from_address, retry_after
from tests.support.reset_links import CREATE, NEW, check, new_link, token_of, use
from tests.support.sessions import ANY_PAGE, change, with_session
from tests.support.wire import watched
from tests.support.world import PASSWORD, Caller, World, refused

USERS = "/api/admin/user-admin"
GUESS = "0" * 64
VALIDATE = "/auth/reset/validate-password"


@pytest.fixture
def user(world: World) -> Caller:
    """Ada, who has a password and a session."""
    user = ada(world)
    sessions.insert(world.conn, digest("Ada"), user.id or 0, 48)
    return user


def invited(caller: Caller, **fields: Any) -> str:
    """Create Grace, and return the link for the first password."""
    return caller.post(USERS, json={"rootRole": 3, "username": "grace"} | fields).json["inviteLink"]


# Creating


def test_a_link_is_stored_as_a_digest_for_a_day(world, alice, user, conn):
    since = world.last_event_id()
    link = alice.post(CREATE, json={"id": "ada"}).json["resetPasswordUrl"]
    assert re.fullmatch("http://localhost/reset-password[?]token=[0-9a-f]{64}", link)
    stored = rows(conn, "SELECT *, expires_at = now() + interval '24 hours' AS a_day FROM reset_tokens")
    [row] = [{name: row[name] for name in ("user_id", "digest", "created_by", "a_day")} for row in stored]
    expected = {"user_id": user.id, "digest": digest(token_of(link)), "created_by": "alice@example.org", "a_day": True}
    assert row == expected
    assert world.events(since) == []


def test_the_user_is_found_by_user_name_or_address(world, alice, user, conn):
    for login in ("ada", "ada@example.org", "ADA@Example.org"):
        new_link(alice, login)
    ghost, robot = world.user("Ghost"), world.user("Robot", account_type="Service Account")
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [ghost.id])
    for login in ("Ada", "ghost", "nobody", "", str(user.id), robot.email):
        refused(alice.post(CREATE, json={"id": login}), 404, "NotFoundError")
    assert rows(conn, "SELECT user_id FROM reset_tokens") == [{"user_id": user.id}]


def test_a_new_user_without_a_password_gets_a_link(app, alice, stranger, conn, monkeypatch):
    link = invited(alice)
    assert re.fullmatch("http://localhost/new-user[?]token=[0-9a-f]{64}", link)
    # No other response has it.
    assert {user["inviteLink"] for user in alice.get(USERS).json["users"]} == {""}
    assert token_of(link) not in alice.get("/api/admin/search/events?limit=1000").text
    assert use(stranger, token_of(link)).status_code == 200
    assert log_in(stranger, "grace", NEW).status_code == 200
    assert invited(alice, username="bob", password=PASSWORD) == ""
    assert rows(conn, "SELECT * FROM reset_tokens") == []
    monkeypatch.setitem(app.config, "BASE_URL", "https://example.org/flags")
    assert invited(alice, username="cid").startswith("https://example.org/flags/new-user?token=")
    link = alice.post(CREATE, json={"id": "grace"}).json["resetPasswordUrl"]
    assert link.startswith("https://example.org/flags/reset-password?token=")


# Checking and using


def test_a_check_names_the_user_and_keeps_the_link(alice, stranger, user, conn):
    token = new_link(alice)
    viewer = {"id": 3, "type": "root", "name": "Viewer", "description": "May read.", "project": None}
    expected = {"id": user.id, "email": "ada@example.org", "name": "Ada", "token": token, "role": viewer}
    for _ in range(2):
        assert check(stranger, token).json == expected | {"createdBy": "alice@example.org"}
    conn.execute("UPDATE users SET name = NULL, email = NULL WHERE id = %s", [user.id])
    found = check(stranger, token).json
    assert (found["email"], "name" in found) == (None, False)
    for query in ("", "?token", f"?token={token}&token={token}", "?token=%00", "?Token=x"):
        assert stranger.get(f"/auth/reset/validate{query}").status_code in (400, 401)


def test_a_link_sets_the_password_once(world, alice, stranger, user, conn):
    sessions.insert(conn, digest("Alice's"), alice.id, 48)
    token, since = new_link(alice), world.last_event_id()
    response = use(stranger, token)
    assert (response.status_code, response.get_data()) == (200, b"")
    assert stranger.get(ANY_PAGE, headers=with_session("Ada")).status_code == 401
    assert stranger.get(ANY_PAGE, headers=with_session("Alice's")).status_code == 200
    assert [log_in(stranger, "ada", password).status_code for password in (NEW, PASSWORD)] == [200, 401]
    data = {"id": user.id, "name": "Ada", "username": "ada", "email": "ada@example.org", "rootRole": 3}
    assert events(world, since) == [event("user-updated", user, data=data, pre_data=data)]
    assert rows(conn, "SELECT * FROM reset_tokens") == []
    # Without an address, the author is the user name.
    conn.execute("UPDATE users SET email = NULL WHERE id = %s", [user.id])
    token, since = new_link(alice), world.last_event_id()
    assert use(stranger, token, "one more password").status_code == 200
    assert [event["created_by"] for event in world.events(since)] == ["ada"]
    assert "last 5" in refused(use(stranger, new_link(alice), PASSWORD))


@pytest.mark.usefixtures("user")
def test_a_password_that_is_refused_leaves_the_link(app, alice, stranger, conn, monkeypatch):
    token = new_link(alice)
    before = fingerprint(conn)
    for password, says in (
        ("shorter", "at least 8"),
        ("é" * 37, "72 bytes"),
        (PASSWORD, "last 5"),
        ("ADA@example.org", "own name"),
    ):
        assert says in refused(use(stranger, token, password))
    monkeypatch.setitem(app.config, "PASSWORD_MIN_LENGTH", 12)
    for response in (use(stranger, token, "elevenchars"), stranger.post(VALIDATE, json={"password": "elevenchars"})):
        assert "at least 12" in refused(response)
    assert fingerprint(conn) == before
    assert use(stranger, token).status_code == 200


# Links that no longer work


def by_another_link(_: World, alice: Caller, __: Caller) -> None:
    new_link(alice)


def by_themselves(world: World, _: Caller, __: Caller) -> None:
    assert change(Caller(world.app)).status_code == 200


def by_an_administrator(_: World, alice: Caller, user: Caller) -> None:
    assert alice.post(f"{USERS}/{user.id}/change-password", json={"password": "another one"}).status_code == 200


def by_deletion(_: World, alice: Caller, user: Caller) -> None:
    assert alice.delete(f"{USERS}/{user.id}").status_code == 200


def by_time(world: World, _: Caller, __: Caller) -> None:
    world.conn.execute("UPDATE reset_tokens SET expires_at = now()")


ENDS: list[Callable[[World, Caller, Caller], None]] = [
    by_another_link,
    by_themselves,
    by_an_administrator,
    by_deletion,
    by_time,
]


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__.replace("_", " "))
def test_an_ended_link_is_refused_like_an_unknown_one(world, app, alice, user, stranger, monkeypatch, end):
    token = new_link(alice)
    end(world, alice, user)
    # Nothing is hashed for it.
    monkeypatch.setattr(app.extensions["passwords"], "hash", None)
    monkeypatch.setattr(app.extensions["passwords"], "matches", None)
    for ask in (check, use):
        messages = {refused(ask(stranger, it), 401, "AuthenticationRequired") for it in (token, GUESS, token.upper())}
        assert len(messages) == 1
    # An invalid body is refused before the link is looked up.
    for it in (token, GUESS):
        assert "password: " in refused(use(stranger, it, "short"))


def test_unknown_used_and_expired_links_take_the_same_statements(alice, user, stranger, conn):
    used = new_link(alice)
    assert use(stranger, used).status_code == 200
    expired = reset_tokens.insert(conn, user.id, "alice")
    assert reset_tokens.find_user(conn, expired) == user.id
    conn.execute("UPDATE reset_tokens SET expires_at = now()")
    # Expired links do not work, even before they are deleted.
    assert reset_tokens.find_user(conn, expired) is reset_tokens.get(conn, expired) is None
    for ask in (check, use):
        sent = []
        for token in (GUESS, used, expired):
            with watched(conn) as wire:
                refused(ask(stranger, token), 401, "AuthenticationRequired")
            sent.append(wire.statements)
        assert sent[0] == sent[1] == sent[2]


def test_expired_links_are_deleted(alice, user, stranger, conn):
    for act in (lambda: check(stranger, GUESS), lambda: use(stranger, GUESS), lambda: new_link(alice, "alice")):
        new_link(alice)
        conn.execute("UPDATE reset_tokens SET expires_at = now()")
        act()
        assert user.id not in [row["user_id"] for row in rows(conn, "SELECT user_id FROM reset_tokens")]


@pytest.mark.usefixtures("user")
def test_an_address_has_thirty_tries_a_minute(alice, stranger):
    token, here, elsewhere = new_link(alice), from_address("192.0.2.1"), from_address("192.0.2.2")
    for _ in range(15):
        refused(check(stranger, GUESS, **here), 401, "AuthenticationRequired")
        refused(use(stranger, GUESS, **here), 401, "AuthenticationRequired")
    for answer in (check(stranger, token, **here), use(stranger, token, **here)):
        assert 1 <= retry_after(answer) <= 60
    # Other addresses and other requests have their own tries.
    assert check(stranger, token, **elsewhere).status_code == 200
    assert log_in(stranger, "ada", **here).status_code == 200
    assert stranger.post(VALIDATE, json={"password": "long enough"}, **here).status_code == 200
    assert use(stranger, token, **elsewhere).status_code == 200


def test_a_password_may_be_checked_as_it_is_typed(app, stranger, conn, monkeypatch):
    monkeypatch.setitem(app.config, "LOGIN_ATTEMPTS_PER_MINUTE", 1)
    statuses = [stranger.post(VALIDATE, json={"password": "p" * number}).status_code for number in range(3, 13)]
    assert statuses == [400] * 5 + [200] * 5
    assert retry_after(stranger.post(VALIDATE, json={"password": "p" * 20})) >= 1
    assert value(conn, "SELECT address FROM login_addresses") == "password 127.0.0.1"
