"""The connections of one process to its database: a pool that gives none out while the database is away, and sees it come back."""

import logging
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from math import ceil
from threading import Lock, Thread
from typing import Any, TypeVar
from weakref import WeakSet, finalize

import psycopg
from psycopg.abc import PQGen
from psycopg.errors import ReadOnlySqlTransaction
from psycopg.rows import DictRow
from psycopg_pool import ConnectionPool

from sql.hosts import beginning_with

Result = TypeVar("Result")

# How often statements are looked at: while all are answered soon, and else; from when on one is not; and for how long none was, before
# the database is asked for a connection. In seconds, like all here.
CALM, HASTY, SOON, REST = 0.2, 0.1, 0.1, 0.3
# Between two attempts to bring a database of our own back, at most.
LONGEST_PAUSE = 5.0


_said: dict[str, float] = {}


def is_news(record: logging.LogRecord) -> bool:
    """Whether what the pool says is to be logged: why it cannot connect, each reason once a minute."""
    text, now = record.getMessage().partition(": ")[2], time.monotonic()
    is_new = record.msg.startswith("error connecting") and now - _said.get(text, -60.0) >= 60
    if is_new:
        _said[text] = now
    return is_new


logging.getLogger("psycopg.pool").addFilter(is_news)


class Away(psycopg.OperationalError):
    """The database is known to be away: it was not asked again."""


class Line(psycopg.Connection[DictRow]):
    """A connection that tells since when it waits for an answer, and when it last got one, and that another thread can break."""

    asked_at: float | None = None
    answered_at = 0.0
    plug: socket.socket

    @contextmanager
    def awaited(self) -> Iterator[None]:
        """What happens in the block waits for an answer."""
        self.asked_at = time.monotonic()
        try:
            yield
        finally:
            self.asked_at = None

    def wait(self, gen: PQGen[Result], *args: Any, **kwargs: Any) -> Result:
        """As the original; it is what every statement goes through. Not by awaited(), which takes ten times as long."""
        self.asked_at = time.monotonic()
        try:
            result = super().wait(gen, *args, **kwargs)
        finally:
            self.asked_at = None
        self.answered_at = time.monotonic()
        return result

    def is_read_only(self) -> bool:
        """Whether the server says that it can only be read. None says so behind a pooler."""
        return "on" in map(self.info.parameter_status, ("in_hot_standby", "default_transaction_read_only"))

    def prepare_to_be_cut(self) -> None:
        """Once, when it is made. With a descriptor of our own: libpq closes its one when it likes, and somebody else gets that number."""
        self.plug = socket.socket(fileno=os.dup(self.fileno()))
        finalize(self, self.plug.close)

    def cut(self) -> None:
        """Have whoever waits for it be told that the server has hung up."""
        with suppress(OSError):
            self.plug.shutdown(socket.SHUT_RDWR)


class Lines(ConnectionPool[Line]):
    """The original, and who looks for another line after the pool was closed is told so. He would wait for one that never comes."""

    def _get_ready_connection(self, timeout: float | None) -> Line | None:
        self._check_open_getconn()
        return super()._get_ready_connection(timeout)


