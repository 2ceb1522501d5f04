"""The only door to the database: connections, transactions, and four verbs for every statement."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import lru_cache, partial
from typing import Any, LiteralString

import psycopg
from flask import Flask, current_app
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow, dict_row

from sql.database import timing
from sql.database.pool import Connection, Database, Meter, send

Params = Mapping[str, Any]
IDLE = TransactionStatus.IDLE

# What each session of ours sets, whatever the database sets for others: no statement runs for ever, no plan of ours gains from being
# compiled, and a transaction that waited for another one sees what that one has written.
OPTIONS = r"-c statement_timeout=30s -c jit=off -c default_transaction_isolation=read\ committed"
# Where a server vanishes and no kernel answers for it, each of its connections ends within about ten seconds.
KEEPALIVES = {"keepalives_idle": 4, "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": 10_000}
# Timestamps are read in UTC. libpq sends this as a parameter of its own when it connects. It wins over the options, and poolers, which keep
# those from the database, see to it that this one holds for every statement of that client.
os.environ["PGTZ"] = "UTC"


def connect_options(url: str, pooler: str = "none", options: str | None = None) -> dict[str, Any]:
    """Return how to connect, beside what the URL says. Options of the URL come first, so that ours win.

    pooler: "transaction" is one that lends a session of the server to each transaction. It takes no options, which belong to a session,
    and sets its sessions itself (migrate.open_database() refuses it otherwise). A prepared statement is missing in the next transaction,
    unless the pooler prepares it there ("prepared").
    """
    given = conninfo_to_dict(url)
    ours = {"autocommit": True, "row_factory": dict_row, "connect_timeout": given.get("connect_timeout") or 3}
    ours |= {name: given.get(name) or value for name, value in KEEPALIVES.items()}
    if pooler == "none":
        return ours | {"options": f"{given.get('options') or ''} {options or OPTIONS}".strip()}
    return ours | {"options": given.get("options") or ""} | ({"prepare_threshold": None} if pooler == "transaction" else {})


def connect(url: str, pooler: str = "none") -> Connection:
    """Open a connection outside the pool, with the same settings."""
    return psycopg.Connection[DictRow].connect(url, **connect_options(url, pooler))


def init_app(app: Flask) -> None:
    """Attach the database that app.config names."""
    config = app.config
    url, pooler, timeout = config["DATABASE_URL"], config["DATABASE_POOLER"], config["STATEMENT_TIMEOUT_SECONDS"]
    # The last of two equal options wins. Only here: commands and migrations may wait for others.
    options = f"{OPTIONS} -c statement_timeout={timeout}s -c lock_timeout={config['LOCK_TIMEOUT_SECONDS']}s"
    # PostgreSQL ends every statement in time, unless it is frozen.
    limits = {"wait": config["WAIT_SECONDS"], "deadline": timeout + 5.0}
    how = partial(connect_options, url, pooler, options)
    app.extensions["database"] = Database(url, config["DATABASE_POOL_SIZE"], pooler, how, **limits)


def database() -> Database:
    """Return the database of the current app."""
    return current_app.extensions["database"]


@contextmanager
def connection() -> Iterator[Connection]:
    """Lend a connection for reading. Each statement is a transaction."""
    with database().connection() as conn:
        yield conn


@contextmanager
def transaction() -> Iterator[Connection]:
    """Lend a connection for changes, all or nothing."""
    with database().connection() as conn, unit(conn):
        yield conn


def unit(conn: Connection) -> AbstractContextManager[Any]:
    """Begin a transaction, or a savepoint inside the caller's transaction."""
    if conn.info.transaction_status != IDLE:
        return conn.transaction()
    meter = database().meter
    return whole(conn) if meter is None else counted(conn, meter)


@contextmanager
def whole(conn: Connection) -> Iterator[None]:
    """A transaction that keeps prepared statements when it is rolled back, as each refused change is.

    psycopg's own rollback drops them all, because tables might be gone, which no request creates or drops. The statements of the next ten
    requests would be planned again, which is most of their time.
    """
    conn.execute("BEGIN", prepare=False)
    try:
        yield
    except BaseException:
        # The pool replaces a connection that is broken.
        with suppress(psycopg.Error):
            send(conn, b"ROLLBACK")
        raise
    with timing.of("COMMIT"):
        conn.execute("COMMIT", prepare=False)


# Where events are counted: the types of those of each running transaction, by the id of its connection.
_recorded: dict[int, list[str]] = {}


@contextmanager
def counted(conn: Connection, meter: Meter) -> Iterator[None]:
    """A transaction whose events are counted once it has committed."""
    types = _recorded[id(conn)] = []
    try:
        with whole(conn):
            yield
    finally:
        del _recorded[id(conn)]
    meter.count_events(types)


def note_events(conn: Connection, types: Iterable[str]) -> None:
    """Note the types of events that the running transaction has recorded."""
    noted = _recorded.get(id(conn))
    if noted is not None:
        noted.extend(types)


@lru_cache(maxsize=1000)
def unindented(statement: LiteralString) -> LiteralString:
    """Return the statement without indentation. psycopg parses a statement of more than 4,096 characters each time."""
    return "\n".join(line.strip() for line in statement.splitlines())


def execute(conn: Connection, statement: LiteralString, params: Params | None, prepare: bool | None = None) -> psycopg.Cursor[DictRow]:
    """Execute a statement, and note how long it took."""
    with timing.of(statement):
        return conn.execute(unindented(statement), params, prepare=prepare)


def one(conn: Connection, statement: LiteralString, params: Params | None = None, *, prepare: bool | None = None) -> DictRow | None:
    """Return the first row as a dict, or None. prepare=False: plan it for these values each time."""
    return execute(conn, statement, params, prepare).fetchone()


def rows(conn: Connection, statement: LiteralString, params: Params | None = None) -> list[DictRow]:
    """Return all rows as dicts."""
    return execute(conn, statement, params).fetchall()


def value(conn: Connection, statement: LiteralString, params: Params | None = None, *, prepare: bool | None = None) -> Any:
    """Return the first column of the first row, or None. prepare: as for one()."""
    row = one(conn, statement, params, prepare=prepare)
    return None if row is None else next(iter(row.values()))


def run(conn: Connection, statement: LiteralString, params: Params | None = None) -> int:
    """Execute a statement and return how many rows it wrote."""
    return execute(conn, statement, params).rowcount


def as_json(document: Any) -> str:
    """A document as JSON text to keep: compact, key order kept, and é as é, so that a search finds it as it was written."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


IS_READ_ONLY = "SELECT current_setting('transaction_read_only')::boolean"


def is_read_only(conn: Connection) -> bool:
    """Return whether the database refuses changes at the moment."""
    return value(conn, IS_READ_ONLY)
