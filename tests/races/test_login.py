"""Eight logins at once: as many guesses as one after the other, and no login blocks another.

On real connections that commit.
"""

import math
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from ipaddress import IPv4Address
from typing import Any
from uuid import uuid4

import bcrypt
import pytest
from werkzeug.test import TestResponse

from rules.access import digest
from rules.login import name_digest
from sql.database import one, value
from tests.support.login import HASH, log_in
from tests.support.races import at_once, at_the_gate, statuses, wait_for, while_hashing
from tests.support.world import PASSWORD, Caller, refused

WRONG = "wrong horse battery"


@pytest.fixture(params=range(3), ids="round {}".format)
def name() -> str:
    """A name that no other race uses. Each race is run three times."""
    return f"race-{uuid4().hex}"


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("gated", [False, True])
def test_of_eight_wrong_guesses_five_are_answered(world, app, conn, gate, name, known, gated):
    user = world.user(name, password_hash=HASH) if known else None
    calls = [lambda: log_in(Caller(app), name, WRONG)] * 8
    began = time.monotonic()
    # All eight have compared the password and found that the name need not wait, before the first failure is counted.
    answers = at_the_gate(conn, gate, "LOCK TABLE login_throttle IN SHARE MODE", *calls) if gated else at_once(*calls)
    answered = statuses(answers)
    # Should the machine need seconds for this, the waits of 1, 2, 4 … of them have given it further guesses.
    waits_over = int(math.log2(1 + time.monotonic() - began))
    assert set(answered) == {401, 429}
    assert 5 <= answered[401] <= 5 + waits_over
    failures = one(
        conn, "SELECT failures FROM login_throttle WHERE name_digest = %(name)s", {"name": name_digest(name)}
    )
    assert failures == {"failures": answered[401]}
    if user:
        assert value(conn, "SELECT login_attempts FROM users WHERE id = %(id)s", {"id": user.id}) == answered[401]


def test_a_right_guess_waits_if_others_failed_during_its_comparison(world, app, conn, name):
    user = world.user(name, password_hash=HASH)
    block = "INSERT INTO login_throttle VALUES (%s, 5, now(), now() + interval '1 hour')"
    with while_hashing(app, conn, lambda: log_in(Caller(app), name)) as future:
        conn.execute(block, [name_digest(name)])
    refused(future.result(), 429, "RateLimitError")
    assert value(conn, "SELECT count(*) FROM sessions WHERE user_id = %(id)s", {"id": user.id}) == 0


def test_a_right_guess_waits_for_concurrent_failures(world, app, conn, gate, name):
    user = world.user(name, password_hash=HASH)
    conn.execute("INSERT INTO login_throttle VALUES (%s, 4, now(), now())", [name_digest(name)])
    failing = threading.Event()

    def others_fail(until: Future[TestResponse]) -> None:
        with gate.transaction():
            gate.execute(
                "UPDATE login_throttle SET blocked_until = now() + interval '1 hour' WHERE name_digest = %s",
                [name_digest(name)],
            )
            failing.set()
            wait_for(conn, [until])

    with ThreadPoolExecutor(1) as others, while_hashing(app, conn, lambda: log_in(Caller(app), name)) as future:
        others.submit(others_fail, future)
        assert failing.wait(20)
    refused(future.result(), 429, "RateLimitError")
    assert value(conn, "SELECT count(*) FROM sessions WHERE user_id = %(id)s", {"id": user.id}) == 0


def test_a_login_does_not_wait_for_one_that_fails_with_the_other_name(world, app, conn, gate, name):
    user = world.user(name, password_hash=HASH)
    conn.execute("INSERT INTO login_throttle VALUES (%s, 1, now(), now())", [name_digest(f"{name}@example.org")])
    with ThreadPoolExecutor(2) as threads:
        with gate.transaction():
            gate.execute("SELECT FROM users WHERE id = %s FOR UPDATE", [user.id])
            futures = [threads.submit(log_in, Caller(app), name)]
            wait_for(conn, futures)
            # It holds its name and waits for the user, who goes to the other first. If that waited for the name,
            # neither would go on.
            futures.append(threads.submit(log_in, Caller(app), f"{name}@example.org", WRONG))
            wait_for(conn, futures)
        assert [future.result().status_code for future in futures] == [200, 401]


def test_no_login_waits_for_the_cleanup(world, app, conn, gate, name):
    user = world.user(name, password_hash=HASH)
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


def test_a_password_changed_during_the_comparison_is_refused(world, app, conn, name):
    user = world.user(name, password_hash=HASH)
    newer = bcrypt.hashpw(b"a newer password", bcrypt.gensalt(4)).decode()
    with while_hashing(app, conn, lambda: log_in(Caller(app), name)) as future:
        conn.execute("UPDATE users SET password_hash = %s WHERE id = %s", [newer, user.id])
    refused(future.result(), 401, "AuthenticationRequired")
    assert value(conn, "SELECT count(*) FROM sessions WHERE user_id = %(id)s", {"id": user.id}) == 0
    assert value(conn, "SELECT password_hash FROM users WHERE id = %(id)s", {"id": user.id}) == newer


def test_eight_right_logins_all_get_in(world, app, conn, name):
    user = world.user(name, password_hash=HASH)
    answers = at_once(*[lambda: log_in(Caller(app), name)] * 8)
    assert statuses(answers) == {200: 8}
    assert value(conn, "SELECT count(*) FROM sessions WHERE user_id = %(id)s", {"id": user.id}) == 8
    assert one(conn, "SELECT login_attempts FROM users WHERE id = %(id)s", {"id": user.id}) == {"login_attempts": 0}


def test_each_login_shows_the_time_of_the_previous_login(world, app, conn, gate, name):
    user = world.user(name, password_hash=HASH)
    calls = [lambda: log_in(Caller(app), name)] * 8
    answers = at_the_gate(conn, gate, f"SELECT FROM users WHERE id = {user.id} FOR UPDATE", *calls)
    assert statuses(answers) == {200: 8}
    # Only the first has no earlier login.
    assert [answer.json["seenAt"] for answer in answers].count(None) == 1


def test_eight_right_logins_all_get_in_while_the_hash_is_made_anew(world, app, conn, name):
    dated = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(5)).decode()
    user = world.user(name, password_hash=dated)
    answers = at_once(*[lambda: log_in(Caller(app), name)] * 8)
    assert statuses(answers) == {200: 8}
    kept = one(conn, "SELECT password_hash, login_attempts FROM users WHERE id = %(id)s", {"id": user.id})
    assert kept["password_hash"].startswith("$2b$04$")
    assert kept["login_attempts"] == 0


def test_right_and_wrong_logins_with_both_names_of_a_user_end_well(world, app, name):
    world.user(name, password_hash=HASH)
    names = [name, f"{name}@example.org"]
    calls = [lambda n=n: log_in(Caller(app), names[n % 2], PASSWORD if n % 4 < 2 else WRONG) for n in range(8)]
    assert statuses(at_once(*calls)) == {200: 4, 401: 4}


def test_of_eight_attempts_from_one_address_no_more_are_admitted_than_may(url, make_app, world, name):
    world.user(name, password_hash=HASH)
    app = make_app(url, LOGIN_ATTEMPTS_PER_MINUTE=3)
    # Each round comes from somewhere else.
    here: dict[str, Any] = {"environ_overrides": {"REMOTE_ADDR": str(IPv4Address(uuid4().int >> 96))}}
    answers = at_once(*[lambda: log_in(Caller(app), name, **here)] * 8)
    assert statuses(answers) == {200: 3, 429: 5}
