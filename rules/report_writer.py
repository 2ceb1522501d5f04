"""Reports that arrive while others are written wait, and go together in one transaction."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Condition, Lock
from typing import Any

from flask import Flask, current_app

from rules.client_access import ClientToken
from rules.report_log import ReportLog
from rules.reports import Report, record
from sql.database import transaction
from validators.errors import RateLimited, Unavailable

# Our choice: the same number as Unleash. Each worker counts for itself.
REPORTS_PER_MINUTE = 6_000
# Reports are written together up to this many rows, so that small ones do not wait for large ones. One report can have
# more, up to MAX_ENTRIES. It is still written in one transaction, because after a failure SDKs send all of it again.
# With 20,000 rows, other reports waited for at most 2.2 seconds.
GROUP_ROWS = 2_000
# What does not fit waits in one group for each token, so that no token has two groups in front of other reports. A
# report joins if it adds few rows. So instances of an application with 5,000 flags are written together.
FEW_ROWS = 100
# Our choice: after a group of a frontend token with more rows, its next one waits this many times as long as the first
# one took. So such groups take a fifth of the time of the writer. Without this, 8 connections with 1,500 invented names
# in each report delayed the reports of others by 0.6 seconds.
RESTS = 4


@dataclass
class Group:
    """Reports of one transaction. error: why it failed. token_id: of a frontend token whose group is large."""

    reports: list[Report] = field(default_factory=list)
    rows: set[tuple[Any, ...]] = field(default_factory=set)
    is_closed: bool = False
    error: Exception | None = field(default_factory=Unavailable)
    token_id: int | None = None


def init_app(app: Flask) -> None:
    """Create the writer of the app."""
    threads, size = app.config["THREADS"], app.config["DATABASE_POOL_SIZE"]
    # Waiting reports occupy threads. The others are for other requests.
    app.extensions["reports"] = ReportWriter(app.config["WAIT_SECONDS"], max(1, threads // 2, threads - size))


def writer() -> "ReportWriter":
    """Return the writer of the current app."""
    return current_app.extensions["reports"]


class ReportWriter:
    """Writes the reports of one worker, one group at a time. So they use one connection.

    wait: seconds that a report waits for its turn. places: the maximum number of reports that are read or wait.
    """

    def __init__(self, wait: float, places: int) -> None:
        self.log = ReportLog()
        # How many places the tokens hold, by id, and how many all frontend tokens hold together.
        self._held: Counter[int] = Counter()
        self._public = 0
        self._places = places
        self._wait = wait
        self._lock = Condition(Lock())
        self._writing = Lock()
        self._open = Group()
        # The group of each token that waits behind the open one, by the id of the token.
        self._own: dict[int, Group] = {}
        # When the next large group of each frontend token may begin, by the id of the token.
        self._rests: dict[int, float] = {}
        self._minute = 0
        self._counts: Counter[int] = Counter()

    @contextmanager
    def place(self, token: ClientToken) -> Iterator[None]:
        """Count a report that is not yet read, and hold a place for it.

        Raise 429 if the token has more than REPORTS_PER_MINUTE in this minute, or 503 without a place. Frontend tokens
        are public. Without this limit, large reports could occupy all threads of the worker.
        """
        now = int(time.monotonic())
        # Our choice: a frontend token gets at most a quarter of the places, and all together get half.
        is_public = token.kind == "frontend"
        most = max(1, self._places // 4) if is_public else self._places
        with self._lock:
            if now // 60 != self._minute:
                self._minute, self._counts = now // 60, Counter()
            self._counts[token.id] += 1
            if self._counts[token.id] > REPORTS_PER_MINUTE:
                message = f"This token has sent more than {REPORTS_PER_MINUTE} reports in this minute. Try again later."
                raise RateLimited(message, 60 - now % 60)
            is_full = self._held.total() >= self._places or (is_public and self._public >= max(1, self._places // 2))
            if is_full or self._held[token.id] >= most:
                raise Unavailable("Too many reports are waiting. Try again later.")
            self._held[token.id] += 1
            self._public += is_public
        try:
            yield
        finally:
            with self._lock:
                self._held[token.id] -= 1
                self._public -= is_public

    def write(self, report: Report) -> None:
        """Return when the report is committed. Raise if it is not, such as 503 if its turn does not come in time."""
        group = self._join(report)
        if not self._writing.acquire(timeout=self._wait):
            with self._lock:
                if not group.is_closed:
                    group.reports.remove(report)
                    group.rows = set().union(*(other.rows for other in group.reports))
                    self._lock.notify_all()
                elif group.error is None:
                    # Another request has committed the group, and later groups had their turn before this request.
                    return
            raise Unavailable("Too many reports are being written. Try again later.")
        try:
            # The first request of a group writes all of it, after the open group, in which many small reports wait.
            for waiting in (self._open, group):
                if waiting.reports and not waiting.is_closed and not group.is_closed:
                    self._write(waiting)
        finally:
            self._writing.release()
        if group.error is not None:
            raise group.error

    def _write(self, group: Group) -> None:
        self._close(group)
        begin = time.monotonic()
        try:
            with transaction(limited=False) as conn:
                dropped = record(conn, group.reports)
            group.error = None
            for app_name, reasons in dropped.items():
                self.log.warn(app_name, reasons)
        except Exception as error:
            group.error = error
        if group.token_id is not None:
            end = time.monotonic()
            self._rests[group.token_id] = end + RESTS * (end - begin)

    def _join(self, report: Report) -> Group:
        """Add a report to the open group, or to that of its token. Wait if both are full, then raise 503."""
        added, token = report.rows, report.token
        is_public = token.kind == "frontend" and len(added) > FEW_ROWS

        def find() -> Group | None:
            if not is_public and len(self._open.rows | added) <= GROUP_ROWS:
                return self._open
            own = self._own.setdefault(token.id, Group(token_id=token.id if is_public else None))
            if not own.reports and is_public and time.monotonic() < self._rests.get(token.id, 0):
                return None
            return own if not own.reports or len(added - own.rows) <= FEW_ROWS else None

        end = time.monotonic() + self._wait
        with self._lock:
            # Nothing wakes it at the end of a rest.
            while (group := self._lock.wait_for(find, 0.1)) is None and time.monotonic() < end:
                pass
            if group is None:
                raise Unavailable("Too many reports of this token are waiting. Try again later.")
            group.reports.append(report)
            group.rows |= added
            return group

    def _close(self, group: Group) -> None:
        with self._lock:
            group.is_closed = True
            if self._open is group:
                self._open = Group()
            self._own = {token_id: own for token_id, own in self._own.items() if own is not group}
            self._lock.notify_all()
