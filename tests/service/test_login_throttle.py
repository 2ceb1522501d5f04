"""The throttles: of guesses at a name, and of logins and signups from a client address."""

import hashlib
import time
from contextlib import ExitStack

import pytest

from rules.login import name_digest
from sql import login_throttle
from sql.database import connect, one, rows, value
from tests.support.instance import pinned_to
from tests.support.login import HASH, ada, log_in
from tests.support.login_throttle import WRONG, blocked, fail, from_address, hold_waits, known_of, retry_after
from tests.support.planner import plan_by_loops
from tests.support.signup import guest, invitation, sign_up
from tests.support.world import PASSWORD, Caller, refused


def end_waits(conn) -> None:
    """End all waits, as if their time had passed."""
    conn.execute("UPDATE login_throttle SET blocked_until = clock_timestamp()")


# Names


def test_the_sixth_attempt_waits_for_known_and_unknown_names(world, stranger, conn):
    ada(world)
    since, stories = world.last_event_id(), []
    for name in ("ada", "unknown", "ada@example.org", "unknown@example.org"):
        # Too long a password is a failure like any other.
        answers = [log_in(stranger, name, password) for password in ("x" * 73, *[WRONG] * 3)]
        assert known_of(conn, name) == (4, 0)
        answers.append(log_in(stranger, name, WRONG))
        assert known_of(conn, name) == (5, 1)
        hold_waits(conn)
        # The right password waits too.
        answers += [log_in(stranger, name, password) for password in (WRONG, PASSWORD)]
        assert [retry_after(answer) >= 1 for answer in answers[5:]] == [True, True]
        stories.append(
            [
                (answer.status_code, answer.json["name"], answer.json["message"], set(answer.headers.keys()))
                for answer in answers
            ]
        )
        conn.execute("DELETE FROM login_throttle")
    assert [status for status, *_ in stories[0]] == [401] * 5 + [429] * 2
    assert stories == [stories[0]] * 4
    assert value(conn, "SELECT count(*) FROM sessions") == 0
    assert world.events(since) == []


def test_the_wait_doubles_up_to_a_quarter_of_an_hour(world, stranger, conn):
    ada(world)
    fail(stranger, "ada", 5)
    for failures, wait in enumerate([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900], start=5):
        assert known_of(conn, "ada") == (failures, wait)
        end_waits(conn)
        assert fail(stranger, "ada", 1) == [401]
    conn.execute("UPDATE login_throttle SET failures = 100000, blocked_until = clock_timestamp()")
    assert fail(stranger, "ada", 1) == [401]
    assert known_of(conn, "ada") == (100001, 900)


def test_retry_after_is_what_remains_of_the_wait(world, stranger, conn):
    ada(world)
    fail(stranger, "ada", 1)
    conn.execute("UPDATE login_throttle SET blocked_until = clock_timestamp() + interval '600 seconds'")
    assert 540 <= retry_after(log_in(stranger, "ada")) <= 600
    conn.execute("UPDATE login_throttle SET blocked_until = clock_timestamp() + interval '59.5 seconds'")
    assert retry_after(log_in(stranger, "ada")) <= 60


def test_a_clock_that_was_set_back_locks_nobody_out(app, world, stranger, conn, monkeypatch):
    ada(world)
    blocked(conn, stranger, "ada")
    blocked(conn, stranger, "unknown")
    monkeypatch.setitem(app.config, "LOGIN_ATTEMPTS_PER_MINUTE", 6)
    later = "clock_timestamp() + interval '3 days'"
    conn.execute(f"UPDATE login_throttle SET last_failed_at = {later}, blocked_until = {later} + interval '900 s'")
    conn.execute(f"UPDATE login_addresses SET attempts = array_fill({later}, ARRAY[6])")
    assert log_in(stranger, "ada").status_code == 200
    # Another failure counts, and its wait is not longer than before.
    assert fail(stranger, "unknown", 1) == [401]
    assert known_of(conn, "unknown") == (6, 2)


