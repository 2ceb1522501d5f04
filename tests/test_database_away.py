"""A database that goes away, or falls silent, under load: 503 at once and for as long, and normal answers soon after it is back."""

import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from sql import connect, embedded, signup_tokens
from tests.service import Answer, Service, is_alive, postmaster_of, wait_until
from tests.silent_proxy import Proxy
from validators.settings import load

pytestmark = pytest.mark.slow

KEY = "*:*.the-key-of-these-tests"
AUTHORIZED = {"Authorization": KEY}
# The promise is 2 seconds, for an answer and for the return; this is what a busy machine may add.
PROMISE, MARGIN = 2.0, 2.0
TOKEN = "/api/admin/invite-link/tokens/{}"


@pytest.fixture(scope="module")
def server() -> Iterator[embedded.Server]:
    """A PostgreSQL that the service takes for somebody else's: ensure() starts it, release() stops it."""
    with tempfile.TemporaryDirectory(prefix="away-") as name:
        Path(name).chmod(0o755)
        server = embedded.Server(Path(name) / "data")
        server.ensure()
        yield server
        server.release()


@dataclass(frozen=True)
class Asked:
    """A request and its end."""

    path: str
    began: float
    ended: float
    answer: Answer | Exception


class Callers:
    """Four clients who ask for this and that, one thing after another, as long as a `with` block lasts."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.asked: list[Asked] = []
        self._is_over = threading.Event()
        token = service.request(
            "POST", "/api/admin/invite-link/tokens", {"name": "t", "expiresAt": "2050-01-01T00:00:00Z"}, AUTHORIZED
        ).json["secret"]
        self._requests: list[tuple[str, str, Any]] = [
            ("GET", "/api/admin/projects/default/overview", None),
            ("PUT", TOKEN.format(token), {"enabled": True}),
            ("GET", "/api/admin/search/events", None),
            ("GET", "/ready", None),
        ]
        self._threads = [threading.Thread(target=self._ask, args=(number,)) for number in range(4)]

    def __enter__(self) -> "Callers":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def _ask(self, number: int) -> None:
        while not self._is_over.is_set():
            method, path, body = self._requests[number % 4]
            number += 1
            began = time.monotonic()
            try:
                answer = self.service.request(method, path, body, AUTHORIZED)
            except (OSError, HTTPException) as error:
                answer = error
            self.asked.append(Asked(path, began, time.monotonic(), answer))
            self._is_over.wait(0.005)

    def until(self, status: int) -> None:
        """Return when 40 requests have ended like that since now."""
        now = time.monotonic()
        wait_until(lambda: self._count(status, now) >= 40, f"the answers were {status}")

    def _count(self, status: int, since: float) -> int:
        return sum(isinstance(one.answer, Answer) and one.answer.status == status and one.began >= since for one in list(self.asked))


def assert_unavailable(answer: Answer) -> None:
    """Asserts that this is the documented 503."""
    assert list(answer.json) == ["id", "name", "message"]
    assert (answer.json["name"], answer.headers["Retry-After"]) == ("UnavailableError", "1")
    assert answer.json["message"] == "The database cannot be reached or is too slow."


def assert_told(callers: Callers, away: float, back: float) -> None:
    """Asserts that all was well before, that nobody waited long meanwhile, and that all was well soon after."""
    for one in callers.asked:
        assert isinstance(one.answer, Answer), one
        if one.answer.status != 200:
            assert one.answer.status == 503, one
            assert_unavailable(one.answer)
            assert one.began < back + PROMISE + MARGIN, one.began - back
            assert one.ended > away, one
        assert one.ended - one.began < PROMISE + MARGIN, one
    # Nobody is made to wait as soon as it is known.
    known = [one.ended - one.began for one in callers.asked if away + PROMISE < one.began and one.ended < back]
    assert sorted(known)[len(known) // 2] < 0.5
    print(f"slowest answer {max(one.ended - one.began for one in callers.asked):.2f} s", end=", ")
    late = [one.began - back for one in callers.asked if one.began > back and one.answer.status == 503]
    print(f"last refusal {max(late, default=0):.2f} s after its return")


def processes(folder: Path) -> list[int]:
    """PostgreSQL's own, the first one first."""
    postmaster = postmaster_of(folder)
    return [postmaster or 0, *(int(pid) for pid in Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split())]


def stop(server: embedded.Server, _proxy: Proxy) -> Callable[[], object]:
    """PostgreSQL is stopped, and started."""
    server.release()
    return server.ensure


def freeze(server: embedded.Server, _proxy: Proxy) -> Callable[[], object]:
    """PostgreSQL is there, and its processes do nothing."""
    frozen = processes(server.folder)
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)

    def thaw() -> None:
        for pid in frozen:
            if is_alive(pid):
                os.kill(pid, signal.SIGCONT)

    return thaw


def together(first: Proxy, second: Proxy) -> str:
    """The address of both ways."""
    return f"{first.url.removesuffix('/postgres')},{urlsplit(second.url).netloc.partition('@')[2]}/postgres"


def hush(_server: embedded.Server, proxy: Proxy) -> Callable[[], object]:
    """Connections are accepted, and nothing comes through."""
    proxy.hush()
    return proxy.talk


@pytest.fixture(scope="module")
def proxy(server: embedded.Server) -> Iterator[Proxy]:
    """The way to that PostgreSQL."""
    with Proxy(server.ensure()) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def service(proxy: Proxy) -> Iterator[Service]:
    """A service that goes this way; it is started once and never again."""
    with Service(proxy.url, INIT_ADMIN_API_TOKENS=KEY, DATABASE_SILENCE_MS=load({})["DATABASE_SILENCE_MS"]) as service:
        yield service


@pytest.mark.parametrize("go_away", [stop, freeze, hush])
def test_who_asks_meanwhile_gets_503_within_two_seconds_and_normal_answers_within_two_of_its_return(server, proxy, service, go_away):
    workers, said = service.workers, len(service.err)
    with Callers(service) as callers:
        callers.until(200)
        away = time.monotonic()
        come_back = go_away(server, proxy)
        try:
            callers.until(503)
            # Long enough to meet those who were told that it is away.
            wait_until(lambda: time.monotonic() > away + PROMISE + 0.5, "it was away for a while")
            assert service.get("/health").status == 200
            assert_unavailable(service.get("/ready"))
        finally:
            come_back()
        back = time.monotonic()
        callers.until(200)
    assert_told(callers, away, back)
    assert service.workers == workers
    assert "The database is away: " in service.err[said:]
    assert "The database answers again." in service.err[said:]
    assert "Traceback" not in service.err


def test_a_statement_may_take_its_time_while_the_database_answers_others(server):
    url = server.ensure()
    with connect(url) as conn, Service(url, INIT_ADMIN_API_TOKENS=KEY, DATABASE_SILENCE_MS=100) as service:
        token = signup_tokens.insert(conn, name="held", expires_at=datetime.now(UTC) + timedelta(days=1), created_by="the test")
        answers: list[Answer] = []
        with conn.transaction():
            conn.execute("SELECT FROM signup_tokens FOR UPDATE")
            change = {"json": {"enabled": False}, "headers": AUTHORIZED}
            request = threading.Thread(target=lambda: answers.append(service.request("PUT", TOKEN.format(token["secret"]), **change)))
            request.start()
            wait_until(lambda: conn.execute("SELECT FROM pg_locks WHERE NOT granted").fetchone() is not None, "the request waited")
            began = time.monotonic()
            wait_until(lambda: time.monotonic() > began + 1, "that was ten times as long as silence may last")
            assert answers == []
        request.join()
        assert [answer.status for answer in answers] == [200]
