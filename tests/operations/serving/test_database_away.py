"""A database that is absent or frozen, under load: 503 at once, and normal answers soon after it is back."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any, Self

import pytest

from operations.postgres import embedded
from tests.support.embedded_server import own_server
from tests.support.service import Answer, Service, is_alive, postmaster_of, wait_until

pytestmark = pytest.mark.slow

AUTHORIZED = {"Authorization": "*:*.the-key-of-these-tests"}
# The promise is 2 seconds after its return; this is what a busy machine may add.
PROMISE, MARGIN = 2.0, 2.0
GIVEN = {"INIT_ADMIN_API_TOKENS": AUTHORIZED["Authorization"], "STATEMENT_TIMEOUT_SECONDS": 2, "WAIT_SECONDS": 2}
# The longest that a request may hold a thread: a second of attempts to connect; or the statement timeout and 5 seconds,
# while it is frozen.
ABSENT, FROZEN = 2.0, 7.0
# From when on all are refused at once: when those held are free, and a connection was tried for 3 seconds.
FOUND = FROZEN + 4.0


@dataclass(frozen=True)
class Sent:
    """A request and its end."""

    began: float
    ended: float
    answer: Answer | Exception


class Callers:
    """Four clients that send one request after another, as long as a `with` block lasts."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.sent: list[Sent] = []
        self._is_over = threading.Event()
        body = {"name": "t", "expiresAt": "2050-01-01T00:00:00Z"}
        token = service.request("POST", "/api/admin/invite-link/tokens", body, AUTHORIZED).json["secret"]
        self._requests: list[tuple[str, str, Any]] = [
            ("GET", "/api/admin/projects/default/overview", None),
            ("PUT", f"/api/admin/invite-link/tokens/{token}", {"enabled": True}),
            ("GET", "/api/admin/search/events", None),
            ("GET", "/ready", None),
        ]
        self._threads = [threading.Thread(target=self._work, args=(number,)) for number in range(4)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def _work(self, number: int) -> None:
        while not self._is_over.is_set():
            number += 1
            began = time.monotonic()
            try:
                answer = self.service.request(*self._requests[number % 4], AUTHORIZED)
            except (OSError, HTTPException) as error:
                answer = error
            self.sent.append(Sent(began, time.monotonic(), answer))
            self._is_over.wait(0.005)

    def until(self, status: int) -> None:
        """Return when 40 requests that were sent from now on have this status."""
        now = time.monotonic()

        def count() -> int:
            answers = [one.answer for one in list(self.sent) if one.began >= now]
            return sum(isinstance(answer, Answer) and answer.status == status for answer in answers)

        wait_until(lambda: count() >= 40, f"the answers were {status}")

    def assert_answered(self, away: float, back: float, longest: float, known: float) -> None:
        """Assert normal answers before, no long wait meanwhile, and normal answers soon after."""
        for one in self.sent:
            assert isinstance(one.answer, Answer), one
            if one.answer.status != 200:
                assert_unavailable(one.answer)
                assert one.began < back + PROMISE + MARGIN, one.began - back
                assert one.ended > away, one
            assert one.ended - one.began < longest + MARGIN, one
        # Once it is known, no request waits.
        waits = [one.ended - one.began for one in self.sent if known < one.began and one.ended < back]
        assert sorted(waits)[len(waits) // 2] < 0.2


def assert_unavailable(answer: Answer) -> None:
    """Assert that this is the documented 503."""
    assert (answer.status, answer.headers["Retry-After"], answer.json["name"]) == (503, "1", "UnavailableError")
    assert list(answer.json) == ["id", "name", "message"]
    assert answer.json["message"] == "The database is unavailable or too slow."


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
    server: embedded.Server, away: Callable[..., Any], seconds: float, longest: float, known: float
):
    with Service(server.ensure(), **GIVEN) as service:
        workers = service.workers
        with Callers(service) as callers:
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
        callers.assert_answered(gone, back, longest, gone + known)
        assert service.workers == workers
        assert "The database is unavailable: " in service.err
        assert "The database is available again." in service.err
        assert "Traceback" not in service.err


def test_one_caller_gets_503_from_a_frozen_database(server: embedded.Server):
    with Service(server.ensure(), THREADS=32, **GIVEN) as service:
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