def test_the_right_password_after_the_wait_clears_the_failures(world, stranger, conn):
    user = ada(world)
    blocked(conn, stranger, "ada")
    end_waits(conn)
    assert log_in(stranger, "ada").json["loginAttempts"] == 0
    assert known_of(conn, "ada") is None
    assert fail(stranger, "ada", 4) == [401] * 4
    assert known_of(conn, "ada") == (4, 0)
    assert value(conn, "SELECT login_attempts FROM users WHERE id = %(id)s", {"id": user.id}) == 4


def test_a_success_clears_both_names_of_the_user_and_no_others(world, stranger, conn):
    ada(world)
    fail(stranger, "bob", 3)
    for _ in range(2):
        assert fail(stranger, "ada@example.org", 4) + fail(stranger, "ada", 4) == [401] * 8
        assert log_in(stranger, "ada").status_code == 200
        assert known_of(conn, "ada") is known_of(conn, "ada@example.org") is None
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
    blocked(conn, stranger, "unknown")
    hasher = app.extensions["passwords"]
    with ExitStack() as crowd:
        for _ in range(app.config["THREADS"] // 2):
            assert hasher._queue.acquire(blocking=False)
            crowd.callback(hasher._queue.release)
        refused(log_in(stranger, "somebody"), 503, "UnavailableError")
        assert retry_after(log_in(stranger, "unknown")) >= 1


def test_a_blocked_name_blocks_no_other(world, stranger, conn):
    ada(world)
    world.user("Bob", password_hash=HASH)
    blocked(conn, stranger, "ada")
    # User names are case-sensitive, and the address of the same user has guesses of its own.
    blocked(conn, stranger, "Ada")
    assert known_of(conn, "Ada") == (5, 301)
    for name in ("bob", "ada@example.org"):
        assert log_in(stranger, name).status_code == 200
    for name in ("ada@example.org", "ADA@example.org", "Ada@Example.Org", "adA@EXAMPLE.ORG", "ada@example.ORG"):
        assert fail(stranger, name, 1) == [401]
    assert known_of(conn, "ada@example.org") == (5, 1)
    hold_waits(conn)
    retry_after(log_in(stranger, "aDa@example.org"))


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
    typed = "my secret password, typed into the wrong field"
    for name in ("ada", "Ada@example.org", typed):
        fail(stranger, name, 1)
    digests = {row["name_digest"] for row in rows(conn, "SELECT name_digest FROM login_throttle")}
    assert digests == {name_digest(name) for name in ("ada", "ada@example.org", typed)}
    assert hashlib.sha256(b"ada").digest() not in digests
    kept = value(conn, "SELECT string_agg(row_to_json(login_throttle)::text, ' ') FROM login_throttle")
    assert [word for word in ("example", "secret") if word in kept] == []
    began = time.process_time()
    for guess in range(20):
        name_digest(f"guess {guess}")
    # SHA-256 alone takes a microsecond, and this on no processor less than:
    assert (time.process_time() - began) / 20 > 0.0003


def test_a_name_is_forgotten_a_day_after_its_last_failure(world, stranger, conn):
    ada(world)
    for name, hours, failures in (("long ago", 24, 1), ("yesterday", 23, 1), ("ada", 25, 4)):
        fail(stranger, name, failures)
        age = "SET last_failed_at = clock_timestamp() - make_interval(hours => %s) WHERE name_digest = %s"
        conn.execute(f"UPDATE login_throttle {age}", [hours, name_digest(name)])
    # Older failures do not count, even before they are deleted.
    assert login_throttle.fail(conn, name_digest("ada"), login_throttle.Limits(5, 900)) == 0
    assert known_of(conn, "ada") == (1, 0)
    # Each login deletes them.
    assert log_in(stranger, "ada").status_code == 200
    assert known_of(conn, "long ago") is None
    assert known_of(conn, "yesterday")[0] == 1


# Addresses


def test_an_address_has_thirty_attempts_a_minute(world, stranger, conn):
    ada(world)
    here, elsewhere = from_address("192.0.2.1"), from_address("2001:db8::1")
    assert [log_in(stranger, "ada", **here).status_code for _ in range(15)] == [200] * 15
    assert [fail(stranger, f"guess {number}", 1, **here) for number in range(15)] == [[401]] * 15
    assert 1 <= retry_after(log_in(stranger, "ada", **here)) <= 60
    assert 1 <= retry_after(log_in(stranger, "somebody", **here)) <= 60
    assert known_of(conn, "somebody") is None
    assert value(conn, "SELECT cardinality(attempts) FROM login_addresses WHERE address = '192.0.2.1'") == 30
    assert log_in(stranger, "ada", **elsewhere).status_code == 200


def test_the_minute_of_an_address_slides(app, world, stranger, conn, monkeypatch):
    monkeypatch.setitem(app.config, "LOGIN_ATTEMPTS_PER_MINUTE", 6)
    ada(world)
    here = from_address("192.0.2.1")
    assert [log_in(stranger, "ada", **here).status_code for _ in range(7)] == [200] * 6 + [429]
    # Two of them were a minute ago and one is nearly so.
    ages = (
        "clock_timestamp() - interval '61 s', clock_timestamp() - interval '60 s', clock_timestamp() - interval '30 s'"
    )
    conn.execute(f"UPDATE login_addresses SET attempts = ARRAY[{ages}] || attempts[4:]")
    assert [log_in(stranger, "ada", **here).status_code for _ in range(2)] == [200] * 2
    assert 25 <= retry_after(log_in(stranger, "ada", **here)) <= 30
    # What does not count is not kept.
    assert value(conn, "SELECT cardinality(attempts) FROM login_addresses") == 6


def test_an_attempt_that_waits_for_its_name_counts_for_the_address(app, stranger, conn, monkeypatch):
    monkeypatch.setitem(app.config, "LOGIN_ATTEMPTS_PER_MINUTE", 7)
    blocked(conn, stranger, "unknown")
    for _ in range(2):
        assert retry_after(log_in(stranger, "unknown")) > 60
    assert retry_after(log_in(stranger, "unknown")) <= 60


def test_an_address_has_thirty_looks_at_signup_tokens_a_minute(world, stranger, conn):
    ada(world)
    here, known = from_address("192.0.2.1"), f"/invite/{invitation(world)}/validate"
    for number in range(10):
        refused(stranger.get(f"/invite/guess-{number}/validate", **here), 404, "NotFoundError")
        refused(stranger.post(f"/invite/guess-{number}/signup", json=guest(), **here), 404, "NotFoundError")
        assert stranger.get(known, **here).status_code == 200
    since = world.last_event_id()
    conn.execute(
        "UPDATE login_addresses SET attempts = ARRAY(SELECT clock_timestamp() - interval '10 s' FROM unnest(attempts))"
    )
    conn.execute("INSERT INTO login_addresses VALUES ('old', '{}', clock_timestamp() - interval '61 s')")
    # The right secret is no help.
    for answer in (stranger.get("/invite/guess/validate", **here), stranger.get(known, **here)):
        assert 20 <= retry_after(answer) <= 50
    # A refused attempt also deletes old rows.
    assert value(conn, "SELECT count(*) FROM login_addresses WHERE address = 'old'") == 0
    assert 1 <= retry_after(stranger.post(known.replace("validate", "signup"), json=guest(), **here)) <= 60
    assert value(conn, "SELECT count(*) FROM users WHERE username = 'grace'") == 0
    assert world.events(since) == []
    for address in ("192.0.2.2", "2001:db8::1"):
        assert stranger.get(known, **from_address(address)).status_code == 200
    # Logins are counted separately.
    assert log_in(stranger, "ada", **here).status_code == 200


def test_an_invalid_body_is_no_attempt_to_sign_up(app, world, stranger, conn, monkeypatch):
    monkeypatch.setitem(app.config, "SIGNUP_ATTEMPTS_PER_MINUTE", 1)
    secret = invitation(world)
    for _ in range(3):
        assert stranger.post(f"/invite/{secret}/signup", json={}).status_code == 400
    assert sign_up(stranger, secret).status_code == 200
    assert retry_after(sign_up(stranger, secret)) >= 1
    assert value(conn, "SELECT address FROM login_addresses") == "signup 127.0.0.1"


def test_forwarded_headers_of_clients_are_ignored(app, world, stranger, monkeypatch):
    for setting in ("LOGIN_ATTEMPTS_PER_MINUTE", "SIGNUP_ATTEMPTS_PER_MINUTE"):
        monkeypatch.setitem(app.config, setting, 2)
    ada(world)
    path = f"/invite/{invitation(world)}/validate"
    addresses = [f"198.51.100.{number}" for number in range(3)]
    forwarded = [{"X-Forwarded-For": at, "X-Real-IP": at, "Forwarded": f"for={at}"} for at in addresses]
    assert [log_in(stranger, "ada", headers=headers).status_code for headers in forwarded] == [200, 200, 429]
    assert [stranger.get(path, headers=headers).status_code for headers in forwarded] == [200, 200, 429]


def test_forwarded_headers_of_trusted_proxies_count(make_app, shared_url, world, conn):
    ada(world)
    behind_proxy = make_app(shared_url, TRUSTED_PROXIES=1, LOGIN_ATTEMPTS_PER_MINUTE=1)
    chains = {"198.51.100.1": 200, "198.51.100.2": 200, "203.0.113.7, 198.51.100.2": 429}
    with pinned_to(behind_proxy, conn):
        for chain, status in chains.items():
            headers = {"X-Forwarded-For": chain}
            assert log_in(Caller(behind_proxy), "ada", headers=headers).status_code == status


@pytest.mark.parametrize(
    ("addresses", "counted"),
    [
        (["192.0.2.1", "::ffff:192.0.2.1", "192.0.2.1:4711", "[::ffff:192.0.2.1]:80"], "192.0.2.1"),
        (
            ["2001:db8::1", "2001:DB8:0:ff:ffff::2", "[2001:db8::3]:443", "[2001:db8::4]", "2001:db8::5%eth0"],
            "2001:db8::/56",
        ),
        (["", "unknown", "_hidden", "a" * 5000, "192.0.2.256", "1.2.3.4, 5.6.7.8", "é"], "unknown"),
    ],
)
def test_the_part_of_an_address_that_a_client_can_vary_does_not_count(stranger, conn, addresses, counted):
    for number, address in enumerate(addresses):
        assert fail(stranger, f"guess {number}", 1, **from_address(address)) == [401]
    assert rows(conn, "SELECT address, cardinality(attempts) AS number FROM login_addresses") == [
        {"address": counted, "number": len(addresses)}
    ]


def test_neighbours_have_attempts_of_their_own(app, stranger, monkeypatch):
    monkeypatch.setitem(app.config, "LOGIN_ATTEMPTS_PER_MINUTE", 1)
    for address in ("192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8:0:100::1"):
        assert [fail(stranger, "guess", 1, **from_address(address)) for _ in range(2)] == [[401], [429]]


def test_an_address_is_forgotten_after_its_minute_unless_it_comes_again(stranger, conn):
    for number in (1, 2):
        fail(stranger, "a", 1, **from_address(f"192.0.2.{number}"))
    conn.execute("UPDATE login_addresses SET last_attempt_at = clock_timestamp() - interval '61 s'")
    fail(stranger, "b", 1, **from_address("192.0.2.2"))
    addresses = rows(conn, "SELECT address, cardinality(attempts) AS attempts FROM login_addresses")
    assert addresses == [{"address": "192.0.2.2", "attempts": 2}]


def test_one_attempt_deletes_at_most_a_hundred_old_names_and_addresses(stranger, conn):
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
