"""How passwords are hashed and compared: cost, time and threads."""

import os
import sys
import threading
import time
from contextlib import ExitStack
from statistics import median

import bcrypt
import pytest

from rules import passwords
from sql.database import value
from tests.support.instance import pinned_to
from tests.support.login import HASH, ada, log_in
from tests.support.login_throttle import from_address
from tests.support.signup import counts, guest, invitation, sign_up
from tests.support.world import PASSWORD, Caller, refused

LONGEST = "x" * 72


def test_a_password_is_kept_as_bcrypt_at_the_cost_of_the_settings(world, stranger, conn):
    secret = invitation(world)
    sign_up(stranger, secret)
    sign_up(stranger, secret, username="ida", email="ida@example.org")
    kept = [
        row["password_hash"]
        for row in conn.execute("SELECT password_hash FROM users WHERE username IN ('grace', 'ida')")
    ]
    assert len(set(kept)) == 2
    assert all(one.startswith("$2b$04$") and bcrypt.checkpw(guest()["password"].encode(), one.encode()) for one in kept)


def test_a_password_that_only_begins_like_the_right_one_does_not_match(world, stranger):
    ada(world, password_hash=bcrypt.hashpw(LONGEST.encode(), bcrypt.gensalt(4)).decode())
    assert log_in(stranger, "ada", LONGEST).status_code == 200
    for longer in (LONGEST + "x", LONGEST + "y", LONGEST * 100):
        refused(log_in(stranger, "ada", longer), 401, "AuthenticationRequired")


@pytest.mark.parametrize("cost", [5, 6])
def test_a_hash_of_another_cost_is_made_anew_at_the_next_login(world, stranger, conn, cost):
    dated = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(cost)).decode()
    ada(world, password_hash=dated)
    since = world.last_event_id()
    kept = "SELECT password_hash FROM users WHERE username = 'ada'"
    assert log_in(stranger, "ada", "wrong horse battery").status_code == 401
    assert value(conn, kept) == dated
    assert log_in(stranger, "ada").status_code == 200
    fresh = value(conn, kept)
    assert fresh.startswith("$2b$04$")
    assert bcrypt.checkpw(PASSWORD.encode(), fresh.encode())
    assert log_in(stranger, "ada").status_code == 200
    assert value(conn, kept) == fresh
    assert world.events(since) == []


def test_a_hash_of_todays_cost_stays(world, stranger, conn):
    ada(world)
    assert log_in(stranger, "ada").status_code == 200
    assert value(conn, "SELECT password_hash FROM users WHERE username = 'ada'") == HASH


@pytest.mark.timing
def test_a_failure_takes_the_same_time_for_every_name(make_app, shared_url, world, conn):
    app = make_app(shared_url, BCRYPT_ROUNDS=9, LOGIN_FREE_FAILURES=1000, LOGIN_ATTEMPTS_PER_MINUTE=1000)
    ada(world, password_hash=bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(9)).decode())
    world.user("Empty", password_hash=None)
    world.user("Robot", password_hash=HASH, account_type="Service Account")
    world.user("Gone", password_hash=HASH)
    conn.execute("UPDATE users SET deleted_at = now() WHERE username = 'gone'")
    dated = bcrypt.hashpw(b"of another day", bcrypt.gensalt(7)).decode()
    world.user("Dated", password_hash=dated)
    attempts = {
        "wrong": ("ada", "wrong horse battery"),
        "wrong, and the hash of a lower cost": ("dated", "wrong horse battery"),
        "too long": ("ada", "x" * 73),
        "unknown": ("nobody", PASSWORD),
        "unknown address": ("nobody@example.org", PASSWORD),
        "unknown, too long": ("nobody", "x" * 73),
        "password-less": ("empty", PASSWORD),
        "service account": ("robot", PASSWORD),
        "deleted": ("gone", PASSWORD),
    }
    costs: dict[str, list[float]] = {name: [] for name in attempts}
    with pinned_to(app, conn):
        for _ in range(3):
            for name, (username, password) in attempts.items():
                # The time of the processor, not of the clock: others use this machine too.
                began = time.process_time()
                assert log_in(Caller(app), username, password).status_code == 401
                costs[name].append(time.process_time() - began)
    usual = median(costs["wrong"])
    assert {name: cost for name, cost in costs.items() if not 0.7 < median(cost) / usual < 1.3} == {}


@pytest.mark.timing
def test_a_failure_costs_the_same_also_where_passwords_once_cost_more():
    hasher = passwords.PasswordHasher(rounds=4, queue=2)
    kept = {cost: bcrypt.hashpw(b"of another day", bcrypt.gensalt(cost)).decode() for cost in (4, 9)}
    # Before that, one who has such a hash is the first of whom this process hears.
    assert not hasher.matches("wrong", kept[9])
    costs: list[float] = []
    for one in (kept[9], kept[4], None) * 3:
        began = time.process_time()
        assert not hasher.matches("wrong", one)
        costs.append(time.process_time() - began)
    assert max(costs) / min(costs) < 3


def test_two_passwords_at_most_are_hashed_at_a_time():
    hasher = passwords.PasswordHasher(rounds=4, queue=8)
    third = threading.Thread(target=hasher.hash, args=["the third"])
    with hasher._slot():
        with hasher._slot():
            third.start()
            third.join(0.2)
            assert third.is_alive()
        third.join(10)
        assert not third.is_alive()


