"""A login at the real service takes as long for an unknown name as for a known one."""

import time
from collections.abc import Callable
from itertools import product

import bcrypt
import psycopg
import pytest

from tests.support.service import Service

pytestmark = pytest.mark.slow

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

        def seconds(name: str) -> float:
            began = time.perf_counter()
            body = {"username": name, "password": "wrong horse battery"}
            assert service.request("POST", "/auth/simple/login", body).status == 401
            return time.perf_counter() - began

        seconds("warming up")
        for _ in range(ROUNDS):
            # One after the other, so that all have their share of whatever else this machine does.
            for kind, name in (KNOWN | UNKNOWN).items():
                took[kind].append(seconds(name))
    # Of 12 and 12 that are alike, one in 30,000 is outside of this; without the hash for those who have none, it is 0
    # or 1.
    apart = {kind: chance(took[kind], took["wrong"]) for kind in took}
    assert {kind: value for kind, value in apart.items() if not 0.02 < value < 0.98} == {}
    known, unknown = ([second for kind in kinds for second in took[kind]] for kinds in (KNOWN, UNKNOWN))
    # 24 and 48, with a deviation of 0.07 where they are alike.
    assert 0.15 < chance(unknown, known) < 0.85
