"""The login throttle: how many guesses a name and an address have, and how long they wait after those."""

import hashlib
import time
from contextlib import ExitStack

from rules.login import name_digest
from sql import login_throttle
from sql.database import connect, one, rows, value
from tests.support.login import HASH, ada, log_in
from tests.support.login_throttle import WRONG, blocked, fail, from_address, hold_waits, known_of, retry_after
from tests.support.planner import plan_by_loops
from tests.support.world import PASSWORD, Caller, refused


def end_waits(conn) -> None:
    """Let all waits be over, as if their time had passed."""
    conn.execute("UPDATE login_throttle SET blocked_until = clock_timestamp()")


def test_the_sixth_attempt_waits_even_with_the_right_password(world, stranger, conn):
    ada(world)
    since = world.last_event_id()
    assert fail(stranger, "ada", 4) == [401] * 4
    assert known_of(conn, "ada") == (4, 0)
    # Too long a password is a failure like any other.
    assert log_in(stranger, "ada", "x" * 73).status_code == 401
    assert known_of(conn, "ada") == (5, 1)
    hold_waits(conn)
    assert retry_after(log_in(stranger, "ada", WRONG)) >= 1
    assert retry_after(log_in(stranger, "ada")) >= 1
    assert value(conn, "SELECT count(*) FROM sessions") == 0
    assert world.events(since) == []


def test_an_unknown_name_is_throttled_alike(world, stranger, conn):
    ada(world)
    stories = []
    for name in ("ada", "nobody", "ada@example.org", "nobody@example.org"):
        answers = [log_in(stranger, name, WRONG) for _ in range(5)]
        counted = known_of(conn, name)
        hold_waits(conn)
        answers += [log_in(stranger, name, WRONG) for _ in range(2)]
        answered = [
            (answer.status_code, answer.json["name"], answer.json["message"], set(answer.headers.keys()))
            for answer in answers
        ]
        stories.append([counted, *answered])
        conn.execute("DELETE FROM login_throttle")
    assert [status for status, *_ in stories[0][1:]] == [401] * 5 + [429] * 2
    assert stories[0][0] == (5, 1)
    assert stories == [stories[0]] * 4


def test_the_wait_doubles_up_to_a_quarter_of_an_hour(world, stranger, conn):
    ada(world)
    fail(stranger, "ada", 5)
    for failures, wait in enumerate([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900], start=5):
        assert known_of(conn, "ada") == (failures, wait)
        end_waits(conn)
        assert fail(stranger, "ada", 1) == [401]


def test_a_thousand_failures_wait_no_longer(world, stranger, conn):
    ada(world)
    fail(stranger, "ada", 1)
    conn.execute("UPDATE login_throttle SET failures = 100000")
    assert fail(stranger, "ada", 1) == [401]
    assert known_of(conn, "ada") == (100001, 900)


def test_retry_after_is_what_remains_of_the_wait(world, stranger, conn):
    ada(world)
    fail(stranger, "ada", 1)
    conn.execute("UPDATE login_throttle SET blocked_until = clock_timestamp() + interval '600 seconds'")
    assert 540 <= retry_after(log_in(stranger, "ada")) <= 600
    conn.execute("UPDATE login_throttle SET blocked_until = clock_timestamp() + interval '59.5 seconds'")
    assert retry_after(log_in(stranger, "ada")) <= 60


def test_the_right_password_after_the_wait_logs_in_and_clears_the_failures(world, stranger, conn):
    user = ada(world)
    blocked(conn, stranger, "ada")
    end_waits(conn)
    response = log_in(stranger, "ada")
    assert response.status_code == 200
    assert response.json["loginAttempts"] == 0
    assert known_of(conn, "ada") is None
    assert fail(stranger, "ada", 4) == [401] * 4
    assert known_of(conn, "ada") == (4, 0)
    assert value(conn, "SELECT login_attempts FROM users WHERE id = %(id)s", {"id": user.id}) == 4


