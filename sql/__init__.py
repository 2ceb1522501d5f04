"""The only door to the database: a pool, connections, transactions, and four verbs for every statement."""

import json
import os
import select
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from typing import Any, LiteralString, Protocol

import psycopg
from flask import Flask, current_app
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow, dict_row

from sql import timing
from sql.pool import Line, Pool

Connection = psycopg.Connection[DictRow]
Params = Mapping[str, Any]
IDLE = TransactionStatus.IDLE

# What a session of ours is set to, beside its time zone: no statement runs for ever, no plan of ours gains from being compiled, and who has
# waited for another's change sees it, whatever the database has for others. (Whether it can be written is for its owner to say.)
OPTIONS = r"-c statement_timeout=30s -c jit=off -c default_transaction_isolation=read\ committed"
# By then PostgreSQL has ended every statement, in seconds: a connection on which it has not is dead.
LONGEST_STATEMENT = 35.0
# A server that vanishes is noticed on each connection by itself, where the kernel of its machine does not answer: within about ten seconds.
KEEPALIVES = {"keepalives_idle": 4, "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": 10_000}
# Timestamps are read in UTC. libpq sends this as a parameter of its own when it connects. It wins over the options, and poolers, which keep
# those from the database, see to it that this one holds for every statement of that client.
os.environ["PGTZ"] = "UTC"


class Meter(Protocol):
    """Who counts what the database is used for."""

    def watch(self, lent: AbstractContextManager[Connection]) -> AbstractContextManager[Connection]: ...
    def count_events(self, types: Iterable[str]) -> None: ...


class Database:
    """A pool of connections to one PostgreSQL, opened at first use: a pool must not cross a fork. wait: for a connection, in seconds."""

    def __init__(
        self,
        url: str,
        size: int,
        pooler: str = "none",
        options: str = OPTIONS,
        *,
        wait: float = 5.0,
        silence: float = 1.2,
        longest: float = LONGEST_STATEMENT,
    ) -> None:
        self.url = url
        self.size = size
        self.pooler = pooler
        self.options = options
        self.wait = wait
        # None: nobody counts.
        self.meter: Meter | None = None
        self.silence = silence
        self.longest = longest
        # Brings a database that is ours alone back when it has ended; raises what says why not.
        self.revive: Callable[[], None] | None = None
        self._lock = threading.Lock()
        self._pool: Pool | None = None
        self._pinned: Connection | None = None
        # What to hold beside a connection: blueprints/caller_limit.py.
        self.share: Callable[[], AbstractContextManager[None]] = nullcontext

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection in autocommit mode; OperationalError when none can be had in time, or at all."""
        if self._pinned is not None:
            yield self._pinned
        else:
            began, conn = time.perf_counter(), None
            lent = self._opened().connection(timeout=self.wait)
            try:
                with self.share(), lent if self.meter is None else self.meter.watch(lent) as conn:
                    timing.waited_for_connection(time.perf_counter() - began)
                    yield conn
            finally:
                # Whatever ended the wait without one.
                if conn is None:
                    timing.waited_for_connection(time.perf_counter() - began)

    @contextmanager
    def pinned(self, conn: Connection) -> Iterator[None]:
        """Give out this one connection while the block lasts, so that a caller's own transaction holds all that happens."""
        self._pinned = conn
        try:
            yield
        finally:
            self._pinned = None

    def _opened(self) -> Pool:
        with self._lock:
            if self._pool is None:
                options = connect_options(self.url, self.pooler, self.options)
                limits = {"silence": self.silence, "longest": self.longest}
                self._pool = Pool(self.url, options, self.size, check=discard_if_closed, revive=self.revive, **limits)
            return self._pool

    def close(self) -> None:
        """Give all connections back."""
        with self._lock:
            if self._pool is not None:
                self._pool.close()
                self._pool = None


def connect_options(url: str, pooler: str = "none", options: str | None = None) -> dict[str, Any]:
    """How we connect, beside what the address says; its own options come first, so that ours hold.

    pooler: "transaction" is one that gives a session of the server to each transaction. Options belong to a session, so it takes none,
    and sets its sessions itself (migrate.open_database() refuses it otherwise); what is prepared in one is missing in the next, unless it
    is one that prepares it there anew ("prepared").
    """
    said = conninfo_to_dict(url)
    ours = {"autocommit": True, "row_factory": dict_row, "connect_timeout": said.get("connect_timeout") or 3}
    ours |= {name: said.get(name) or value for name, value in KEEPALIVES.items()}
    if pooler == "none":
        return ours | {"options": f"{said.get('options') or ''} {options or OPTIONS}".strip()}
    return ours | {"options": said.get("options") or ""} | ({"prepare_threshold": None} if pooler == "transaction" else {})


def connect(url: str, pooler: str = "none") -> Connection:
    """A connection of one's own, set as those of the pool are."""
    return psycopg.Connection[DictRow].connect(url, **connect_options(url, pooler))


