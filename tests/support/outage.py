"""A service whose database stops, with callers that note each answer."""

import threading
import time
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any

from tests.support.service import Answer, Service, wait_until

KEY = "*:*.the-key-of-these-tests"
AUTHORIZED = {"Authorization": KEY}
# The promise is 2 seconds after its return; this is what a busy machine may add.
PROMISE, MARGIN = 2.0, 2.0
LIMITS = {"STATEMENT_TIMEOUT_SECONDS": 2, "WAIT_SECONDS": 2}
# The longest that a request may hold a thread: a second of attempts to connect; or the statement timeout and 5 seconds,
# while it is frozen.
ABSENT, FROZEN = 2.0, 7.0


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
            ("PUT", f"/api/admin/invite-link/tokens/{token}", {"enabled": True}),
            ("GET", "/api/admin/search/events", None),
            ("GET", "/ready", None),
        ]
        self._threads = [threading.Thread(target=self._ask, args=(number,)) for number in range(4)]

    def __enter__(self) -> "Callers":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Send no more requests."""
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

        def count() -> int:
            answers = [one.answer for one in list(self.asked) if one.began >= now]
            return sum(isinstance(answer, Answer) and answer.status == status for answer in answers)

        wait_until(lambda: count() >= 40, f"the answers were {status}")


def assert_unavailable(answer: Answer) -> None:
    """Asserts that this is the documented 503."""
    assert list(answer.json) == ["id", "name", "message"]
    assert (answer.json["name"], answer.headers["Retry-After"]) == ("UnavailableError", "1")
    assert answer.json["message"] == "The database is unavailable or too slow."


def assert_told(callers: Callers, away: float, back: float, longest: float, known: float) -> None:
    """Assert normal answers before, no long wait meanwhile, and normal answers soon after."""
    for one in callers.asked:
        assert isinstance(one.answer, Answer), one
        if one.answer.status != 200:
            assert one.answer.status == 503, one
            assert_unavailable(one.answer)
            assert one.began < back + PROMISE + MARGIN, one.began - back
            assert one.ended > away, one
        assert one.ended - one.began < longest + MARGIN, one
    # Once it is known, no request waits.
    waits = [one.ended - one.began for one in callers.asked if known < one.began and one.ended < back]
    assert sorted(waits)[len(waits) // 2] < 0.2
    print(f"slowest answer {max(one.ended - one.began for one in callers.asked):.2f} s", end=", ")
    late = [one.began - back for one in callers.asked if one.began > back and one.answer.status == 503]
    print(f"last refusal {max(late, default=0):.2f} s after its return")
