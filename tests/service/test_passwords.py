"""Passwords: which are valid, how they are hashed and compared, and that none is kept."""

import os
import sys
import threading
import time
from contextlib import ExitStack
from statistics import median

import bcrypt
import pytest

from rules import passwords
from sql.database import rows, value
from tests.support.fingerprint import fingerprint
from tests.support.instance import pinned_to
from tests.support.login import HASH, ada, log_in
from tests.support.login_throttle import from_address
from tests.support.sessions import change, cookie_of
from tests.support.signup import counts, invitation, sign_up
from tests.support.world import PASSWORD, Caller, refused

LONGEST = "x" * 72

# Valid passwords


@pytest.mark.parametrize(
    "password",
    [
        "12345678",
        "        ",
        " spaces around ",
        "éèêëàâäü",
        "пароль и пароль",
        "🐘🐘🐘🐘🐘🐘🐘🐘",
        LONGEST,
        "é" * 36,
        "🐘" * 18,
        "Ada Lovelace!",
        'quote " and \\ and \n newline',
    ],
)
def test_passwords_of_valid_length_are_stored_unchanged(world, stranger, conn, password):
    secret = invitation(world)
    for name in ("grace", "ida"):
        sign_up(stranger, secret, username=name, email=f"{name}@example.org", password=password)
    kept = [row["password_hash"] for row in rows(conn, "SELECT password_hash FROM users WHERE username IS NOT NULL")]
    kept = [one for one in kept if one and bcrypt.checkpw(password.encode(), one.encode())]
    # The cost is a setting, and two users with one password have different hashes.
    assert len(set(kept)) == 2
    assert {one[:7] for one in kept} == {"$2b$04$"}
    assert log_in(stranger, "grace", password).status_code == 200
    for other in (password + "!", password[:-1], " " + password, password * 100):
        assert log_in(stranger, "grace", other).status_code == 401


SHORT, LONG = "password: must be at least 8 characters long", "password: must be at most 72 bytes long"
OWN_NAME = "password: must not be the user's own name, user name or email"


@pytest.mark.parametrize(
    ("password", "message"),
    [
        ("", SHORT),
        ("1234567", SHORT),
        ("🐘" * 7, SHORT),
        ("x" * 73, LONG),
        ("é" * 37, LONG),
        ("🐘" * 18 + "x", LONG),
        *(
            (name, OWN_NAME)
            for name in ("Grace Strauß", "grace STRAUSS", "grace.hopper", "Grace.Hopper", "GRACE@Example.org")
        ),
    ],
)
def test_an_invalid_password_is_refused(world, stranger, conn, password, message):
    secret = invitation(world)
    before = fingerprint(conn)
    assert (
        refused(sign_up(stranger, secret, name="Grace Strauß", username="grace.hopper", password=password)) == message
    )
    assert fingerprint(conn) == before


def test_the_minimum_length_is_a_setting(app, world, stranger, monkeypatch):
    monkeypatch.setitem(app.config, "PASSWORD_MIN_LENGTH", 12)
    secret = invitation(world)
    message = refused(sign_up(stranger, secret, password="elevenchars"))
    assert message == "password: must be at least 12 characters long"
    assert sign_up(stranger, secret, password="twelve chars").status_code == 200


def test_passwords_and_signup_secrets_are_not_stored_or_logged(world, stranger, conn, capsys):
    secret = invitation(world)
    password = "a password like no other"
    answers = [
        sign_up(stranger, secret, password=password),
        sign_up(stranger, secret, password=password),
        sign_up(stranger, secret, password=password, email="nonsense"),
        log_in(stranger, "grace", password),
        log_in(stranger, "ida", password),
    ]
    assert [answer.status_code for answer in answers] == [200, 409, 400, 200, 401]
    tables = [row["tablename"] for row in rows(conn, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
    kept = {table: value(conn, f"SELECT coalesce(string_agg(t::text, ' '), '') FROM {table} t") for table in tables}
    assert [table for table, text in kept.items() if password in text] == []
    assert [table for table, text in kept.items() if secret in text] == ["signup_tokens"]
    written = capsys.readouterr().out
    assert password not in written
    assert secret not in written
    assert written.count("/invite/<token>/signup") == 3


# Cost and time


@pytest.mark.parametrize("cost", [4, 5, 6])
def test_a_hash_of_another_cost_is_replaced_at_the_next_login(world, stranger, conn, cost):
    dated = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(cost)).decode()
    user = ada(world, password_hash=dated)
    since, kept = world.last_event_id(), "SELECT password_hash FROM users WHERE username = 'ada'"
    assert log_in(stranger, "ada", "wrong horse battery").status_code == 401
    assert value(conn, kept) == dated
    session, _ = cookie_of(log_in(stranger, "ada"))
    fresh = value(conn, kept)
    assert (fresh == dated) == (cost == 4)
    assert fresh.startswith("$2b$04$")
    assert bcrypt.checkpw(PASSWORD.encode(), fresh.encode())
    assert log_in(stranger, "ada").status_code == 200
    assert value(conn, kept) == fresh
    assert world.events(since) == []
    # It is no past password.
    assert rows(conn, "SELECT * FROM past_passwords") == []
    assert change(stranger, session=session).status_code == 200
    past = rows(conn, "SELECT user_id, password_hash FROM past_passwords")
    assert past == [{"user_id": user.id, "password_hash": fresh}]


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


# Threads and the queue


@pytest.mark.parametrize(("is_known", "most"), [(True, 2), (False, 1)])
def test_callers_use_two_hashing_threads_and_strangers_one(is_known, most):
    hasher = passwords.PasswordHasher(rounds=4, queue=8)
    another = threading.Thread(target=hasher.matches, args=["a password", None, is_known])
    with ExitStack() as slots:
        for _ in range(most):
            slots.enter_context(hasher._slot(is_known))
        another.start()
        another.join(0.2)
        assert another.is_alive()
        # Known names need not wait for strangers.
        assert is_known or not hasher.matches("a password", None)
    another.join(10)
    assert not another.is_alive()


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


@pytest.mark.parametrize("rounds", [4, 5])
@pytest.mark.parametrize("queue", [1 // 2, 2])
def test_every_comparison_ends_well(monkeypatch, rounds, queue):
    def forbidden(*_: int) -> None:
        raise PermissionError

    # Even if threads cannot lower their priority, or the process has a single thread.
    monkeypatch.setattr(os, "setpriority", forbidden)
    hasher = passwords.PasswordHasher(rounds, queue)
    kept = hasher.hash("é" * 36)
    assert kept.startswith(f"$2b$0{rounds}$")
    assert hasher.matches("é" * 36, kept)
    for given in ("é" * 36 + "x", "é" * 37, "é" * 35, "", "x" * 1_000_000):
        assert not hasher.matches(given, kept)
        assert not hasher.matches(given, None)


def test_a_full_queue_is_503_and_nothing_is_counted(app, world, stranger, conn):
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
    session, _ = cookie_of(log_in(stranger, "ada"))
    request.getfixturevalue("crowd")
    assert change(stranger, session=session).status_code == 200
