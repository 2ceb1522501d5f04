"""A database that is absent or frozen, under load: 503 at once and for as long, and normal answers soon after it is
back.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sql.database import connect, embedded
from sql.tokens import api_tokens
from tests.support import fixtures
from tests.support.embedded_server import own_server
from tests.support.lock_waiters import lock_waiters
from tests.support.outage import (
    ABSENT,
    AUTHORIZED,
    FROZEN,
    KEY,
    LIMITS,
    MARGIN,
    TOKEN,
    Callers,
    assert_told,
    assert_unavailable,
)
from tests.support.service import Service, is_alive, postmaster_of, wait_until

pytestmark = pytest.mark.slow

# From when on all are refused at once: when those held are free, and a connection was tried for 3 seconds.
FOUND = FROZEN + 4.0


@pytest.fixture(scope="module")
def server() -> Iterator[embedded.Server]:
    """A PostgreSQL that the service takes for somebody else's: ensure() starts it, release() stops it."""
    with own_server() as server:
        yield server


@pytest.fixture(scope="module")
def service(server: embedded.Server) -> Iterator[Service]:
    """A service on that PostgreSQL; it is started once and never again."""
    with Service(server.ensure(), INIT_ADMIN_API_TOKENS=KEY, **LIMITS) as service:
        yield service


def processes(folder: Path) -> list[int]:
    """PostgreSQL's own, the first one first."""
    postmaster = postmaster_of(folder)
    return [
        postmaster or 0,
        *(int(pid) for pid in Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()),
    ]


def stop(server: embedded.Server) -> Callable[[], object]:
    """PostgreSQL is stopped, and started."""
    server.release()
    return server.ensure


def freeze(server: embedded.Server) -> Callable[[], object]:
    """PostgreSQL is there, and its processes do nothing."""
    frozen = processes(server.folder)
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)

    def thaw() -> None:
        for pid in frozen:
            if is_alive(pid):
                os.kill(pid, signal.SIGCONT)

    return thaw


@pytest.mark.timing
@pytest.mark.parametrize(
    ("go_away", "seconds", "longest", "known"),
    [(stop, 40, ABSENT, ABSENT), (freeze, FOUND + 1, FROZEN, FOUND)],
    ids=["stopped", "frozen"],
)
def test_requests_get_503_at_once_and_soon_normal_answers(server, service, go_away, seconds, longest, known):
    workers, length = service.workers, len(service.err)
    with Callers(service) as callers:
        callers.until(200)
        away = time.monotonic()
        come_back = go_away(server)
        try:
            wait_until(lambda: time.monotonic() > away + seconds, "it was away for a while", patience=60)
            began = time.monotonic()
            assert service.get("/health").status == 200
            assert_unavailable(service.get("/ready"))
            assert time.monotonic() < began + 1
            callers.until(503)
        finally:
            come_back()
        back = time.monotonic()
        callers.until(200)
    assert_told(callers, away, back, longest, away + known)
    assert service.workers == workers
    assert "The database is unavailable: " in service.err[length:]
    assert "The database is available again." in service.err[length:]
    assert "Traceback" not in service.err


@pytest.mark.timing
def test_a_frozen_database_holds_only_the_first_request(server, service):
    wait_until(lambda: service.get("/ready").status == 200, "it answered")
    with connect(server.ensure()) as conn, ThreadPoolExecutor(2) as threads:
        token = fixtures.signup_token(
            conn, name="held", expires_at=datetime.now(UTC) + timedelta(days=1), created_by="the test"
        )
        change = {"json": {"enabled": False}, "headers": AUTHORIZED}
        with conn.transaction():
            conn.execute("SELECT FROM signup_tokens FOR UPDATE")
            began = time.monotonic()
            first = threads.submit(service.request, "PUT", TOKEN.format(token["secret"]), **change)
            wait_until(lambda: lock_waiters(conn), "the request waited")
            thaw = freeze(server)
            try:
                frozen = time.monotonic()
                # After the silence after which the service asks before it uses a connection.
                wait_until(lambda: time.monotonic() > frozen + 1.1, "it had been silent")
                asked = time.monotonic()
                assert_unavailable(service.get("/api/admin/projects", headers=AUTHORIZED))
                assert time.monotonic() < asked + LIMITS["WAIT_SECONDS"] + MARGIN
                asked = time.monotonic()
                assert service.get("/health").status == 200
                assert time.monotonic() < asked + 1
                assert_unavailable(first.result())
                assert time.monotonic() < began + FROZEN + MARGIN
            finally:
                thaw()
    wait_until(lambda: service.get("/ready").status == 200, "it answered again")


def test_one_caller_gets_503_from_a_frozen_database(server):
    with Service(server.ensure(), INIT_ADMIN_API_TOKENS=KEY, THREADS=32, **LIMITS) as service:
        wait_until(lambda: service.get("/api/admin/projects", headers=AUTHORIZED).status == 200, "it answered")
        thaw = freeze(server)
        try:
            frozen = time.monotonic()
            # Until then, the service cannot know it.
            wait_until(lambda: time.monotonic() > frozen + 0.2, "it had been silent")
            # More than the 16 requests that one caller can have at the same time, so some do not wait.
            with ThreadPoolExecutor(30) as threads:
                sent = [threads.submit(service.get, "/api/admin/projects", headers=AUTHORIZED) for _ in range(30)]
            assert {answer.result().status for answer in sent} == {503}
        finally:
            thaw()
        wait_until(lambda: service.get("/ready").status == 200, "it answered again")


def test_a_busy_database_is_not_reported_as_unavailable(server):
    url = server.ensure()
    with connect(url) as conn, Service(url, INIT_ADMIN_API_TOKENS=KEY, DATABASE_POOL_SIZE=1, WAIT_SECONDS=1) as service:
        # The same caller would get 429 for its own share of connections.
        api_tokens.insert(conn, "*:*.the-key-of-another-caller", name="other")
        other = {"Authorization": "*:*.the-key-of-another-caller"}
        token = fixtures.signup_token(
            conn, name="held", expires_at=datetime.now(UTC) + timedelta(days=1), created_by="the test"
        )
        change = {"json": {"enabled": False}, "headers": AUTHORIZED}
        with conn.transaction(), ThreadPoolExecutor(1) as threads:
            conn.execute("SELECT FROM signup_tokens FOR UPDATE")
            first = threads.submit(service.request, "PUT", TOKEN.format(token["secret"]), **change)
            wait_until(lambda: lock_waiters(conn), "the request waited")
            for _ in range(3):
                answer = service.get("/api/admin/projects", headers=other)
                assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
                assert (answer.json["name"], answer.json["message"]) == (
                    "UnavailableError",
                    "Too many requests. Try again later.",
                )
            conn.execute("ROLLBACK")
            assert first.result().status == 200
        assert service.get("/api/admin/projects", headers=AUTHORIZED).status == 200
        assert "unavailable" not in service.err