class Pool:
    """A pool of lines that is opened at first use and watched by a thread: it must not cross a fork.

    When no connection can be had any more, or the database gives no sign of life, all who wait get an OperationalError, and from then on
    everybody at once. Meanwhile we try to connect; when that works there is a new pool. A statement may take its time as long as the
    database answers others, be it only with a new connection.

    silence: how long an attempt to connect may go unanswered before the database counts as away; longest: how long a statement may take
    before its line counts as dead; revive: brings a database of our own back that has ended, or raises an exception with a sentence.
    """

    def __init__(
        self,
        url: str,
        kwargs: Mapping[str, Any],
        size: int,
        *,
        silence: float,
        longest: float,
        check: Callable[[Line], None],
        revive: Callable[[], None] | None = None,
    ) -> None:
        self._url = url
        self._kwargs = {**kwargs, **beginning_with("", 0, url)}
        self._size = size
        self._silence = self._patience = silence
        self._longest = longest
        self._check = check
        self._revive = revive
        self._lock = Lock()
        self._pool: ConnectionPool[Line] | None = None
        self._lines: WeakSet[Line] = WeakSet()
        self._is_away = False
        self._is_closed = False
        self._failed = False
        self._trying_since: float | None = None
        self._connected_at = self._drained_at = 0.0
        self._told: str | None = None
        self._revive_at = self._revive_pause = 0.0
        self._watch = Thread(target=self._keep_watch, name="database-watch", daemon=True)

    @contextmanager
    def connection(self, timeout: float) -> Iterator[Line]:
        """A connection; OperationalError when none can be had within timeout seconds, at once while the database is away."""
        pool = self._opened()
        with pool.connection(timeout=timeout) as line:
            try:
                yield line
            except ReadOnlySqlTransaction:
                # The address may lead to another server by now, which can be written.
                if time.monotonic() > self._drained_at + REST:
                    self._drained_at = time.monotonic()
                    pool.drain()
                raise

    def close(self) -> None:
        """Give all connections back, for good."""
        self._is_closed = True
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def _opened(self) -> ConnectionPool[Line]:
        with self._lock:
            if self._is_away:
                raise Away("The database is away.")
            if self._pool is None:
                self._failed = False
                try:
                    # First: a pool that is dropped again waits for its threads, which may wait for this lock.
                    if not self._watch.is_alive():
                        self._watch.start()
                    self._pool = self._made()
                except RuntimeError as error:
                    # No thread can be had. Whoever is next tries again.
                    raise psycopg.OperationalError(f"The database cannot be reached: {error}.") from error
            return self._pool

    def _made(self) -> ConnectionPool[Line]:
        return Lines(
            self._url,
            connection_class=Line,
            kwargs=self._kwargs,
            min_size=1,
            max_size=self._size,
            max_idle=300,
            reconnect_timeout=0,
            reconnect_failed=self._note_failure,
            configure=self._enlist,
            check=self._check,
            open=True,
        )

    def _enlist(self, line: Line) -> None:
        line.prepare_to_be_cut()
        with self._lock:
            self._lines.add(line)

    def _note_failure(self, pool: ConnectionPool[Any]) -> None:
        if pool is self._pool:
            self._failed = True

    def _keep_watch(self) -> None:
        """Look after the lines until the end."""
        pause = CALM
        while not self._is_closed:
            time.sleep(pause)
            pause = HASTY if self._look_after(time.monotonic()) else CALM

    def _look_after(self, now: float) -> bool:
        """Find out whether the database is there, if there is a reason to ask; whether there is one."""
        with self._lock:
            pool, lines = self._pool, list(self._lines)
        waits = [asked_at for asked_at in (line.asked_at for line in lines) if asked_at is not None]
        # As long as others are answered, it is there. A process that is busy may read answers late, but does not take that for silence.
        answered_at = max((line.answered_at for line in lines), default=0.0)
        answered_at = max(answered_at, self._connected_at)
        if pool is not None and self._failed and pool.get_stats()["pool_size"] == 0:
            self._leave()
        # Who waits for a connection while no statement is under way waits for one that is being made.
        elif pool is not None and not (min(waits) < now - SOON if waits else pool.get_stats()["requests_waiting"]):
            return False
        # Our choice: silent is who answers nobody, neither a statement nor a new connection.
        elif pool is not None and self._trying_since is not None and answered_at < self._trying_since < now - self._patience:
            self._leave(lines)
        for line in lines:
            if line.asked_at is not None and line.asked_at < now - self._longest:
                line.cut()
        if self._trying_since is None and (self._is_away or (pool is not None and answered_at < now - REST)):
            self._trying_since = now
            try:
                Thread(target=self._try, name="database-probe", daemon=True).start()
            except RuntimeError:
                # No thread can be had. The next look tries again.
                self._trying_since = None
        return True

    def _leave(self, silent: list[Line] | None = None) -> None:
        """Count the database as away. silent: lines on which nobody will answer."""
        with self._lock:
            pool, self._pool = self._pool, None
            self._is_away = True
        if pool is not None:
            pool.close(timeout=0)
        if silent is not None:
            self._tell("It gives no sign of life.")
        for line in silent or ():
            line.cut()

    def _try(self) -> None:
        """Connect, to see whether that works; bring back what is ours."""
        began = time.monotonic()
        try:
            options: dict[str, Any] = {**self._kwargs, "connect_timeout": max(2, ceil(self._silence))}
            with Line.connect(self._url, **options) as line:
                # Where another one does not even refuse, each connection that begins with it takes seconds. But nobody stays with one that
                # can only be read: others that the address names first may be back.
                found = ("", 0) if line.is_read_only() else (line.info.host, line.info.port)
                kwargs = {**self._kwargs, **beginning_with(*found, self._url)}
        except psycopg.Error as error:
            if self._is_away and not isinstance(error, psycopg.errors.ConnectionTimeout):
                self._tell(self._bring_back() or str(error).partition("\n")[0])
        else:
            self._connected_at = time.monotonic()
            if kwargs == self._kwargs:
                # Where the way there is long, the pool needs as long as we did, and more.
                self._patience = max(self._silence, 2 * (self._connected_at - began))
            self._kwargs = kwargs
            self._revive_pause = 0.0
            if self._is_away:
                self._is_away = False
                self._tell(None)
        finally:
            self._trying_since = None

    def _bring_back(self) -> str | None:
        """Why a database of our own cannot be brought back now; None: it has been, or it is not ours."""
        if self._revive is None or self._is_closed or time.monotonic() < self._revive_at:
            return self._told
        try:
            self._revive()
        except Exception as problem:
            # Each attempt costs the machine something, and writes into a log that nobody bounds.
            self._revive_pause = min(self._revive_pause * 2 or 0.5, LONGEST_PAUSE)
            self._revive_at = time.monotonic() + self._revive_pause
            return str(problem)
        return None

    def _tell(self, problem: str | None) -> None:
        """Let the operator know, once for each problem; None: it is over."""
        if problem != self._told:
            self._told = problem
            said = "The database answers again." if problem is None else f"The database is away: {problem}"
            # Where it goes may be full, or gone. Nothing here ends for that.
            with suppress(OSError, ValueError):
                print(said, file=sys.stderr, flush=True)
