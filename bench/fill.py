"""A database with so many events and the instance that they tell of, filled by COPY; one that was kept is used again."""

import hashlib
import json
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import click
import psycopg
from psycopg.errors import InsufficientPrivilege
from psycopg.sql import SQL, Identifier, Literal

from bench import facts, instance
from bench.company import Company
from bench.facts import ADMIN_KEY, ADMIN_PASSWORD, Facts
from bench.history import COLUMNS, History
from bench.plan import REFERENCE
from sql import Connection, bootstrap, connect, migrate, rows, value
from validators import settings

BATCH = 100_000
HERE = Path(__file__).parent
# What decides over what a filled database holds, beside its number of events.
SOURCES = (migrate.SCHEMA, Path(migrate.__file__), *(HERE / f"{name}.py" for name in ("company", "history", "instance", "facts", "fill")))


@dataclass(frozen=True)
class Filled:
    """A database fit to be measured. seconds: how long each step of filling it took; none where it was kept from an earlier run."""

    url: str
    events: int
    facts: Facts
    seconds: dict[str, float]


def digest() -> str:
    """What a kept database must have been made by."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in SOURCES)).hexdigest()[:16]


def name_of(events: int) -> str:
    """The name of the database of so many events."""
    return f"bench_{events}"


def address_of(server: str, name: str) -> str:
    """The address of another database on the same server."""
    return urlunsplit(urlsplit(server)._replace(path=f"/{name}"))


KEPT = "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %(name)s"


def kept(server: str, events: int) -> Filled | None:
    """The database that an earlier run has left; None: there is none, or it does not fit."""
    with connect(server) as conn:
        said = value(conn, KEPT, {"name": name_of(events)})
    if not said or json.loads(said)["digest"] != digest():
        return None
    return Filled(address_of(server, name_of(events)), events, Facts(**json.loads(said)["facts"]), {})


def fill(server: str, events: int, *, quiet: bool = False) -> Filled:
    """A new database of so many events, in place of one of that name."""
    now = datetime.now(UTC).replace(microsecond=0)
    url, company = make(server, events), Company(events, now)
    clock = Clock()
    with connect(url) as conn:
        conn.execute("SET statement_timeout = 0")
        instance.copy(conn, company)
        clock.lap("instance")
        copy_events(conn, company, clock, quiet=quiet)
        conn.execute("VACUUM (ANALYZE)")
        checkpoint(conn)
        clock.lap("vacuum")
        planted = facts.of(company)
        note = json.dumps({"digest": digest(), "facts": asdict(planted)})
        conn.execute(SQL("COMMENT ON DATABASE {} IS {}").format(Identifier(name_of(events)), Literal(note)))
    return Filled(url, events, planted, clock.laps)


def checkpoint(conn: Connection) -> None:
    """Have what was written behind us, where we may."""
    with suppress(InsufficientPrivilege):
        conn.execute("CHECKPOINT")


def make(server: str, events: int) -> str:
    """The address of a new database with the service's schema, as its first start makes it."""
    with connect(server) as conn:
        conn.execute(SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(Identifier(name_of(events))))
        conn.execute(SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING UTF8").format(Identifier(name_of(events))))
    url = address_of(server, name_of(events))
    chosen = {"INIT_ADMIN_PASSWORD": ADMIN_PASSWORD, "INIT_ADMIN_API_TOKENS": ADMIN_KEY}
    bootstrap.bring_up(url, settings.load(chosen))
    return url


class Clock:
    """Seconds of each step."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._since = time.monotonic()

    def lap(self, step: str) -> None:
        """The step ends here."""
        now = time.monotonic()
        self.laps[step], self._since = round(now - self._since, 1), now


# Those of constraints stay: events come in the order of their ids.
INDEXES = """
    SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition
      FROM pg_index
     WHERE indrelid = 'events'::regclass
       AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)
     ORDER BY 1
"""


def copy_events(conn: Connection, company: Company, clock: Clock, *, quiet: bool) -> None:
    """Write the log, and build its indexes when all is there."""
    indexes = rows(conn, INDEXES)
    with conn.transaction():
        for index in indexes:
            conn.execute(SQL("DROP INDEX {}").format(Identifier(index["name"])))
        if company.events > REFERENCE:
            # Those of words take hours to build on ten million events; searches for words are measured on logs up to the reference.
            indexes = [index for index in indexes if "gin" not in index["definition"]]
        conn.execute("ALTER TABLE events DISABLE TRIGGER USER")
        # Emptied in this transaction, so that a server with minimal WAL writes the rows only once.
        conn.execute("TRUNCATE events RESTART IDENTITY")
        with click.progressbar(length=company.events, label=f"{company.events:>10,} events", width=40, hidden=quiet) as bar:
            for number, lines in History(company).batches(BATCH):
                with conn.cursor().copy(f"COPY events ({COLUMNS}) FROM STDIN") as copy:  # pyright: ignore
                    copy.write(lines)
                bar.update(number)
    clock.lap("copy")
    build(conn.info.dsn, [index["definition"] for index in indexes], quiet=quiet)
    clock.lap("indexes")
    conn.execute("ALTER TABLE events ENABLE TRIGGER USER")


def build(url: str, definitions: Sequence[str], *, quiet: bool) -> None:
    """Build indexes, two at a time; those of words first, because they take longest."""

    def run(definition: str) -> None:
        with connect(url) as conn:
            conn.execute("SET statement_timeout = 0")
            conn.execute(definition)  # pyright: ignore

    ordered = sorted(definitions, key=lambda definition: "gin" not in definition)
    with (
        ThreadPoolExecutor(2) as pool,
        click.progressbar(pool.map(run, ordered), length=len(ordered), label=f"{'indexes':>17}", width=40, hidden=quiet) as bar,
    ):
        for _ in bar:
            pass


def copy_of(server: str, filled: Filled, name: str) -> str:
    """The address of a copy, in which anything may be changed."""
    with connect(server) as conn:
        conn.execute("SET statement_timeout = 0")
        conn.execute(SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(Identifier(name)))
        conn.execute(SQL("CREATE DATABASE {} TEMPLATE {}").format(Identifier(name), Identifier(name_of(filled.events))))
    return address_of(server, name)


def drop(server: str, name: str) -> None:
    """Drop a database, whoever uses it."""
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(Identifier(name)))


def days_before(end: str, days: int) -> str:
    """A day so long before another, as the API writes days."""
    return str((datetime.fromisoformat(end) - timedelta(days=days)).date())
