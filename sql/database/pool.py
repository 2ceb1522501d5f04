"""The connection pool of one process, with a circuit breaker that fails fast while the database is unavailable.

Written for psycopg_pool 3.3 (bounded in setup.cfg). All that we override of it is in WarmPool, and not documented:
ConnectionPool._get_ready_connection() and the deque _pool. An option of the pool for the order of its connections would
replace both.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Lock, Thread
from typing import Any, Protocol

import psycopg
from psycopg.errors import AdminShutdown, ConnectionTimeout, ReadOnlySqlTransaction
from psycopg_pool import ConnectionPool, PoolTimeout

from sql.database.connections import Connection, DatabaseUnavailable, DeadlineConnection, discard_if_closed, send

# Seconds without a response from the database after which a connection is tested before a request gets it.
SILENCE = 1.0
# Seconds between two attempts to connect while the database is unavailable.
RETRY = 0.5
# Seconds after a failed restart of the embedded PostgreSQL. Each restart costs CPU time and writes to a log.
REVIVE_PAUSE = 5.0
# Seconds between two drains of the pool. Without a pause, every change would drain it while all hosts are read-only.
DRAIN_PAUSE = 1.0

Lend = Callable[[], AbstractContextManager[Connection]]
Limit = Callable[[Lend], AbstractContextManager[object]]

log = logging.getLogger(__name__)
# psycopg's pool logs each second why it cannot connect. The class Database logs it once.
logging.getLogger("psycopg.pool").setLevel(logging.ERROR)


class Meter(Protocol):
    """Counts connections in use, events, logins, and what is dropped from reports, for metrics."""

    def watch(self, lent: AbstractContextManager[Connection]) -> AbstractContextManager[Connection]: ...
    def count_events(self, types: Iterable[str]) -> None: ...
    def count_dropped(self, what: str, number: int) -> None: ...
    def count_login(self, outcome: str, via: str) -> None: ...


class WarmPool(ConnectionPool[DeadlineConnection]):
    """A pool that lends the connection that was used last. PostgreSQL has planned its statements already.

    psycopg's pool lends the connection that was not used for the longest time. After a burst of requests, a single
    client then gets another connection at each request, and waits for its plans.
    """

    def _get_ready_connection(self, timeout: float | None) -> DeadlineConnection | None:
        self._pool.rotate(1)
        return super()._get_ready_connection(timeout)


class Database:
    """psycopg's pool behind a circuit breaker. The pool opens at its first use, because it must not cross a fork.

    The breaker opens when no connection is left and a new one cannot be opened. Then a thread tries to connect until it
    succeeds.

    connect_options: returns the arguments of psycopg.connect() besides the URL. wait: seconds to wait for a connection.
    deadline: seconds to wait for the response to a statement. limit: returns a context manager that is entered before a
    connection is lent. It gets a function that lends a connection without this limit. revive: restarts the embedded
    PostgreSQL if it has ended, or raises an error.
    """

    def __init__(
        self,
        url: str,
        size: int,
        pooler: str,
        connect_options: Callable[[], dict[str, Any]],
        *,
        wait: float = 5.0,
        deadline: float = 35.0,
        limit: Limit = nullcontext,
        meter: Meter | None = None,
        revive: Callable[[], None] | None = None,
    ) -> None:
        self.url = url
        self.size = size
        self.pooler = pooler
        self.connect_options = connect_options
        self.wait = wait
        self.deadline = deadline
        self.meter = meter
        self._limit = limit
        self._revive = revive
        # The time of the last response on any connection of the pool.
        self.answered_at = 0.0
        self._revive_at = self._drain_at = self._probed_at = 0.0
        self._lock = Lock()
        self._pool: ConnectionPool[DeadlineConnection] | None = None
        self._lent: set[DeadlineConnection] = set()
        self._pinned: Connection | None = None
        # Why the database is unavailable, or None. The breaker is open if this is set.
        self._problem: str | None = None
        self._probing = Lock()
        self._is_closed = False

    @contextmanager
    def connection(self, *, limited: bool = True) -> Iterator[Connection]:
        """Lend a connection in autocommit mode. limited: within the limit of the caller.

        Raises PoolTimeout if all are in use for too long, and DatabaseUnavailable at once while the breaker is open.
        """
        if self._pinned is not None:
            yield self._pinned
            return
        lent = self._lend() if self.meter is None else self.meter.watch(self._lend())
        with self._limit(self._lend) if limited else nullcontext(), lent as conn:
            yield conn

    @contextmanager
    def pinned(self, conn: Connection) -> Iterator[None]:
        """Lend only this connection during the block. All statements then run in the caller's transaction."""
        self._pinned = conn
        try:
            yield
        finally:
            self._pinned = None

    def close(self) -> None:
        """Close all connections permanently."""
        self._is_closed = True
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    @contextmanager
    def _lend(self) -> Iterator[Connection]:
        pool = self._opened()
        conn = self._borrow(pool)
        try:
            yield conn
        except (ReadOnlySqlTransaction, AdminShutdown):
            # Another host of the URL may be the primary by now.
            if time.monotonic() > self._drain_at:
                self._drain_at = time.monotonic() + DRAIN_PAUSE
                pool.drain()
            raise
        finally:
            self._give_back(pool, conn)

    def require_response(self) -> None:
        """Raise DatabaseUnavailable unless the database has just responded, or does within a second."""
        pool = self._opened()
        if time.monotonic() > max(self.answered_at, self._probed_at) + SILENCE / 10:
            self._probe(pool)
            if not self._probing.acquire(timeout=SILENCE):
                raise DatabaseUnavailable("The database does not respond.")
            self._probing.release()

    def _opened(self) -> ConnectionPool[DeadlineConnection]:
        with self._lock:
            if self._problem is not None:
                raise DatabaseUnavailable(self._problem)
            if self._pool is None:
                self.answered_at = time.monotonic()
                self._pool = WarmPool(
                    self.url,
                    connection_class=DeadlineConnection,
                    kwargs=self.connect_options,
                    configure=self._configure,
                    min_size=1,
                    max_size=self.size,
                    max_idle=300,
                    reconnect_timeout=1,
                    reconnect_failed=self._probe,
                    open=True,
                )
            return self._pool

    def _configure(self, conn: DeadlineConnection) -> None:
        conn.database = self
        self.answered_at = time.monotonic()

    def _borrow(self, pool: ConnectionPool[DeadlineConnection]) -> DeadlineConnection:
        began = time.monotonic()
        until = began + self.wait
        # We test connections ourselves: the pool's own check pauses for seconds after the second closed connection.
        while True:
            is_silent = time.monotonic() > self.answered_at + SILENCE
            if is_silent and not pool.get_stats()["pool_available"]:
                self._probe(pool)
            try:
                conn = pool.getconn(until - time.monotonic())
            except psycopg.OperationalError as error:
                # Raise PoolTimeout if the pool is busy. A connection can be returned at this moment, so also check
                # whether the database has responded.
                if isinstance(error, PoolTimeout) and (len(self._lent) >= self.size or self.answered_at > began):
                    raise
                raise DatabaseUnavailable(self._problem or "No connection could be opened in time.") from None
            self._lent.add(conn)
            try:
                discard_if_closed(conn)
                # Not with a pooler: there, even this statement can wait for other clients.
                if is_silent and not conn.closed and self.pooler == "none":
                    send(conn, b"SELECT 1", max(until - time.monotonic(), 0.1))
            except DatabaseUnavailable:
                self._give_back(pool, conn)
                self._probe(pool)
                raise
            except psycopg.OperationalError:
                conn.close()
            if not conn.closed:
                return conn
            self._give_back(pool, conn)

    def _give_back(self, pool: ConnectionPool[DeadlineConnection], conn: DeadlineConnection) -> None:
        """Return a connection to the pool, which replaces it if it is closed."""
        self._lent.discard(conn)
        pool.putconn(conn)

    def _probe(self, pool: ConnectionPool[Any]) -> None:
        """Test in a thread whether the database accepts connections. Only one such thread runs at a time."""
        if pool is self._pool and self._probing.acquire(blocking=False):
            try:
                Thread(target=self._connect_until_it_works, args=(pool,), name="database-probe", daemon=True).start()
            except RuntimeError:
                # No thread can be started. The next request tries again.
                self._probing.release()

    def _connect_until_it_works(self, pool: ConnectionPool[Any]) -> None:
        try:
            while not self._is_closed:
                began = time.monotonic()
                try:
                    psycopg.Connection.connect(self.url, **self.connect_options()).close()
                except psycopg.Error as error:
                    if self._problem is None and self._is_only_busy(pool, error, began):
                        return
                    self._open_breaker(str(error).partition("\n")[0])
                    if not isinstance(error, ConnectionTimeout):
                        self._revive_server()
                    time.sleep(RETRY)
                else:
                    self._probed_at = time.monotonic()
                    self._close_breaker(pool)
                    return
        finally:
            self._probing.release()

    def _is_only_busy(self, pool: ConnectionPool[Any], error: psycopg.Error, began: float) -> bool:
        """Return whether the database works although a new connection failed, such as after too many connections."""
        if isinstance(error, ConnectionTimeout):
            return self.answered_at > began
        pool.check()
        return pool.get_stats()["pool_available"] > 0 or any(not conn.closed for conn in self._lent.copy())

    def _open_breaker(self, problem: str) -> None:
        with self._lock:
            pool, self._pool = self._pool, None
            was_open, self._problem = self._problem is not None, problem
        if pool is not None:
            # All waiting requests fail now.
            pool.close(timeout=0)
        if not was_open:
            log.warning("The database is unavailable: %s", problem)

    def _revive_server(self) -> None:
        if self._revive is not None and time.monotonic() > self._revive_at:
            try:
                self._revive()
            except Exception as error:
                self._revive_at = time.monotonic() + REVIVE_PAUSE
                log.warning("%s", error)

    def _close_breaker(self, pool: ConnectionPool[Any]) -> None:
        if self._problem is not None:
            self._problem = None
            log.warning("The database is available again.")
        else:
            # The pool may have stopped its attempts too early. Make it connect again for waiting requests.
            pool.check()
