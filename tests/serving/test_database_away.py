"""A database that is absent or frozen, under load: 503 at once, and normal answers soon after it is back."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from sql.database import embedded
from tests.support.embedded_server import own_server
from tests.support.outage import ABSENT, AUTHORIZED, FROZEN, KEY, LIMITS, Callers, assert_told, assert_unavailable
from tests.support.service import Service, is_alive, postmaster_of, wait_until

pytestmark = pytest.mark.slow

# From when on all are refused at once: when those held are free, and a connection was tried for 3 seconds.
FOUND = FROZEN + 4.0


@pytest.fixture(scope="module")
def server() -> Iterator[embedded.Server]:
    """A PostgreSQL that the service does not start: ensure() starts it, release() stops it."""
    with own_server() as server:
        yield server


@contextmanager
def stopped(server: embedded.Server) -> Iterator[None]:
    """PostgreSQL does not run."""
    server.release()
    try:
        yield
    finally:
        server.ensure()


@contextmanager
def frozen(server: embedded.Server) -> Iterator[None]:
    """The processes of PostgreSQL exist, and do nothing."""
    postmaster = postmaster_of(server.folder) or 0
    children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
    pids = [postmaster, *map(int, children)]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in filter(is_alive, pids):
            os.kill(pid, signal.SIGCONT)


@pytest.mark.timing
@pytest.mark.parametrize(
    ("away", "seconds", "longest", "known"), [(stopped, 40, ABSENT, ABSENT), (frozen, FOUND + 1, FROZEN, FOUND)]
)
def test_requests_get_503_at_once_and_soon_normal_answers(
    server: embedded.Server, away: Callable[..., Iterator[None]], seconds: float, longest: float, known: float
):
    with Service(server.ensure(), INIT_ADMIN_API_TOKENS=KEY, **LIMITS) as service, Callers(service) as callers:
        workers = service.workers
        callers.until(200)
        gone = time.monotonic()
        with away(server):
            wait_until(lambda: time.monotonic() > gone + seconds, "it was away for a while", patience=60)
            began = time.monotonic()
            assert service.get("/health").status == 200
            assert_unavailable(service.get("/ready"))
            assert time.monotonic() < began + 1
            callers.until(503)
        back = time.monotonic()
        callers.until(200)
        callers.stop()
        assert_told(callers, gone, back, longest, gone + known)
        assert service.workers == workers
        assert "The database is unavailable: " in service.err
        assert "The database is available again." in service.err
        assert "Traceback" not in service.err


def test_one_caller_gets_503_from_a_frozen_database(server: embedded.Server):
    with Service(server.ensure(), INIT_ADMIN_API_TOKENS=KEY, THREADS=32, **LIMITS) as service:
        assert service.get("/api/admin/projects", headers=AUTHORIZED).status == 200
        with frozen(server):
            since = time.monotonic()
            # Until then, the service cannot know it.
            wait_until(lambda: time.monotonic() > since + 0.2, "it had been silent")
            # More than the 16 requests that one caller can have at the same time, so some do not wait.
            with ThreadPoolExecutor(30) as threads:
                sent = [threads.submit(service.get, "/api/admin/projects", headers=AUTHORIZED) for _ in range(30)]
            assert {answer.result().status for answer in sent} == {503}
        wait_until(lambda: service.get("/ready").status == 200, "it answered again")
