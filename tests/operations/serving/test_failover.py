"""Two servers: a switch-over that the host list of the address follows, and reads that go on where only a standby is
left.
"""

import time
from collections.abc import Callable, Iterator
from urllib.parse import parse_qs, urlsplit

import pytest

from operations.postgres import embedded
from sql.database import connect, value
from tests.support.embedded_server import own_server
from tests.support.service import Service, wait_until
from tests.support.silent_proxy import Proxy
from tests.support.standby import standby_of

pytestmark = [pytest.mark.slow, pytest.mark.timing]

KEY = "*:*.the-key-of-these-tests"
AUTHORIZED = {"Authorization": KEY}
# The promise is 2 seconds; this is what a busy machine may add.
PROMISE, MARGIN = 2.0, 2.0
ONLY_READ = "The database is read-only at the moment."


class Pair:
    """A PostgreSQL and its standby."""

    def __init__(self, first: embedded.Server, second: embedded.Server) -> None:
        self.server = first
        self.first, self.second = first.ensure(), second.ensure()

    def address(self, target: str) -> str:
        """Return the address of both."""
        hosts = ",".join(parse_qs(urlsplit(url).query)["host"][0] for url in (self.first, self.second))
        return f"postgresql://postgres@/postgres?host={hosts}&target_session_attrs={target}"

    def wait_for_replay(self) -> None:
        """Return when the standby has all data."""
        with connect(self.first) as conn, connect(self.second) as follower:
            last = {"last": value(conn, "SELECT pg_current_wal_insert_lsn()")}
            has_all = "SELECT pg_last_wal_replay_lsn() >= %(last)s::pg_lsn"
            wait_until(lambda: value(follower, has_all, last), "it had followed")

    def promote(self) -> float:
        """Let the standby take over. Return when it did."""
        with connect(self.second) as conn:
            assert value(conn, "SELECT pg_promote()")
        return time.monotonic()


@pytest.fixture
def pair() -> Iterator[Pair]:
    with own_server() as first, standby_of(first) as second:
        yield Pair(first, second)


def change(service: Service, name: str) -> int:
    """Return the status of a change, which is a 503 with this sentence while the database is read-only."""
    answer = service.request("POST", "/api/admin/projects/default/features", {"name": name}, AUTHORIZED)
    if answer.status == 503:
        assert (answer.json["message"], answer.headers["Retry-After"]) == (ONLY_READ, "1")
    return answer.status


def assert_soon(condition: Callable[[], bool], since: float) -> None:
    """Assert that the condition holds within the time that is promised."""
    wait_until(condition, "it could be written")
    assert time.monotonic() < since + PROMISE + MARGIN


def test_a_first_server_that_becomes_read_only_is_left(pair: Pair):
    with Service(pair.address("read-write"), INIT_ADMIN_API_TOKENS=KEY) as service:
        assert change(service, "before") == 201
        pair.wait_for_replay()
        pair.promote()
        with connect(pair.first) as conn:
            conn.execute("ALTER SYSTEM SET default_transaction_read_only = on")
            conn.execute("SELECT pg_reload_conf()")

        def is_read_only() -> bool:
            with connect(pair.first) as conn:
                return value(conn, "SHOW default_transaction_read_only") == "on"

        # The first server accepts changes until it has reloaded. It tells all connections before it accepts a new one,
        # so a new one that can only read shows that all others can only read too.
        wait_until(is_read_only, "it had reloaded")
        assert_soon(lambda: change(service, "after") == 201, time.monotonic())
        # Every connection leads there by now, also those that were idle.
        assert [change(service, f"after-{number}") for number in range(20)] == [201] * 20
        with connect(pair.second) as conn:
            assert value(conn, "SELECT count(*) FROM flags WHERE name LIKE 'after%%'") == 21
        assert "unavailable" not in service.err


def test_reads_go_on_with_a_standby_and_changes_after_promotion(pair: Pair):
    with Service(pair.address("any"), INIT_ADMIN_API_TOKENS=KEY) as service:
        assert change(service, "before") == 201
        pair.wait_for_replay()
        pair.server.release()
        gone = time.monotonic()
        for path in ("/ready", "/api/admin/projects", "/api/admin/search/events") * 3:
            assert service.get(path, headers=AUTHORIZED).status == 200
        assert time.monotonic() < gone + PROMISE + MARGIN
        assert change(service, "after") == 503
        workers = service.workers
        assert_soon(lambda: change(service, "after") == 201, pair.promote())
        assert service.workers == workers
        assert "Traceback" not in service.err


def test_changes_are_503_until_the_address_has_a_primary(pair: Pair):
    with Service(pair.first, INIT_ADMIN_API_TOKENS=KEY):
        pass
    pair.wait_for_replay()
    with Proxy(pair.second) as way, Service(way.url, INIT_ADMIN_API_TOKENS=KEY) as service:
        assert service.err.startswith(
            "The database is read-only. Requests that change something get 503 until it is writable.\n"
        )
        assert service.get("/api/admin/projects", headers=AUTHORIZED).status == 200
        login = service.request("POST", "/auth/simple/login", {"username": "admin", "password": "wrong"})
        assert (login.status, login.json["message"], change(service, "f")) == (503, ONLY_READ, 503)
        # As an address does that follows the server which can be written. The old connections stay.
        way.lead_to(pair.first)
        assert_soon(lambda: change(service, "f") == 201, time.monotonic())
        assert "Traceback" not in service.err
