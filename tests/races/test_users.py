"""Two administrators at once, two tokens for one place, two passwords for one user. On real connections that commit."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from flask import Flask

from rules.access import digest
from sql import access, sessions
from sql.database import Connection, value
from sql.people import reset_tokens
from tests.support.login import HASH, log_in
from tests.support.races import Call, at_once, at_the_gate, statuses, wait_for, while_hashing
from tests.support.reset_links import use
from tests.support.sessions import change
from tests.support.world import PASSWORD, Caller, World, refused

PATH = "/api/admin/user-admin"


@pytest.fixture
def world(app: Flask, conn: Connection) -> World:
    """An instance without the users of the race before."""
    for table in ("sessions", "past_passwords", "personal_tokens", "login_throttle"):
        conn.execute(f"DELETE FROM {table}")
    conn.execute("UPDATE users SET deleted_at = now() WHERE deleted_at IS NULL")
    return World(app, conn)


@pytest.fixture
def pair(world: World) -> tuple[Caller, Caller]:
    """The only two administrators."""
    return world.user("Ann", root_role=1), world.user("Ben", root_role=1)


def administrators(conn: Connection) -> int:
    """How many users administer."""
    return value(conn, "SELECT count(*) FROM users WHERE deleted_at IS NULL AND root_role_id = 1")


def deletes(caller: Caller, user: Caller) -> Call:
    """A deletion of a user."""
    return lambda: caller.delete(f"{PATH}/{user.id}")


def demotes(caller: Caller, user: Caller) -> Call:
    """A change of a user's role."""
    return lambda: caller.put(f"{PATH}/{user.id}", json={"rootRole": 3})


@pytest.mark.parametrize("acts", [(deletes, deletes), (demotes, demotes), (deletes, demotes)])
@pytest.mark.parametrize("how", ["each other", "themselves", "by a key"])
def test_one_of_two_administrators_stays(world, pair, conn, gate, acts, how):
    key, since = world.api_key(), world.last_event_id()
    callers = {"each other": pair[::-1], "themselves": pair, "by a key": (key, key)}[how]
    calls = [act(caller, user) for act, caller, user in zip(acts, callers, pair, strict=True)]
    # Both have been let in when the first of them gets on.
    answers = at_the_gate(conn, gate, f"SELECT FROM users WHERE id IN ({pair[0].id}, {pair[1].id}) FOR UPDATE", *calls)
    assert statuses(answers) == {200: 1, 409: 1}
    assert administrators(conn) == 1
    assert len(world.events(since)) == 1


def test_one_of_many_administrators_demoted_at_once_stays(world, conn):
    many = [world.user(f"Number{number}", root_role=1) for number in range(6)]
    calls = [(deletes if number % 2 else demotes)(many[number], many[(number + 1) % 6]) for number in range(6)]
    assert set(statuses(at_once(*calls))) <= {200, 401, 403, 404, 409}
    assert administrators(conn) >= 1


def test_a_deletion_takes_rows_in_the_order_in_which_others_do(world, conn, gate):
    victor, key = world.user("Victor"), world.api_key()
    ann = world.user("Ann", root_role=1)
    with ThreadPoolExecutor(1) as thread:
        with gate.transaction():
            # As when both become members of a group at this moment.
            gate.execute("SELECT FROM users WHERE id = %s FOR SHARE", [victor.id])
            future = thread.submit(deletes(key, victor))
            wait_for(conn, [future])
            gate.execute("SELECT FROM users WHERE id = %s FOR SHARE", [ann.id])
        assert future.result().status_code == 200


def test_of_many_deletions_of_one_user_one_succeeds(world):
    key, victor, since = world.api_key(), world.user("Victor"), world.last_event_id()
    assert statuses(at_once(*[deletes(key, victor)] * 6)) == {200: 1, 404: 5}
    assert [event["type"] for event in world.events(since)] == ["user-deleted"]


def test_two_users_cannot_get_one_address(world, conn):
    key = world.api_key()
    created = at_once(*[lambda: key.post(PATH, json={"email": "ada@example.org", "rootRole": 3})] * 6)
    assert statuses(created) == {201: 1, 409: 5}
    ids = [world.user("Bob").id, world.user("Cleo").id]
    changed = at_once(
        *[lambda user_id=user_id: key.put(f"{PATH}/{user_id}", json={"email": "new@example.org"}) for user_id in ids]
    )
    assert statuses(changed) == {200: 1, 409: 1}
    assert value(conn, "SELECT count(*) FROM users WHERE email = 'new@example.org'") == 1


def test_eight_tokens_at_once_do_not_exceed_the_limit(world, conn):
    victor = world.user("Victor")
    calls = [
        lambda n=n: victor.post(
            "/api/admin/user/tokens", json={"description": f"{n}", "expiresAt": "2099-01-01T00:00:00Z"}
        )
        for n in range(14)
    ]
    assert statuses(at_once(*calls)) == {201: 9, 409: 5}
    assert value(conn, "SELECT count(*) FROM personal_tokens WHERE user_id = %(id)s", {"id": victor.id}) == 10


def test_revoking_a_token_in_use_is_no_deadlock(world, conn, gate):
    robot, key = world.user("Robot", account_type="Service Account"), world.api_key()
    token = value(conn, "SELECT id FROM personal_tokens WHERE user_id = %(id)s", {"id": robot.id})
    with ThreadPoolExecutor(1) as thread:
        with gate.transaction():
            # As a request with that token does, which then makes another one.
            gate.execute("UPDATE personal_tokens SET seen_at = now() WHERE id = %s", [token])
            future = thread.submit(lambda: key.delete(f"/api/admin/service-account/{robot.id}/token/{token}"))
            wait_for(conn, [future])
            gate.execute("SELECT FROM users WHERE id = %s FOR NO KEY UPDATE", [robot.id])
        assert future.result().status_code == 200
    assert value(conn, "SELECT count(*) FROM personal_tokens WHERE id = %(id)s", {"id": token}) == 0


