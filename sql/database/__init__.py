"""Connections, transactions, and the four functions that run statements: one(), rows(), value() and run()."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, LiteralString, Self

import psycopg
from flask import Flask, current_app
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow, dict_row

from sql.database import timing
from sql.database.connections import Connection, send
from sql.database.pool import Database, Limit, Meter

Params = Mapping[str, Any]
IDLE = TransactionStatus.IDLE

# The name of the service in pg_stat_activity, unless DATABASE_URL contains application_name.
APPLICATION_NAME = "flags"

# Session options that override the defaults of the database. Our statements are too short to gain from JIT compilation.
# "read committed": after waiting for a lock, a statement sees what the other transaction has committed. tcp_…: if the
# machine of a service disappears, PostgreSQL ends its sessions, and so their locks, within about ten seconds. Linux
# waits two hours by default. Our statements contain backslashes and arrays with NULL. A backup waits long for pg_dump.
OPTIONS = (
    r"-c statement_timeout=30s -c jit=off -c default_transaction_isolation=read\ committed -c tcp_keepalives_idle=4 "
    "-c tcp_keepalives_interval=2 -c tcp_keepalives_count=3 -c tcp_user_timeout=10000 "
    "-c standard_conforming_strings=on -c array_nulls=on -c idle_session_timeout=0"
)
# The same in the other direction: if the machine of the database disappears.
KEEPALIVES = {"keepalives_idle": 4, "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": 10_000}
# Return timestamps in UTC, in the only style that psycopg reads. libpq sends these as separate parameters, which
# override the options. Poolers drop the options, but apply these parameters to each statement of the client. MDY: the
# default, so that PgBouncer has nothing to set.
os.environ |= {"PGTZ": "UTC", "PGDATESTYLE": "ISO, MDY"}


def connect_options(url: str, pooler: str = "none", options: str | None = None) -> dict[str, Any]:
    """Return the arguments of psycopg.connect() besides the URL. Our options follow those of the URL, so ours win.

    pooler: the setting DATABASE_POOLER. A pooler can run each transaction in another server session. It accepts no
    session options, so it must set them itself; migrate.open_database() checks that. "transaction": do not prepare
    statements, because the next session does not have them. "prepared": the pooler prepares them again there.
    """
    given = conninfo_to_dict(url)
    ours = {"autocommit": True, "row_factory": dict_row, "client_encoding": "UTF8"}
    ours |= {"connect_timeout": given.get("connect_timeout") or 3}
    ours |= {name: given.get(name) or value for name, value in KEEPALIVES.items()}
    if pooler == "none":
        return ours | {"options": f"{given.get('options') or ''} {options or OPTIONS}".strip()}
    return (
        ours
        | {"options": given.get("options") or ""}
        | ({"prepare_threshold": None} if pooler == "transaction" else {})
    )


def connect(url: str, pooler: str = "none") -> Connection:
    """Open a connection outside the pool, with the same settings."""
    options: dict[str, Any] = connect_options(url, pooler)
    options["fallback_application_name"] = f"{APPLICATION_NAME} command"
    return psycopg.Connection[DictRow].connect(url, **options)


def init_app(app: Flask, *, limit: Limit, meter: Meter | None, revive: Callable[[], None] | None) -> None:
    """Create the database of the app from its settings. It connects at the first use. Arguments: see Database."""
    config = app.config
    url, pooler, timeout = config["DATABASE_URL"], config["DATABASE_POOLER"], config["STATEMENT_TIMEOUT_SECONDS"]
    # If an option is given twice, the last value applies. Commands and migrations have no lock timeout.
    options = f"{OPTIONS} -c statement_timeout={timeout}s -c lock_timeout={config['LOCK_TIMEOUT_SECONDS']}s"
    # PostgreSQL cancels long statements itself. The deadline is later, for a server that is frozen and cannot.
    times = {"wait": config["WAIT_SECONDS"], "deadline": timeout + 5.0}

    def arguments() -> dict[str, Any]:
        return connect_options(url, pooler, options) | {"fallback_application_name": APPLICATION_NAME}

    app.extensions["database"] = Database(
        url, config["DATABASE_POOL_SIZE"], pooler, arguments, **times, limit=limit, meter=meter, revive=revive
    )


def database() -> Database:
    """Return the database of the current app."""
    return current_app.extensions["database"]


def connection(*, limited: bool = True) -> AbstractContextManager[Connection]:
    """Lend a connection for reading. Each statement is a transaction of its own. limited: see Database.connection()."""
    return database().connection(limited=limited)


@contextmanager
def transaction(*, limited: bool = True) -> Iterator[Connection]:
    """Lend a connection in a transaction. It is committed after the block, or rolled back on an error.

    limited: see Database.connection().
    """
    with database().connection(limited=limited) as conn, transaction_or_savepoint(conn):
        yield conn


def transaction_or_savepoint(conn: Connection) -> AbstractContextManager[Any]:
    """Begin a transaction, or a savepoint inside the caller's transaction."""
    if conn.info.transaction_status != IDLE:
        return conn.transaction()
    meter = database().meter
    return transaction_block(conn) if meter is None else counted_transaction_block(conn, meter)