def test_a_success_begins_the_count_afresh(world, stranger, conn):
    ada(world)
    for _ in range(3):
        assert fail(stranger, "ada", 4) == [401] * 4
        assert log_in(stranger, "ada").status_code == 200
        assert known_of(conn, "ada") is None


def test_a_success_by_the_name_is_one_for_the_address_too(world, stranger, conn):
    ada(world)
    fail(stranger, "ada@example.org", 4)
    fail(stranger, "ada", 4)
    assert log_in(stranger, "ada").status_code == 200
    assert rows(conn, "SELECT * FROM login_throttle") == []


def test_a_success_forgets_nothing_of_other_names(world, stranger, conn):
    ada(world)
    fail(stranger, "bob", 3)
    assert log_in(stranger, "ada").status_code == 200
    assert known_of(conn, "bob") == (3, 0)


def test_attempts_during_the_wait_do_not_count_or_lengthen_the_wait(world, stranger, conn):
    user = ada(world)
    blocked(conn, stranger, "ada")
    before = rows(conn, "SELECT * FROM login_throttle")
    for password in (WRONG, "x" * 73, PASSWORD):
        retry_after(log_in(stranger, "ada", password))
    assert rows(conn, "SELECT * FROM login_throttle") == before
    assert value(conn, "SELECT login_attempts FROM users WHERE id = %(id)s", {"id": user.id}) == 5


