"""Two administrators at once, two tokens for one place, two passwords for one user, on connections that commit."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from rules.access import digest
from serving import mail
from sql import access, sessions
from sql.database import value
from sql.people import reset_tokens
from tests.support.login import HASH, log_in
from tests.support.mail_server import mail_server
from tests.support.races import at_once, statuses, wait_for, while_hashing
from tests.support.reset_links import use
from tests.support.sessions import change
from tests.support.world import PASSWORD, Caller, World, refused

PATH = "/api/admin/user-admin"
SOON = "2099-01-01T00:00:00Z"


@pytest.fixture
def world(app, conn):
    """An instance without the users of the race before."""
    for table in ("sessions", "past_passwords", "personal_tokens", "login_throttle"):
        conn.execute(f"DELETE FROM {table}")
    conn.execute("UPDATE users SET deleted_at = now() WHERE deleted_at IS NULL")
    return World(app, conn)


@pytest.fixture
def ada(world, conn):
    """A user with a password, and with the session Ada."""
    ada = world.user("Ada", password_hash=HASH)
    sessions.insert(conn, digest("Ada"), ada.id, 48)
    return ada


def administrators(conn):
    """How many users administer."""
    return value(conn, "SELECT count(*) FROM users WHERE deleted_at IS NULL AND root_role_id = 1")


def deletes(caller, user):
    """A deletion of a user."""
    return lambda: caller.delete(f"{PATH}/{user.id}")


def demotes(caller, user):
    """A change of a user's role."""
    return lambda: caller.put(f"{PATH}/{user.id}", json={"rootRole": 3})


@pytest.mark.parametrize("acts", [(deletes, deletes), (demotes, demotes), (deletes, demotes)])
@pytest.mark.parametrize("how", ["each other", "themselves", "by a key"])
def test_one_of_two_administrators_stays(world, conn, admin, queue, types, acts, how):
    pair = world.user("Ann", root_role=1), world.user("Ben", root_role=1)
    callers = {"each other": pair[::-1], "themselves": pair, "by a key": (admin, admin)}[how]
    calls = [act(caller, user) for act, caller, user in zip(acts, callers, pair, strict=True)]
    # Both have been authorized when the first of them gets on.
    lock = f"SELECT FROM users WHERE id IN ({pair[0].id}, {pair[1].id}) FOR UPDATE"
    assert statuses(queue(lock, *calls)) == {200: 1, 409: 1}
    assert administrators(conn) == 1
    assert len(types()) == 1


def test_a_deletion_locks_the_groups_of_a_user_first(world, admin, conn, gate, name):
    victor = world.user("Victor")
    group = admin.post("/api/admin/groups", json={"name": name, "users": [{"user": {"id": victor.id}}]}).get_json()
    with ThreadPoolExecutor(1) as thread:
        with gate.transaction():
            # As a change of the group does.
            gate.execute("SELECT FROM groups WHERE id = %s FOR UPDATE", [group["id"]])
            future = thread.submit(deletes(admin, victor))
            wait_for(conn, [future])
            gate.execute("SELECT FROM users WHERE id = %s FOR SHARE", [victor.id])
        assert future.result().status_code == 200


@pytest.mark.parametrize(("kind", "path"), [("User", PATH), ("Service Account", "/api/admin/service-account")])
def test_a_user_who_joins_a_group_during_the_deletion_is_deleted(world, admin, conn, queue, name, kind, path):
    victor = world.user("Victor", account_type=kind)
    group = admin.post("/api/admin/groups", json={"name": name}).get_json()["id"]
    # As a change of the group does that adds the user. The deletion has found no group when it waits for the user.
    joins = f"""
        SELECT FROM groups WHERE id = {group} FOR UPDATE;
        SELECT FROM users WHERE id = {victor.id} FOR SHARE;
        INSERT INTO group_users (group_id, user_id) VALUES ({group}, {victor.id})
    """
    body = {"name": name, "users": [{"user": {"id": victor.id}}]}
    calls = lambda: admin.delete(f"{path}/{victor.id}"), lambda: admin.put(f"/api/admin/groups/{group}", json=body)
    deleted, changed = queue(joins, *calls)
    assert (deleted.status_code, changed.status_code in (200, 400)) == (200, True)
    assert value(conn, "SELECT count(*) FROM group_users WHERE user_id = %(id)s", {"id": victor.id}) == 0


def test_a_deletion_locks_users_in_the_order_of_other_changes(world, admin, conn, gate):
    victor, ann = world.user("Victor"), world.user("Ann", root_role=1)
    with ThreadPoolExecutor(1) as thread:
        with gate.transaction():
            # As when both become members of a group at this moment.
            gate.execute("SELECT FROM users WHERE id = %s FOR SHARE", [victor.id])
            future = thread.submit(deletes(admin, victor))
            wait_for(conn, [future])
            gate.execute("SELECT FROM users WHERE id = %s FOR SHARE", [ann.id])
        assert future.result().status_code == 200


def test_of_many_deletions_of_one_user_one_succeeds(world, admin, types):
    victor = world.user("Victor")
    assert statuses(at_once(*[deletes(admin, victor)] * 6)) == {200: 1, 404: 5}
    assert types() == ["user-deleted"]


def test_two_users_cannot_get_one_address(world, admin, conn):
    created = at_once(*[lambda: admin.post(PATH, json={"email": "ada@example.org", "rootRole": 3})] * 6)
    assert statuses(created) == {201: 1, 409: 5}
    paths = [f"{PATH}/{world.user(name).id}" for name in ("Bob", "Cleo")]
    changed = at_once(*[lambda path=path: admin.put(path, json={"email": "new@example.org"}) for path in paths])
    assert statuses(changed) == {200: 1, 409: 1}
    assert value(conn, "SELECT count(*) FROM users WHERE email = 'new@example.org'") == 1