def test_a_process_with_a_single_thread_hashes_passwords_too():
    hasher = passwords.PasswordHasher(rounds=4, queue=1 // 2)
    assert hasher.matches("a password", hasher.hash("a password"))


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a thread has no priority of its own")
def test_a_thread_that_hashes_yields_to_all_others():
    hasher = passwords.PasswordHasher(rounds=4, queue=2)

    def own_priority() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    own = os.getpriority(os.PRIO_PROCESS, os.getpid())
    # Strangers yield to callers who are known. The lowest priority is 19.
    known, unknown = min(own + 5, 19), min(own + 10, 19)
    assert [hasher._run(own_priority, is_known) for is_known in (True, False, True, False)] == [known, unknown] * 2
    assert own_priority() == own


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a thread has no priority of its own")
def test_passwords_are_hashed_even_if_threads_cannot_lower_their_priority(monkeypatch):
    def forbidden(*_: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "setpriority", forbidden)
    hasher = passwords.PasswordHasher(rounds=4, queue=2)
    assert hasher.matches("a password", hasher.hash("a password"))


def test_a_crowd_before_the_hasher_is_sent_away_and_nothing_is_counted(app, world, stranger, conn):
    ada(world)
    secret, disabled = invitation(world), invitation(world, enabled=False)
    before, since = counts(world), world.last_event_id()
    hasher = app.extensions["passwords"]
    with ExitStack() as crowd:
        for _ in range(app.config["THREADS"] // 2):
            assert hasher._queue.acquire(blocking=False)
            crowd.callback(hasher._queue.release)
        for response in (log_in(stranger, "ada"), log_in(stranger, "nobody"), sign_up(stranger, secret)):
            refused(response, 503, "UnavailableError")
            assert int(response.headers["Retry-After"]) >= 1
        # Callers without a token never reach the hasher.
        refused(sign_up(stranger, "unknown"), 404, "NotFoundError")
        refused(sign_up(stranger, disabled), 403, "NoAccessError")
    assert counts(world) == before
    assert world.events(since) == []
    assert value(conn, "SELECT count(*) FROM login_throttle") == 0
    assert log_in(stranger, "ada").status_code == 200


@pytest.fixture
def crowd(app):
    """Strangers who fill their half of the queue."""
    hasher = app.extensions["passwords"]
    with ExitStack() as stack:
        for _ in range(app.config["THREADS"] // 4):
            assert hasher._unknown_queue.acquire(blocking=False)
            stack.callback(hasher._unknown_queue.release)
        yield stack


@pytest.mark.parametrize(
    ("known", "same", "other"),
    [
        ("192.0.2.1", ["192.0.2.254", "::ffff:192.0.2.7"], ["192.0.3.1", "2001:db8::1"]),
        ("::ffff:192.0.2.1", ["192.0.2.9"], ["::ffff:192.0.3.1"]),
        ("2001:db8::1", ["2001:db8:0:ff::1"], ["2001:db8:0:100::1", "192.0.2.1"]),
    ],
)
def test_half_of_the_queue_is_for_names_known_in_their_network(world, stranger, request, known, same, other):
    ada(world, email="ada@example.org")
    assert log_in(stranger, "ada", **from_address(known)).status_code == 200
    request.getfixturevalue("crowd")
    for address in (known, *same):
        # The other name of the user is known too.
        for name in ("ada", "Ada@example.org"):
            assert log_in(stranger, name, **from_address(address)).status_code == 200
    for address in other:
        refused(log_in(stranger, "ada", **from_address(address)), 503, "UnavailableError")
    refused(log_in(stranger, "nobody", **from_address(known)), 503, "UnavailableError")
    refused(sign_up(stranger, invitation(world)), 503, "UnavailableError")


def test_a_name_is_known_by_its_right_password_for_30_days(world, stranger, conn, request):
    ada(world)
    assert log_in(stranger, "ada", "wrong horse battery").status_code == 401
    assert log_in(stranger, "nobody").status_code == 401
    assert value(conn, "SELECT count(*) FROM known_logins") == 0
    assert log_in(stranger, "ada").status_code == 200
    conn.execute("UPDATE known_logins SET seen_at = now() - interval '29 days'")
    crowd = request.getfixturevalue("crowd")
    assert log_in(stranger, "ada").status_code == 200
    # That login counts again.
    assert value(conn, "SELECT min(seen_at) > now() - interval '1 day' FROM known_logins")
    conn.execute("UPDATE known_logins SET seen_at = now() - interval '31 days'")
    refused(log_in(stranger, "ada"), 503, "UnavailableError")
    assert value(conn, "SELECT count(*) FROM known_logins") == 0
    crowd.close()
    assert log_in(stranger, "ada").status_code == 200


def test_users_with_a_session_change_their_password_beside_a_crowd(world, stranger, request):
    ada(world)
    cookie = log_in(stranger, "ada").headers["Set-Cookie"].split(";")[0]
    request.getfixturevalue("crowd")
    password = "another horse battery"
    body = {"oldPassword": PASSWORD, "password": password, "confirmPassword": password}
    response = stranger.post("/api/admin/user/change-password", json=body, headers={"Cookie": cookie})
    assert response.status_code == 200


def test_strangers_use_one_hashing_thread():
    hasher = passwords.PasswordHasher(rounds=4, queue=8)
    second = threading.Thread(target=hasher.matches, args=["a password", None, False])
    with hasher._slot(False):
        second.start()
        second.join(0.2)
        assert second.is_alive()
        # Known names need not wait.
        assert not hasher.matches("a password", None)
    second.join(10)
    assert not second.is_alive()


@pytest.mark.parametrize("rounds", [4, 5])
def test_every_comparison_ends_well_whatever_is_given(rounds):
    hasher = passwords.PasswordHasher(rounds, queue=2)
    kept = hasher.hash("é" * 36)
    assert kept.startswith(f"$2b$0{rounds}$")
    assert hasher.matches("é" * 36, kept)
    for given in ("é" * 36 + "x", "é" * 37, "é" * 35, "", "x" * 1_000_000):
        assert not hasher.matches(given, kept)
        assert not hasher.matches(given, None)
