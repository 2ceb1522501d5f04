"""Logins at the real service: throttled by all its workers together and across a restart, and as slow for an unknown
name.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product

import bcrypt
import psycopg
import pytest

from tests.support.instance import SETTINGS
from tests.support.service import Answer, Service, wait_until

pytestmark = pytest.mark.slow

FREE, ATTEMPTS = 3, 6
WRONG = "wrong horse battery"


def log_in(service: Service, name: str, password: str = WRONG, **headers: str) -> Answer:
    """Try to log in."""
    return service.request("POST", "/auth/simple/login", {"username": name, "password": password}, headers)


@contextmanager
def only(service: Service, worker: int) -> Iterator[None]:
    """Let one worker process alone answer: the others stand still."""
    others = service.workers - {worker}
    for pid in others:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in others:
            os.kill(pid, signal.SIGCONT)


def test_the_throttles_hold_for_all_workers_together_and_after_a_restart(make_database: Callable[..., str], tmp_path):
    url = make_database()
    limits = {
        "LOGIN_FREE_FAILURES": FREE,
        "LOGIN_ATTEMPTS_PER_MINUTE": ATTEMPTS,
        "SIGNUP_ATTEMPTS_PER_MINUTE": 2,
        "TRUSTED_PROXIES": 1,
    }
    here, elsewhere = {"X-Forwarded-For": "192.0.2.1"}, {"X-Forwarded-For": "192.0.2.2"}
    with Service(url, tmp_path, WEB_CONCURRENCY=2, **limits) as service:
        wait_until(lambda: len(service.workers) == 2, "both workers were there")
        one, other = sorted(service.workers)
        with only(service, one):
            assert [log_in(service, "admin", **here).status for _ in range(FREE - 1)] == [401] * (FREE - 1)
            assert service.get("/invite/guess/validate", headers=here).status == 404
        with only(service, other):
            assert log_in(service, "admin", **here).status == 401
            assert service.get("/invite/guess/validate", headers=here).status == 404
        with psycopg.connect(url) as conn:
            # Longer than any machine is slow.
            conn.execute("UPDATE login_throttle SET blocked_until = now() + interval '1 hour'")
        for worker in (one, other):
            with only(service, worker):
                answer = log_in(service, "admin", str(SETTINGS["INIT_ADMIN_PASSWORD"]), **elsewhere)
                assert (answer.status, int(answer.headers["Retry-After"]) > 3000) == (429, True)
    with Service(url, tmp_path, WEB_CONCURRENCY=2, **limits) as service:
        for worker in service.workers:
            with only(service, worker):
                answer = log_in(service, "admin", str(SETTINGS["INIT_ADMIN_PASSWORD"]), **elsewhere)
                assert (answer.status, int(answer.headers["Retry-After"]) > 3000) == (429, True)
        with psycopg.connect(url) as conn:
            # The minute of an address must not pass before this is at its end.
            conn.execute(
                "UPDATE login_addresses SET attempts = ARRAY(SELECT now() "
                "FROM unnest(attempts)), last_attempt_at = now()"
            )
        statuses = [log_in(service, f"somebody {number}", **here).status for number in range(ATTEMPTS - FREE + 1)]
        assert statuses == [401] * (ATTEMPTS - FREE) + [429]
        assert service.get("/invite/guess/validate", headers=here).status == 429
        # What the client itself says of its address stands before what the proxy says.
        spoofed = {
            "X-Forwarded-For": "198.51.100.1, 192.0.2.1",
            "Forwarded": "for=198.51.100.1",
            "X-Real-IP": "198.51.100.1",
        }
        assert log_in(service, "somebody else", **spoofed).status == 429


KNOWN = {"wrong": "ada", "wrong, by address": "ADA@example.org"}
UNKNOWN = {
    "unknown": "nobody",
    "unknown address": "nobody@example.org",
    "without a password": "empty",
    "deleted": "gone",
}
ROUNDS = 12


def chance(some: list[float], others: list[float]) -> float:
    """In which part of all pairs one of the first took longer than the other: 0.5 where they are alike, 0 or 1 where
    they are apart.
    """
    return sum((mine > theirs) + (mine == theirs) / 2 for mine, theirs in product(some, others)) / (
        len(some) * len(others)
    )


@pytest.mark.timing
def test_unknown_names_take_as_long_as_known_ones(make_database: Callable[..., str]):
    url = make_database()
    kept = bcrypt.hashpw(b"correct horse battery", bcrypt.gensalt(10)).decode()
    with psycopg.connect(url) as conn:
        for name, password_hash in (("ada", kept), ("empty", None), ("gone", kept)):
            added = "INSERT INTO users (name, username, email, password_hash, root_role_id) VALUES (%s, %s, %s, %s, 3)"
            conn.execute(added, [name, name, f"{name}@example.org", password_hash])
        conn.execute("UPDATE users SET deleted_at = now() WHERE username = 'gone'")
    took: dict[str, list[float]] = {kind: [] for kind in KNOWN | UNKNOWN}
    with Service(url, LOGIN_FREE_FAILURES=1000, LOGIN_ATTEMPTS_PER_MINUTE=1000) as service:
        log_in(service, "warming up")
        for _ in range(ROUNDS):
            # One after the other, so that all have their share of whatever else this machine does.
            for kind, name in (KNOWN | UNKNOWN).items():
                began = time.perf_counter()
                assert log_in(service, name).status == 401
                took[kind].append(time.perf_counter() - began)
    # Of 12 and 12 that are alike, one in 30,000 is outside of this; without the hash for those who have none, it is 0
    # or 1.
    apart = {kind: chance(took[kind], took["wrong"]) for kind in took}
    assert {kind: value for kind, value in apart.items() if not 0.02 < value < 0.98} == {}
    known, unknown = ([second for kind in kinds for second in took[kind]] for kinds in (KNOWN, UNKNOWN))
    # 24 and 48, with a deviation of 0.07 where they are alike.
    assert 0.15 < chance(unknown, known) < 0.85