def test_blocked_names_are_refused_before_the_comparison(app, stranger, conn):
    blocked(conn, stranger, "nobody")
    hasher = app.extensions["passwords"]
    with ExitStack() as crowd:
        for _ in range(app.config["THREADS"] // 2):
            assert hasher._queue.acquire(blocking=False)
            crowd.callback(hasher._queue.release)
        refused(log_in(stranger, "somebody"), 503, "UnavailableError")
        assert retry_after(log_in(stranger, "nobody")) >= 1


def test_a_blocked_name_blocks_no_other(world, stranger, conn):
    ada(world)
    world.user("Bob", password_hash=HASH)
    blocked(conn, stranger, "ada")
    assert log_in(stranger, "bob").status_code == 200
    # What a name stands for is not asked: the address of the same user has guesses of its own.
    assert log_in(stranger, "ada@example.org").status_code == 200


def test_an_address_in_any_case_is_one_name(world, stranger, conn):
    ada(world)
    for name in ("ada@example.org", "ADA@example.org", "Ada@Example.Org", "adA@EXAMPLE.ORG", "ada@example.ORG"):
        assert fail(stranger, name, 1) == [401]
    assert known_of(conn, "ada@example.org") == (5, 1)
    hold_waits(conn)
    retry_after(log_in(stranger, "aDa@example.org"))


def test_user_names_that_differ_in_case_are_two_names(world, stranger, conn):
    ada(world)
    blocked(conn, stranger, "Ada")
    assert log_in(stranger, "ada").status_code == 200
    assert known_of(conn, "Ada") == (5, 301)


def test_the_limits_of_a_name_are_settings(app, world, stranger, conn, monkeypatch):
    monkeypatch.setitem(app.config, "LOGIN_FREE_FAILURES", 1)
    monkeypatch.setitem(app.config, "LOGIN_MAX_WAIT_SECONDS", 3)
    ada(world)
    for wait in (1, 2, 3, 3):
        assert fail(stranger, "ada", 1) == [401]
        assert known_of(conn, "ada")[1] == wait
        hold_waits(conn)
        retry_after(log_in(stranger, "ada"))
        end_waits(conn)


def test_the_throttle_is_shared_by_all_processes(make_database, make_app):
    url = make_database()
    first, second = (Caller(make_app(url, LOGIN_ATTEMPTS_PER_MINUTE=8)) for _ in range(2))
    assert fail(first, "admin", 3) + fail(second, "admin", 2) == [401] * 5
    with connect(url) as conn:
        hold_waits(conn)
        assert known_of(conn, "admin") == (5, 301)
    for caller in (first, second):
        assert retry_after(log_in(caller, "admin", "the administrator's password")) > 60
    fail(first, "somebody", 1)
    for caller in (first, second):
        assert retry_after(log_in(caller, "somebody", WRONG)) <= 60


def test_the_stored_rows_do_not_reveal_names(world, stranger, conn):
    ada(world)
    for name in ("ada", "Ada@example.org", "my secret password, typed into the wrong field"):
        fail(stranger, name, 1)
    digests = {row["name_digest"] for row in rows(conn, "SELECT name_digest FROM login_throttle")}
    assert digests == {
        name_digest(name) for name in ("ada", "ada@example.org", "my secret password, typed into the wrong field")
    }
    assert hashlib.sha256(b"ada").digest() not in digests
    kept = value(conn, "SELECT string_agg(row_to_json(login_throttle)::text, ' ') FROM login_throttle")
    assert "example" not in kept
    assert "secret" not in kept


def test_stored_digests_hide_the_names():
    began = time.process_time()
    for guess in range(20):
        name_digest(f"guess {guess}")
    # Of SHA-256 it would be a microsecond, and of this on no processor less than:
    assert (time.process_time() - began) / 20 > 0.0003


def test_a_name_is_forgotten_a_day_after_its_last_failure(world, stranger, conn):
    ada(world)
    fail(stranger, "long ago", 1)
    fail(stranger, "yesterday", 1)
    fail(stranger, "ada", 4)
    for name, hours in (("long ago", 24), ("yesterday", 23), ("ada", 25)):
        age = (
            "UPDATE login_throttle SET last_failed_at = clock_timestamp() - make_interval(hours => %s) "
            "WHERE name_digest = %s"
        )
        conn.execute(age, [hours, name_digest(name)])
    # For each caller, with the right password and with a wrong one.
    assert log_in(stranger, "ada").status_code == 200
    assert known_of(conn, "long ago") is None
    assert known_of(conn, "yesterday")[0] == 1


def test_failures_older_than_a_day_do_not_count(stranger, conn):
    fail(stranger, "ada", 4)
    conn.execute("UPDATE login_throttle SET last_failed_at = clock_timestamp() - interval '25 hours'")
    assert login_throttle.fail(conn, name_digest("ada"), login_throttle.Limits(5, 900)) == 0
    assert known_of(conn, "ada") == (1, 0)


def test_an_address_is_forgotten_after_its_minute(stranger, conn):
    fail(stranger, "a", 1, **from_address("192.0.2.1"))
    fail(stranger, "b", 1, **from_address("192.0.2.2"))
    conn.execute(
        "UPDATE login_addresses SET last_attempt_at = clock_timestamp() - interval '61 s' WHERE address = '192.0.2.1'"
    )
    fail(stranger, "c", 1, **from_address("192.0.2.3"))
    assert rows(conn, "SELECT address FROM login_addresses ORDER BY address") == [
        {"address": "192.0.2.2"},
        {"address": "192.0.2.3"},
    ]


def test_an_address_that_comes_again_is_not(stranger, conn):
    fail(stranger, "a", 1)
    conn.execute("UPDATE login_addresses SET last_attempt_at = clock_timestamp() - interval '61 s'")
    fail(stranger, "b", 1)
    assert value(conn, "SELECT cardinality(attempts) FROM login_addresses") == 2


def test_one_attempt_clears_at_most_a_hundred_old_names_and_addresses_away(stranger, conn):
    old = "clock_timestamp() - interval '2 days'"
    conn.execute(
        f"INSERT INTO login_throttle SELECT sha256(number::text::bytea), 1, {old}, {old} "
        "FROM generate_series(1, 130) AS number"
    )
    conn.execute(
        f"INSERT INTO login_addresses SELECT 'old ' || number, '{{}}', {old} FROM generate_series(1, 130) AS number"
    )
    # However it is planned: also by looking at each in turn.
    plan_by_loops(conn)
    fail(stranger, "ada", 1)
    left = "SELECT (SELECT count(*) FROM login_throttle) AS names, (SELECT count(*) FROM login_addresses) AS addresses"
    assert one(conn, left) == {"names": 31, "addresses": 31}
