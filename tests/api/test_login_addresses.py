"""The throttles by client address: of login attempts, and of signups and guesses at signup tokens."""

import pytest

from sql.database import rows, value
from tests.support.instance import pinned_to
from tests.support.login import ada, log_in
from tests.support.login_throttle import blocked, fail, from_address, known_of, retry_after
from tests.support.signup import guest, invitation, sign_up
from tests.support.world import Caller, refused


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
    blocked(conn, stranger, "nobody")
    for _ in range(2):
        assert retry_after(log_in(stranger, "nobody")) > 60
    assert retry_after(log_in(stranger, "nobody")) <= 60


def test_forwarded_headers_of_clients_are_ignored(app, world, stranger, monkeypatch):
    monkeypatch.setitem(app.config, "LOGIN_ATTEMPTS_PER_MINUTE", 2)
    ada(world)
    forwarded = [
        {"X-Forwarded-For": f"198.51.100.{number}", "Forwarded": f"for=198.51.100.{number}"} for number in range(3)
    ]
    assert [log_in(stranger, "ada", headers=headers).status_code for headers in forwarded] == [200, 200, 429]


def test_forwarded_headers_of_trusted_proxies_count(make_app, shared_url, world, conn):
    ada(world)
    behind_proxy = make_app(shared_url, TRUSTED_PROXIES=1, LOGIN_ATTEMPTS_PER_MINUTE=1)
    with pinned_to(behind_proxy, conn):
        stranger = Caller(behind_proxy)
        chains = ("198.51.100.1", "198.51.100.2", "203.0.113.7, 198.51.100.2")
        assert [log_in(stranger, "ada", headers={"X-Forwarded-For": chain}).status_code for chain in chains] == [
            200,
            200,
            429,
        ]


def statuses(caller: Caller, path: str, addresses: list[str]) -> list[int]:
    """What each of these addresses is answered."""
    return [caller.get(path, **from_address(address)).status_code for address in addresses]


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
    # Found or not: who guesses on learns nothing any more, and the right secret is no help.
    for answer in (stranger.get("/invite/guess/validate", **here), stranger.get(known, **here)):
        assert 20 <= retry_after(answer) <= 50
    # Nor do those who are refused keep what is old from going.
    assert value(conn, "SELECT count(*) FROM login_addresses WHERE address = 'old'") == 0
    assert 1 <= retry_after(stranger.post(known.replace("validate", "signup"), json=guest(), **here)) <= 60
    assert value(conn, "SELECT count(*) FROM users WHERE username = 'grace'") == 0
    assert world.events(since) == []
    assert statuses(stranger, known, ["192.0.2.2", "2001:db8::1"]) == [200, 200]
    # Logins have their own.
    assert log_in(stranger, "ada", **here).status_code == 200


def test_a_body_that_does_not_fit_is_no_attempt_to_sign_up(app, world, stranger, conn, monkeypatch):
    monkeypatch.setitem(app.config, "SIGNUP_ATTEMPTS_PER_MINUTE", 1)
    secret = invitation(world)
    for _ in range(3):
        assert stranger.post(f"/invite/{secret}/signup", json={}).status_code == 400
    assert sign_up(stranger, secret).status_code == 200
    assert retry_after(sign_up(stranger, secret)) >= 1
    assert value(conn, "SELECT address FROM login_addresses") == "signup 127.0.0.1"


def test_forwarded_headers_give_no_further_signups(app, world, stranger, monkeypatch):
    monkeypatch.setitem(app.config, "SIGNUP_ATTEMPTS_PER_MINUTE", 2)
    path = f"/invite/{invitation(world)}/validate"
    forwarded = [
        {"X-Forwarded-For": f"198.51.100.{number}", "X-Real-IP": f"198.51.100.{number}"} for number in range(3)
    ]
    assert [stranger.get(path, headers=headers).status_code for headers in forwarded] == [200, 200, 429]


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
    assert [
        fail(stranger, f"guess {number}", 1, **from_address(address)) for number, address in enumerate(addresses)
    ] == [[401]] * len(addresses)
    assert rows(conn, "SELECT address, cardinality(attempts) AS number FROM login_addresses") == [
        {"address": counted, "number": len(addresses)}
    ]


def test_neighbours_have_attempts_of_their_own(app, stranger, monkeypatch):
    monkeypatch.setitem(app.config, "LOGIN_ATTEMPTS_PER_MINUTE", 1)
    for address in ("192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8:0:100::1"):
        assert [fail(stranger, "guess", 1, **from_address(address)) for _ in range(2)] == [[401], [429]]