def discard_if_closed(conn: Connection) -> None:
    """Raise when the server has hung up on an idle connection. Costs no round trip: a live idle one has nothing to say."""
    # Not select(), which takes no descriptor from 1024 on.
    line = select.poll()
    line.register(conn.fileno(), select.POLLIN)
    if line.poll(0):
        conn.execute("SELECT 1")


def init_app(app: Flask) -> None:
    """Attach the database that app.config names."""
    config = app.config
    # The last of two that are the same holds. Only here: commands and migrations may wait for others.
    limits = f"-c statement_timeout={config['STATEMENT_TIMEOUT_SECONDS']}s -c lock_timeout={config['LOCK_TIMEOUT_SECONDS']}s"
    app.extensions["database"] = Database(
        config["DATABASE_URL"],
        config["DATABASE_POOL_SIZE"],
        config["DATABASE_POOLER"],
        f"{OPTIONS} {limits}",
        wait=config["WAIT_SECONDS"],
        silence=config["DATABASE_SILENCE_MS"] / 1000,
        longest=config["STATEMENT_TIMEOUT_SECONDS"] + 5,
    )


def database() -> Database:
    """The database of the current app."""
    return current_app.extensions["database"]


@contextmanager
def connection() -> Iterator[Connection]:
    """A connection for reading; each statement stands for itself."""
    with database().connection() as conn:
        yield conn


@contextmanager
def transaction() -> Iterator[Connection]:
    """A connection for changing; all or nothing."""
    with database().connection() as conn, unit(conn):
        yield conn


def unit(conn: Connection) -> AbstractContextManager[Any]:
    """A transaction on a connection; a part of the one that a caller of ours has begun."""
    if conn.info.transaction_status != IDLE:
        return conn.transaction()
    meter = database().meter
    return whole(conn) if meter is None else counted(conn, meter)


@contextmanager
def whole(conn: Connection) -> Iterator[None]:
    """A transaction that keeps what is prepared when it is rolled back, as each refusal of a change is.

    psycopg's own forgets all of it then, because tables might be gone, which no request of ours makes or drops: the statements of the next
    ten requests would be planned anew, most of their time.
    """
    conn.execute("BEGIN", prepare=False)
    try:
        yield
    except BaseException:
        # Below psycopg, which would notice. A connection that is broken is left to the pool.
        with conn.awaited() if isinstance(conn, Line) else nullcontext():
            conn.pgconn.exec_(b"ROLLBACK")
        raise
    began = time.perf_counter()
    conn.execute("COMMIT", prepare=False)
    timing.add("COMMIT", time.perf_counter() - began)


# Where somebody counts, the types of the events of each transaction that is under way, by the id of its connection.
_recorded: dict[int, list[str]] = {}


@contextmanager
def counted(conn: Connection, meter: Meter) -> Iterator[None]:
    """A transaction of whose events the meter is told once it has committed."""
    types = _recorded[id(conn)] = []
    try:
        with whole(conn):
            yield
    finally:
        del _recorded[id(conn)]
    meter.count_events(types)


def note_events(conn: Connection, types: Iterable[str]) -> None:
    """Events of these types have been recorded, but not committed."""
    noted = _recorded.get(id(conn))
    if noted is not None:
        noted.extend(types)


@lru_cache(maxsize=1000)
def unindented(statement: LiteralString) -> LiteralString:
    """The statement as it is sent. Of one longer than 4096 characters psycopg would not remember where its parameters are."""
    return "\n".join(line.strip() for line in statement.splitlines())


def execute(conn: Connection, statement: LiteralString, params: Params | None, prepare: bool | None = None) -> psycopg.Cursor[DictRow]:
    """What a statement gave, which is counted."""
    began = time.perf_counter()
    try:
        return conn.execute(unindented(statement), params, prepare=prepare)
    finally:
        timing.add(statement, time.perf_counter() - began)


def one(conn: Connection, statement: LiteralString, params: Params | None = None, *, prepare: bool | None = None) -> DictRow | None:
    """The first row as a dict, or None. prepare=False: it is planned for these very values each time."""
    return execute(conn, statement, params, prepare).fetchone()


def rows(conn: Connection, statement: LiteralString, params: Params | None = None) -> list[DictRow]:
    """All rows as dicts."""
    return execute(conn, statement, params).fetchall()


def value(conn: Connection, statement: LiteralString, params: Params | None = None, *, prepare: bool | None = None) -> Any:
    """The first column of the first row, or None. prepare: as of one()."""
    row = one(conn, statement, params, prepare=prepare)
    return None if row is None else next(iter(row.values()))


def run(conn: Connection, statement: LiteralString, params: Params | None = None) -> int:
    """How many rows the statement wrote."""
    return execute(conn, statement, params).rowcount


def as_json(document: Any) -> str:
    """A document as JSON text to keep: compact, key order kept, and é as é, so that a search finds it as it was written."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