def test_tokens_created_at_once_keep_the_limit(world, conn):
    victor = world.user("Victor")
    bodies = [{"description": f"{n}", "expiresAt": SOON} for n in range(14)]
    calls = [lambda body=body: victor.post("/api/admin/user/tokens", json=body) for body in bodies]
    assert statuses(at_once(*calls)) == {201: 9, 409: 5}
    assert value(conn, "SELECT count(*) FROM personal_tokens WHERE user_id = %(id)s", {"id": victor.id}) == 10


def test_revoking_a_token_in_use_does_not_deadlock(world, admin, conn, gate):
    robot = world.user("Robot", account_type="Service Account")
    token = value(conn, "SELECT id FROM personal_tokens WHERE user_id = %(id)s", {"id": robot.id})
    with ThreadPoolExecutor(1) as thread:
        with gate.transaction():
            # As a request with that token does, which then creates another one.
            gate.execute("UPDATE personal_tokens SET seen_at = now() WHERE id = %s", [token])
            future = thread.submit(admin.delete, f"/api/admin/service-account/{robot.id}/token/{token}")
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
            future = thread.submit(victor.get, "/api/admin/user")
            wait_for(conn, [future])
            assert future.done()
        assert future.result().status_code == 200
    assert value(conn, "SELECT count(*) FROM user_seen_days WHERE user_id = %(id)s", {"id": victor.id}) == 1


def test_a_user_being_deleted_gets_no_token(world, conn, queue, types):
    victor = world.user("Victor")
    body = {"description": "one more", "expiresAt": SOON}
    statement = f"UPDATE users SET deleted_at = now() WHERE id = {victor.id}"
    [answer] = queue(statement, lambda: victor.post("/api/admin/user/tokens", json=body))
    refused(answer, 401, "AuthenticationRequired")
    assert value(conn, "SELECT count(*) FROM personal_tokens WHERE description = 'one more'") == 0
    assert types() == []


@pytest.mark.parametrize("by", ["session", "link"])
def test_one_of_two_password_changes_by_a_session_or_a_link_succeeds(app, conn, queue, ada, types, by):
    stranger = Caller(app)
    calls = [lambda n=n: change(stranger, f"password number {n}") for n in range(2)]
    if by == "link":
        token = reset_tokens.insert(conn, ada.id, "alice")
        calls = [lambda n=n: use(stranger, token, f"password number {n}") for n in range(2)]
    # Both old passwords or tokens have been found right when the first of them gets on.
    answers = queue(f"SELECT FROM users WHERE id = {ada.id} FOR NO KEY UPDATE", *calls)
    assert statuses(answers) == {200: 1, 401: 1}
    [won] = [n for n, answer in enumerate(answers) if answer.status_code == 200]
    assert log_in(stranger, "ada", f"password number {won}").status_code == 200
    assert value(conn, "SELECT count(*) FROM past_passwords") == 1
    assert types() == (["user-updated"] if by == "link" else [])


@pytest.mark.usefixtures("ada")
def test_an_administrators_password_wins(world, app, conn):
    stranger, theirs = Caller(app), world.user("Bob", password_hash=HASH).id
    copy = "UPDATE users SET password_hash = (SELECT password_hash FROM users WHERE id = %s) WHERE username = 'ada'"
    with while_hashing(app, conn, lambda: change(stranger)) as future:
        conn.execute(copy, [theirs])
        conn.execute("DELETE FROM sessions")
    refused(future.result(), 401, "AuthenticationRequired")
    assert log_in(stranger, "ada", PASSWORD).status_code == 200


def test_a_user_deleted_during_login_gets_no_session(app, conn, admin, ada):
    conn.execute("DELETE FROM sessions")
    with while_hashing(app, conn, lambda: log_in(Caller(app), "ada")) as future:
        assert admin.delete(f"{PATH}/{ada.id}").status_code == 200
    refused(future.result(), 401, "AuthenticationRequired")
    assert value(conn, "SELECT count(*) FROM sessions") == 0


NEW = {"email": "new@example.org", "rootRole": 1, "password": "a new password"}


@pytest.mark.parametrize(
    ("path", "body"), [(PATH, NEW), (f"{PATH}/{{}}/change-password", {"password": "a new password"})]
)
def test_an_administrator_demoted_while_hashing_is_refused(world, app, conn, ada, types, path, body):
    ann = world.user("Ann", root_role=1)
    with while_hashing(app, conn, lambda: ann.post(path.format(ada.id), json=body)) as future:
        conn.execute("UPDATE users SET root_role_id = 3 WHERE id = %s", [ann.id])
    refused(future.result(), 403, "NoAccessError")
    assert types() == []
    assert log_in(Caller(app), "ada", PASSWORD).status_code == 200


def test_a_role_being_deleted_is_refused(admin, conn, queue):
    role = value(conn, "INSERT INTO roles (name, type) VALUES ('Brief', 'root-custom') RETURNING id")
    body = {"email": "new@example.org", "rootRole": role}
    [answer] = queue(f"DELETE FROM roles WHERE id = {role}", lambda: admin.post(PATH, json=body))
    assert "rootRole: " in refused(answer)


def test_two_workers_send_one_link_for_a_forgotten_password(app, ada, queue, monkeypatch):
    def send():
        with app.app_context():
            mail.send_next()

    mail.forgotten.queue.clear()
    with mail_server() as inbox:
        for name, setting in inbox.settings.items():
            monkeypatch.setitem(app.config, name, setting)
        for _ in range(2):
            mail.forgotten.put("ada@example.org")
        queue(f"SELECT FROM users WHERE id = {ada.id} FOR UPDATE", send, send)
        assert inbox.recipients == [["ada@example.org"]]
