"""A standby that takes over: answers as before within 2 seconds; and a service that is led to a server which can only be read."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from psycopg import OperationalError
from psycopg.errors import ReadOnlySqlTransaction

from sql import connect, embedded, value
from tests.service import Service, wait_until
from tests.silent_proxy import Proxy
from tests.test_commands_doctor_database import copy_of
from tests.test_database_away import AUTHORIZED, KEY, MARGIN, PROMISE, Callers, assert_told, stop, together
from tests.test_pool import is_answered, opened
from validators.settings import load

pytestmark = pytest.mark.slow

ONLY_READ = "The database can only be read at this moment."


@pytest.fixture
def servers() -> Iterator[tuple[embedded.Server, embedded.Server]]:
    """A PostgreSQL and its standby."""
    with tempfile.TemporaryDirectory(prefix="failover-") as name:
        Path(name).chmod(0o755)
        first, second = embedded.Server(Path(name) / "first"), embedded.Server(Path(name) / "second")
        try:
            first.ensure()
            copy_of(first, second)
            second.ensure()
            yield first, second
        finally:
            second.release()
            first.release()


def wait_for_replay(first: str, second: str) -> None:
    """Return when the standby shows all that there is."""
    with connect(first) as conn, connect(second) as follower:
        last = value(conn, "SELECT pg_current_wal_insert_lsn()")
        wait_until(lambda: value(follower, "SELECT pg_last_wal_replay_lsn() >= %(last)s::pg_lsn", {"last": last}), "it had followed")


@pytest.mark.parametrize("is_silent", [False, True])
def test_a_standby_that_takes_over_is_found_within_two_seconds(servers, is_silent):
    first, second = servers
    with Proxy(first.ensure()) as way, Proxy(second.ensure()) as other_way:
        url = f"{together(way, other_way)}?target_session_attrs=read-write"
        silence = load({})["DATABASE_SILENCE_MS"]
        with Service(url, INIT_ADMIN_API_TOKENS=KEY, DATABASE_SILENCE_MS=silence) as service:
            workers = service.workers
            with Callers(service) as callers:
                callers.until(200)
                away = time.monotonic()
                if is_silent:
                    way.hush()
                else:
                    stop(first, way)
                callers.until(503)
                wait_until(lambda: time.monotonic() > away + PROMISE + 0.5, "it was away for a while")
                with connect(second.ensure()) as conn:
                    assert value(conn, "SELECT pg_promote()")
                back = time.monotonic()
                callers.until(200)
            assert_told(callers, away, back)
            assert service.workers == workers
            assert "The database answers again." in service.err
            assert "Traceback" not in service.err


def test_nobody_stays_with_a_server_that_can_only_be_read_once_the_first_is_back(servers):
    first, second = (server.ensure() for server in servers)
    with Proxy(first) as way, Proxy(second) as other_way, opened(together(way, other_way)) as pool:

        def can_change() -> bool:
            with suppress(ReadOnlySqlTransaction, OperationalError), pool.connection(5) as line:
                line.execute("CREATE TEMPORARY TABLE t () ON COMMIT DROP")
                return True
            return False

        assert can_change()
        way.hush()
        assert not is_answered(pool)
        wait_until(lambda: is_answered(pool), "the other one answered")
        assert not can_change()
        way.talk()
        wait_until(can_change, "it could be written")


def test_what_can_only_be_read_is_read_and_a_change_is_503_until_the_address_leads_elsewhere(servers):
    first, second = (server.ensure() for server in servers)
    with Service(first, INIT_ADMIN_API_TOKENS=KEY):
        pass
    wait_for_replay(first, second)
    with Proxy(second) as way, Service(way.url, INIT_ADMIN_API_TOKENS=KEY) as service:

        def change() -> int:
            answer = service.request("POST", "/api/admin/projects/default/features", {"name": "f"}, AUTHORIZED)
            if answer.status == 503:
                assert (answer.json["name"], answer.json["message"], answer.headers["Retry-After"]) == ("UnavailableError", ONLY_READ, "1")
            return answer.status

        assert service.err.startswith("The database can only be read: every change is answered 503 until it can be written.\n")
        assert service.get("/ready").status == 200
        assert service.get("/api/admin/projects", headers=AUTHORIZED).status == 200
        login = service.request("POST", "/auth/simple/login", {"username": "admin", "password": "wrong"})
        assert (login.status, login.json["message"], change()) == (503, ONLY_READ, 503)
        # As an address does that follows the server which can be written. The old connections stay.
        way.lead_to(first)
        back = time.monotonic()
        wait_until(lambda: change() == 201, "it could be written")
        assert time.monotonic() < back + PROMISE + MARGIN
        assert "Traceback" not in service.err