@contextmanager
def rolled_back_transaction(conn: Connection) -> Iterator[None]:
    """Run a transaction that is always rolled back. Inside the caller's transaction, it is a savepoint."""
    noted = [(events, len(events)) for events in (noted_events.get(), _recorded.get(id(conn))) if events is not None]
    with suppress(psycopg.Rollback), transaction_or_savepoint(conn):
        yield
        for events, before in noted:
            del events[before:]
        raise psycopg.Rollback


@contextmanager
def transaction_block(conn: Connection) -> Iterator[None]:
    """Run a transaction that keeps its prepared statements if it is rolled back.

    psycopg's own rollback drops them, because the transaction may have created tables. Requests never create tables.
    Without prepared statements, planning takes most of the time of the next ten requests.
    """
    conn.execute("BEGIN", prepare=False)
    try:
        yield
    except BaseException:
        # The pool replaces broken connections.
        with suppress(psycopg.Error):
            send(conn, b"ROLLBACK")
        raise
    with timing.of("COMMIT"):
        conn.execute("COMMIT", prepare=False)


# The types of the events that each running transaction has recorded, by the id of its connection. For metrics.
_recorded: dict[int, list[str]] = {}
# The id and type of each event that the running request has recorded, or None outside of requests.
noted_events: ContextVar[list[DictRow] | None] = ContextVar("noted_events", default=None)


@contextmanager
def counted_transaction_block(conn: Connection, meter: Meter) -> Iterator[None]:
    """Run a transaction, and count its events in the metrics after the commit."""
    types = _recorded[id(conn)] = []
    try:
        with transaction_block(conn):
            yield
    finally:
        del _recorded[id(conn)]
    meter.count_events(types)


def note_events(conn: Connection, events: Sequence[DictRow]) -> None:
    """Remember the id and type of events that the transaction has recorded, for metrics and the header Event-Id."""
    recorded = _recorded.get(id(conn))
    if recorded is not None:
        recorded.extend(event["type"] for event in events)
    if (noted := noted_events.get()) is not None:
        noted.extend(events)


@lru_cache(maxsize=1000)
def unindented(statement: LiteralString) -> LiteralString:
    """Return the statement without indentation: psycopg caches parsed statements up to 4,096 characters."""
    return "\n".join(line.strip() for line in statement.splitlines())


def execute(
    conn: Connection, statement: LiteralString, params: Params | None, prepare: bool | None = None
) -> psycopg.Cursor[DictRow]:
    """Execute a statement and record its time."""
    with timing.of(statement):
        return conn.execute(unindented(statement), params, prepare=prepare)


def one(
    conn: Connection, statement: LiteralString, params: Params | None = None, *, prepare: bool | None = None
) -> DictRow | None:
    """Return the first row as a dict, or None. prepare=False: make a new plan for these values each time."""
    return execute(conn, statement, params, prepare).fetchone()


def rows(conn: Connection, statement: LiteralString, params: Params | None = None) -> list[DictRow]:
    """Return all rows as dicts."""
    return execute(conn, statement, params).fetchall()


def value(
    conn: Connection, statement: LiteralString, params: Params | None = None, *, prepare: bool | None = None
) -> Any:
    """Return the first column of the first row, or None. prepare: as for one()."""
    row = one(conn, statement, params, prepare=prepare)
    return None if row is None else next(iter(row.values()))


class RecordText(str):
    """The JSON text of a record, and the version of the record, which its ETag contains."""

    version: int

    def __new__(cls, text: str, version: int) -> Self:
        """Return the text with the version."""
        record = super().__new__(cls, text)
        record.version = version
        return record


def record(conn: Connection, statement: LiteralString, params: Params | None = None) -> RecordText | None:
    """Return the columns text and version of the first row, or None."""
    row = one(conn, statement, params)
    return None if row is None else RecordText(row["text"], row["version"])


def run(conn: Connection, statement: LiteralString, params: Params | None = None) -> int:
    """Execute a statement and return the number of rows that it wrote."""
    return execute(conn, statement, params).rowcount


def as_json(document: Any) -> str:
    """Return a document as compact JSON text, in its order. Non-ASCII text stays, so that searches find it."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def array_text(items: Iterable[str]) -> str:
    """Return an SQL array as text. Arrays of different lengths can be items of another array only in this form."""
    quoted = (item.replace("\\", "\\\\").replace('"', '\\"') for item in items)
    return "{" + ",".join(f'"{item}"' for item in quoted) + "}"


IS_READ_ONLY = "SELECT current_setting('transaction_read_only')::boolean"


def is_read_only(conn: Connection) -> bool:
    """Return whether the database refuses changes at the moment."""
    return value(conn, IS_READ_ONLY)
