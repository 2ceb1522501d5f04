"""Two servers: a switch-over that the host list of the address follows, and reads that go on where only a standby is
left.
"""

import time
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest

from sql.database import connect, embedded, value
from tests.support.embedded_server import own_server
from tests.support.outage import ABSENT, AUTHORIZED, KEY, MARGIN, PROMISE, Callers, assert_told
from tests.support.service import Service, wait_until
from tests.support.silent_proxy import Proxy
from tests.support.standby import standby_of

pytestmark = pytest.mark.slow

ONLY_READ = "The database is read-only at the moment."


@pytest.fixture
def servers() -> Iterator[tuple[embedded.Server, embedded.Server]]:
    """A PostgreSQL and its standby."""
    with own_server() as first, standby_of(first) as second:
        yield first, second


def together(first: str, second: str, target: str) -> str:
    """The address of two servers."""
    hosts = ",".join(parse_qs(urlsplit(url).query)["host"][0] for url in (first, second))
    return f"postgresql://postgres@/postgres?host={hosts}&target_session_attrs={target}"


def wait_for_replay(first: str, second: str) -> None:
    """Return when the standby shows all that there is."""
    with connect(first) as conn, connect(second) as follower:
        last = value(conn, "SELECT pg_current_wal_insert_lsn()")
        wait_until(
            lambda: value(follower, "SELECT pg_last_wal_replay_lsn() >= %(last)s::pg_lsn", {"last": last}),
            "it had followed",
        )


def is_read_only(url: str) -> bool:
    """Whether transactions of new connections can only read."""
    with connect(url) as conn:
        return value(conn, "SHOW default_transaction_read_only") == "on"


def promote(url: str) -> float:
    """Let a standby take over; when it did."""
    with connect(url) as conn:
        assert value(conn, "SELECT pg_promote()")
    return time.monotonic()


def change(service: Service, name: str) -> int:
    """The status of a change, which is a 503 with this sentence where it can only be read."""
    answer = service.request("POST", "/api/admin/projects/default/features", {"name": name}, AUTHORIZED)
    if answer.status == 503:
        assert (answer.json["name"], answer.json["message"], answer.headers["Retry-After"]) == (
            "UnavailableError",
            ONLY_READ,
            "1",
        )
    return answer.status


@pytest.mark.timing
def test_a_standby_that_takes_over_is_found_within_two_seconds(servers):
    first, second = servers
    addresses = first.ensure(), second.ensure()
    with Service(together(*addresses, "read-write"), INIT_ADMIN_API_TOKENS=KEY) as service:
        workers = service.workers
        with Callers(service) as callers:
            callers.until(200)
            away = time.monotonic()
            first.release()
            callers.until(503)
            wait_until(lambda: time.monotonic() > away + ABSENT + 0.5, "it was away for a while")
            back = promote(addresses[1])
            callers.until(200)
        assert_told(callers, away, back, ABSENT, away + ABSENT)
        assert service.workers == workers
        assert "The database is available again." in service.err
        assert "Traceback" not in service.err


@pytest.mark.timing
def test_a_first_server_that_can_only_be_read_from_now_on_is_left(servers):
    first, second = (server.ensure() for server in servers)
    with Service(together(first, second, "read-write"), INIT_ADMIN_API_TOKENS=KEY) as service:
        assert change(service, "before") == 201
        wait_for_replay(first, second)
        promote(second)
        with connect(first) as conn:
            conn.execute("ALTER SYSTEM SET default_transaction_read_only = on")
            conn.execute("SELECT pg_reload_conf()")
        # The first server accepts changes until it has reloaded. It tells all connections before it accepts a new one,
        # so a new one that can only read shows that all others can only read too.
        wait_until(lambda: is_read_only(first), "it had reloaded")
        began = time.monotonic()
        wait_until(lambda: change(service, "after") == 201, "it could be written")
        assert time.monotonic() < began + PROMISE + MARGIN
        # Every connection leads there by now, also those that were idle.
        assert [change(service, f"after-{number}") for number in range(20)] == [201] * 20
        with connect(second) as conn:
            assert value(conn, "SELECT count(*) FROM flags WHERE name LIKE 'after%%'") == 21
        assert "unavailable" not in service.err


@pytest.mark.timing
def test_reads_go_on_with_a_standby_and_changes_after_promotion(servers):
    first, second = servers
    addresses = first.ensure(), second.ensure()
    with Service(together(*addresses, "any"), INIT_ADMIN_API_TOKENS=KEY) as service:
        assert change(service, "before") == 201
        wait_for_replay(*addresses)
        first.release()
        gone = time.monotonic()
        for path in ("/ready", "/api/admin/projects", "/api/admin/search/events") * 3:
            assert service.get(path, headers=AUTHORIZED).status == 200
        assert time.monotonic() < gone + PROMISE + MARGIN
        assert change(service, "after") == 503
        back = promote(addresses[1])
        wait_until(lambda: change(service, "after") == 201, "it could be written")
        assert time.monotonic() < back + PROMISE + MARGIN
        assert "Traceback" not in service.err


@pytest.mark.timing
def test_changes_are_503_until_the_address_has_a_primary(servers):
    first, second = (server.ensure() for server in servers)
    with Service(first, INIT_ADMIN_API_TOKENS=KEY):
        pass
    wait_for_replay(first, second)
    with Proxy(second) as way, Service(way.url, INIT_ADMIN_API_TOKENS=KEY) as service:
        assert service.err.startswith(
            "The database is read-only. Requests that change something get 503 until it is writable.\n"
        )
        assert service.get("/ready").status == 200
        assert service.get("/api/admin/projects", headers=AUTHORIZED).status == 200
        login = service.request("POST", "/auth/simple/login", {"username": "admin", "password": "wrong"})
        assert (login.status, login.json["message"], change(service, "f")) == (503, ONLY_READ, 503)
        # As an address does that follows the server which can be written. The old connections stay.
        way.lead_to(first)
        back = time.monotonic()
        wait_until(lambda: change(service, "f") == 201, "it could be written")
        assert time.monotonic() < back + PROMISE + MARGIN
        assert "Traceback" not in service.err
