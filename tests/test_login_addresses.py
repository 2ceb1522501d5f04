"""The throttle of login attempts by client address (decisions.md, 6)."""

from sql import value
from tests.conftest import pinned_to
from tests.test_log_in import ada, log_in
from tests.test_login_throttle import blocked, fail, from_address, known_of, retry_after
from tests.world import Caller


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
    ages = "clock_timestamp() - interval '61 s', clock_timestamp() - interval '60 s', clock_timestamp() - interval '30 s'"
    conn.execute(f"UPDATE login_addresses SET attempts = ARRAY[{ages}] || attempts[4:]")
    assert [log_in(stranger, "ada", **here).status_code for _ in range(2)] == [200] * 2
    assert 25 <= retry_after(log_in(stranger, "ada", **here)) <= 30


def test_an_attempt_that_waits_for_its_name_counts_for_the_address(app, stranger, conn, monkeypatch):
    monkeypatch.setitem(app.config, "LOGIN_ATTEMPTS_PER_MINUTE", 7)
    blocked(conn, stranger, "nobody")
    for _ in range(2):
        assert retry_after(log_in(stranger, "nobody")) > 60
    assert retry_after(log_in(stranger, "nobody")) <= 60


def test_what_a_stranger_says_of_his_address_is_not_believed(app, world, stranger, monkeypatch):
    monkeypatch.setitem(app.config, "LOGIN_ATTEMPTS_PER_MINUTE", 2)
    ada(world)
    forwarded = [{"X-Forwarded-For": f"198.51.100.{number}", "Forwarded": f"for=198.51.100.{number}"} for number in range(3)]
    assert [log_in(stranger, "ada", headers=headers).status_code for headers in forwarded] == [200, 200, 429]


def test_what_a_trusted_proxy_says_of_it_is(make_app, shared_url, world, conn):
    ada(world)
    behind_proxy = make_app(shared_url, TRUSTED_PROXIES=1, LOGIN_ATTEMPTS_PER_MINUTE=1)
    with pinned_to(behind_proxy, conn):
        stranger = Caller(behind_proxy)
        chains = ("198.51.100.1", "198.51.100.2", "203.0.113.7, 198.51.100.2")
        assert [log_in(stranger, "ada", headers={"X-Forwarded-For": chain}).status_code for chain in chains] == [200, 200, 429]
