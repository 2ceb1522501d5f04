"""Links to set a password that no longer work, and the throttle of guesses."""

from collections.abc import Callable

import pytest

from rules.access import digest
from sql import sessions
from sql.database import rows, value
from sql.people import reset_tokens
from tests.support.login import ada, log_in
from tests.support.login_throttle import from_address, retry_after
from tests.support.reset_links import check, new_link, use
from tests.support.sessions import change
from tests.support.wire import watched
from tests.support.world import Caller, World, refused

USERS = "/api/admin/user-admin"
GUESS = "0" * 64


@pytest.fixture
def user(world: World) -> Caller:
    """Ada, who has a password and a session."""
    user = ada(world)
    sessions.insert(world.conn, digest("Ada"), user.id or 0, 48)
    return user


def by_another_link(_: World, alice: Caller, __: Caller) -> None:
    """A newer link."""
    new_link(alice)


def by_themselves(world: World, _: Caller, __: Caller) -> None:
    """A change of the user's own password."""
    assert change(Caller(world.app)).status_code == 200


def by_an_administrator(_: World, alice: Caller, user: Caller) -> None:
    """A password that an administrator sets."""
    assert alice.post(f"{USERS}/{user.id}/change-password", json={"password": "another one"}).status_code == 200


def by_deletion(_: World, alice: Caller, user: Caller) -> None:
    """The deletion of the user."""
    assert alice.delete(f"{USERS}/{user.id}").status_code == 200


def by_time(world: World, _: Caller, __: Caller) -> None:
    """24 hours."""
    world.conn.execute("UPDATE reset_tokens SET expires_at = now()")


ENDS: list[Callable[[World, Caller, Caller], None]] = [
    by_another_link,
    by_themselves,
    by_an_administrator,
    by_deletion,
    by_time,
]


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__.replace("_", " "))
def test_an_ended_link_answers_like_an_unknown_one(world, app, alice, user, stranger, monkeypatch, end):
    token = new_link(alice)
    end(world, alice, user)
    # Nothing is hashed for it.
    monkeypatch.setattr(app.extensions["passwords"], "hash", None)
    monkeypatch.setattr(app.extensions["passwords"], "matches", None)
    for ask in (check, use):
        messages = {refused(ask(stranger, it), 401, "AuthenticationRequired") for it in (token, GUESS, token.upper())}
        assert len(messages) == 1
    # Of an invalid body it is not even looked up.
    for it in (token, GUESS):
        assert "password: " in refused(use(stranger, it, "short"))


@pytest.mark.usefixtures("user")
def test_an_unknown_a_used_and_an_expired_link_take_the_same_statements(world, alice, stranger):
    used = new_link(alice)
    assert use(stranger, used).status_code == 200
    world.user("Bob", password_hash="a hash")
    expired = new_link(alice, "bob")
    world.conn.execute("UPDATE reset_tokens SET expires_at = now()")
    for ask in (check, use):
        sent = []
        for token in (GUESS, used, expired):
            with watched(world.conn) as wire:
                refused(ask(stranger, token), 401, "AuthenticationRequired")
            sent.append(wire.statements)
        assert sent[0] == sent[1] == sent[2]


def test_an_expired_link_does_not_work_even_before_it_is_deleted(world, user):
    token = reset_tokens.insert(world.conn, user.id, "alice")
    assert reset_tokens.find_user(world.conn, token) == user.id
    world.conn.execute("UPDATE reset_tokens SET expires_at = now()")
    assert reset_tokens.find_user(world.conn, token) is None
    assert reset_tokens.get(world.conn, token) is None


def test_expired_links_are_deleted(world, alice, user, stranger):
    for act in (lambda: check(stranger, GUESS), lambda: use(stranger, GUESS), lambda: new_link(alice, "alice")):
        new_link(alice)
        world.conn.execute("UPDATE reset_tokens SET expires_at = now()")
        act()
        assert user.id not in [row["user_id"] for row in rows(world.conn, "SELECT user_id FROM reset_tokens")]


@pytest.mark.usefixtures("user")
def test_an_address_has_thirty_tries_a_minute(alice, stranger):
    token, here = new_link(alice), from_address("192.0.2.1")
    for _ in range(15):
        refused(check(stranger, GUESS, **here), 401, "AuthenticationRequired")
        refused(use(stranger, GUESS, **here), 401, "AuthenticationRequired")
    for answer in (check(stranger, token, **here), use(stranger, token, **here)):
        assert 1 <= retry_after(answer) <= 60
    # Elsewhere, and in another way.
    assert check(stranger, token, **from_address("192.0.2.2")).status_code == 200
    assert log_in(stranger, "ada", **here).status_code == 200
    path = "/auth/reset/validate-password"
    assert stranger.post(path, json={"password": "long enough"}, **here).status_code == 200
    assert use(stranger, token, **from_address("192.0.2.2")).status_code == 200


def test_a_password_may_be_checked_as_it_is_typed(app, stranger, conn, monkeypatch):
    monkeypatch.setitem(app.config, "LOGIN_ATTEMPTS_PER_MINUTE", 1)
    path = "/auth/reset/validate-password"
    statuses = [stranger.post(path, json={"password": "p" * number}).status_code for number in range(3, 13)]
    assert statuses == [400] * 5 + [200] * 5
    assert retry_after(stranger.post(path, json={"password": "p" * 20})) >= 1
    assert value(conn, "SELECT address FROM login_addresses") == "password 127.0.0.1"
