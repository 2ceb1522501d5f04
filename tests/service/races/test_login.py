"""Eight logins at once: as many guesses as one after the other, and no login blocks another."""

import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Address
from uuid import uuid4

import bcrypt
import pytest

from rules.access import digest
from rules.login import name_digest
from sql.database import one, value
from tests.support.login import HASH, log_in
from tests.support.races import at_once, statuses, wait_for, while_hashing
from tests.support.world import PASSWORD, Caller, refused

WRONG = "wrong horse battery"


@pytest.fixture
def user(world, name):
    """A user with a password."""
    return world.user(name, password_hash=HASH)


def sessions(conn, user):
    """How many sessions a user has."""
    return value(conn, "SELECT count(*) FROM sessions WHERE user_id = %(id)s", {"id": user.id})


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("gated", [False, True])
def test_of_eight_wrong_guesses_five_are_answered(world, app, conn, queue, name, known, gated):
    user = world.user(name, password_hash=HASH) if known else None
    calls = [lambda: log_in(Caller(app), name, WRONG)] * 8
    began = time.monotonic()
    # All eight have compared the password and found that the name need not wait, before the first failure is counted.
    answered = statuses(queue("LOCK TABLE login_throttle IN SHARE MODE", *calls) if gated else at_once(*calls))
    # If the machine needs seconds for this, the waits of 1, 2, 4 … seconds have given it further guesses.
    waits_over = int(math.log2(1 + time.monotonic() - began))
    assert set(answered) == {401, 429}
    assert 5 <= answered[401] <= 5 + waits_over
    failures = "SELECT failures FROM login_throttle WHERE name_digest = %(name)s"
    assert one(conn, failures, {"name": name_digest(name)}) == {"failures": answered[401]}
    if user:
        assert value(conn, "SELECT login_attempts FROM users WHERE id = %(id)s", {"id": user.id}) == answered[401]


def test_a_right_guess_waits_if_others_failed_during_its_comparison(app, conn, name, user):
    block = "INSERT INTO login_throttle VALUES (%s, 5, now(), now() + interval '1 hour')"
    with while_hashing(app, conn, lambda: log_in(Caller(app), name)) as future:
        conn.execute(block, [name_digest(name)])
    refused(future.result(), 429, "RateLimitError")
    assert sessions(conn, user) == 0


def test_a_right_guess_waits_for_concurrent_failures(app, conn, gate, name, user):
    conn.execute("INSERT INTO login_throttle VALUES (%s, 4, now(), now())", [name_digest(name)])
    block = "UPDATE login_throttle SET blocked_until = now() + interval '1 hour' WHERE name_digest = %s"
    failing = threading.Event()

    def others_fail(until):
        with gate.transaction():
            gate.execute(block, [name_digest(name)])
            failing.set()
            wait_for(conn, [until])

    with ThreadPoolExecutor(1) as others, while_hashing(app, conn, lambda: log_in(Caller(app), name)) as future:
        others.submit(others_fail, future)
        assert failing.wait(20)
    refused(future.result(), 429, "RateLimitError")
    assert sessions(conn, user) == 0


def test_a_login_does_not_wait_for_one_that_fails_with_the_other_name(app, conn, queue, name, user):
    email = f"{name}@example.org"
    conn.execute("INSERT INTO login_throttle VALUES (%s, 1, now(), now())", [name_digest(email)])
    # The first holds its name and waits for the user, whom the other locks first. If that waited for the name, neither
    # would go on.
    answers = queue(
        f"SELECT FROM users WHERE id = {user.id} FOR UPDATE",
        lambda: log_in(Caller(app), name),
        lambda: log_in(Caller(app), email, WRONG),
    )
    assert [answer.status_code for answer in answers] == [200, 401]


def test_no_login_waits_for_the_cleanup(app, conn, gate, name, user):
    old = "now() - interval '2 days'"
    conn.execute(f"INSERT INTO sessions (digest, user_id, expires_at) VALUES (%s, %s, {old})", [digest(name), user.id])
    conn.execute(f"INSERT INTO login_throttle VALUES (%s, 1, {old}, {old})", [name_digest(f"old {name}")])
    conn.execute(f"INSERT INTO login_addresses VALUES (%s, '{{}}', {old})", [name])
    conn.execute("INSERT INTO known_logins VALUES (%s, now() - interval '31 days')", [digest(name)])
    with gate.transaction():
        for table, since in {
            "sessions": "expires_at",
            "login_throttle": "last_failed_at",
            "login_addresses": "last_attempt_at",
            "known_logins": "seen_at",
        }.items():
            assert gate.execute(f"SELECT FROM {table} WHERE {since} < now() - interval '1 day' FOR UPDATE").rowcount
        assert log_in(Caller(app), name).status_code == 200


def test_a_password_changed_during_the_comparison_is_refused(app, conn, name, user):
    newer = bcrypt.hashpw(b"a newer password", bcrypt.gensalt(4)).decode()
    with while_hashing(app, conn, lambda: log_in(Caller(app), name)) as future:
        conn.execute("UPDATE users SET password_hash = %s WHERE id = %s", [newer, user.id])
    refused(future.result(), 401, "AuthenticationRequired")
    assert sessions(conn, user) == 0
    assert value(conn, "SELECT password_hash FROM users WHERE id = %(id)s", {"id": user.id}) == newer


@pytest.mark.parametrize("rounds", [4, 5])
def test_eight_right_logins_all_succeed(world, app, conn, name, rounds):
    """A hash of 5 rounds is computed again."""
    user = world.user(name, password_hash=bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(rounds)).decode())
    assert statuses(at_once(*[lambda: log_in(Caller(app), name)] * 8)) == {200: 8}
    assert sessions(conn, user) == 8
    kept = "SELECT left(password_hash, 7) AS rounds, login_attempts FROM users WHERE id = %(id)s"
    assert one(conn, kept, {"id": user.id}) == {"rounds": "$2b$04$", "login_attempts": 0}


def test_each_login_shows_the_time_of_the_previous_login(app, queue, name, user):
    answers = queue(f"SELECT FROM users WHERE id = {user.id} FOR UPDATE", *[lambda: log_in(Caller(app), name)] * 8)
    assert statuses(answers) == {200: 8}
    # Only the first has no earlier login.
    assert [answer.get_json()["seenAt"] for answer in answers].count(None) == 1


@pytest.mark.usefixtures("user")
def test_right_and_wrong_logins_with_both_names_of_a_user_do_not_deadlock(app, name):
    names = [name, f"{name}@example.org"]
    calls = [lambda n=n: log_in(Caller(app), names[n % 2], PASSWORD if n % 4 < 2 else WRONG) for n in range(8)]
    assert statuses(at_once(*calls)) == {200: 4, 401: 4}


@pytest.mark.usefixtures("user")
def test_eight_attempts_from_one_address_keep_the_limit(url, make_app, name):
    app = make_app(url, LOGIN_ATTEMPTS_PER_MINUTE=3)
    here = {"REMOTE_ADDR": str(IPv4Address(uuid4().int >> 96))}
    calls = [lambda: log_in(Caller(app), name, environ_overrides=here)] * 8
    assert statuses(at_once(*calls)) == {200: 3, 429: 5}