def test_the_first_change_of_a_day_blocks_no_other(world, conn, gate):
    victor = world.user("Victor")
    with ThreadPoolExecutor(1) as thread:
        with gate.transaction():
            # As the change does that has just begun.
            access.mark_user_seen(gate, victor.id)
            future = thread.submit(lambda: victor.get("/api/admin/user"))
            wait_for(conn, [future])
            assert future.done()
        assert future.result().status_code == 200
    assert value(conn, "SELECT count(*) FROM user_seen_days WHERE user_id = %(id)s", {"id": victor.id}) == 1


def test_a_user_deleted_meanwhile_gets_no_token(world, conn, gate):
    victor, since = world.user("Victor"), world.last_event_id()
    statement = f"UPDATE users SET deleted_at = now() WHERE id = {victor.id}"
    body = {"description": "one more", "expiresAt": "2099-01-01T00:00:00Z"}
    (answer,) = at_the_gate(conn, gate, statement, lambda: victor.post("/api/admin/user/tokens", json=body))
    refused(answer, 401, "AuthenticationRequired")
    assert value(conn, "SELECT count(*) FROM personal_tokens WHERE description = 'one more'") == 0
    assert world.events(since) == []


def test_of_two_password_changes_by_one_session_the_first_wins(world, app, conn, gate):
    ada = world.user("Ada", password_hash=HASH)
    sessions.insert(conn, digest("Ada"), ada.id, 48)
    stranger = Caller(app)
    calls = [lambda n=n: change(stranger, f"password number {n}") for n in range(2)]
    # Both old passwords have been found right when the first of them gets on.
    answers = at_the_gate(conn, gate, f"SELECT FROM users WHERE id = {ada.id} FOR NO KEY UPDATE", *calls)
    assert statuses(answers) == {200: 1, 401: 1}
    (won,) = [n for n, answer in enumerate(answers) if answer.status_code == 200]
    assert log_in(stranger, "ada", f"password number {won}").status_code == 200
    assert value(conn, "SELECT count(*) FROM past_passwords") == 1


def test_a_link_sets_one_password(world, app, conn, gate):
    ada, since = world.user("Ada", password_hash=HASH), world.last_event_id()
    token, stranger = reset_tokens.insert(conn, ada.id or 0, "alice"), Caller(app)
    calls = [lambda n=n: use(stranger, token, f"password number {n}") for n in range(2)]
    # Both tokens have been found when the first of them gets on.
    answers = at_the_gate(conn, gate, f"SELECT FROM users WHERE id = {ada.id} FOR NO KEY UPDATE", *calls)
    assert statuses(answers) == {200: 1, 401: 1}
    (won,) = [n for n, answer in enumerate(answers) if answer.status_code == 200]
    assert log_in(stranger, "ada", f"password number {won}").status_code == 200
    assert len(world.events(since)) == 1


def test_an_administrators_password_wins(world, app, conn):
    ada = world.user("Ada", password_hash=HASH)
    sessions.insert(conn, digest("Ada"), ada.id, 48)
    stranger, theirs = Caller(app), world.user("Bob", password_hash=HASH).id
    with while_hashing(app, conn, lambda: change(stranger)) as future:
        conn.execute(
            "UPDATE users SET password_hash = (SELECT password_hash FROM users WHERE id = %s) WHERE id = %s",
            [theirs, ada.id],
        )
        conn.execute("DELETE FROM sessions")
    refused(future.result(), 401, "AuthenticationRequired")
    assert log_in(stranger, "ada", PASSWORD).status_code == 200


def test_a_user_deleted_during_login_gets_no_session(world, app, conn):
    ada, key, stranger = world.user("Ada", password_hash=HASH), world.api_key(), Caller(app)
    with while_hashing(app, conn, lambda: log_in(stranger, "ada")) as future:
        assert key.delete(f"{PATH}/{ada.id}").status_code == 200
    refused(future.result(), 401, "AuthenticationRequired")
    assert value(conn, "SELECT count(*) FROM sessions") == 0


NEW = {"email": "new@example.org", "rootRole": 1, "password": "a new password"}


@pytest.mark.parametrize(
    ("path", "body"), [(PATH, NEW), (f"{PATH}/{{}}/change-password", {"password": "a new password"})]
)
def test_an_administrator_demoted_while_hashing_is_refused(world, app, conn, path, body):
    ann, ada, since = world.user("Ann", root_role=1), world.user("Ada", password_hash=HASH), world.last_event_id()
    with while_hashing(app, conn, lambda: ann.post(path.format(ada.id), json=body)) as future:
        conn.execute("UPDATE users SET root_role_id = 3 WHERE id = %s", [ann.id])
    refused(future.result(), 403, "NoAccessError")
    assert world.events(since) == []
    assert log_in(Caller(app), "ada", PASSWORD).status_code == 200


def test_a_role_deleted_while_given_is_refused_or_stays(world, conn, gate):
    role = value(conn, "INSERT INTO roles (name, type) VALUES ('Brief', 'root-custom') RETURNING id")
    key = world.api_key()
    statement = f"DELETE FROM roles WHERE id = {role}"
    (answer,) = at_the_gate(
        conn, gate, statement, lambda: key.post(PATH, json={"email": "new@example.org", "rootRole": role})
    )
    assert "rootRole: " in refused(answer)
