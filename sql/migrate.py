"""Brings a database to the schema that this version needs: all of schema.sql, or the numbered steps in sql/migrations/ that it lacks."""

import re
from pathlib import Path

import psycopg
from psycopg.errors import DuplicateFunction, DuplicateObject, DuplicateTable, InsufficientPrivilege

from sql import Connection, connect, run, value

SCHEMA = Path(__file__).parent.parent / "schema.sql"
MIGRATIONS = Path(__file__).parent / "migrations"
# Any number will do, as long as all processes ask for the same one. It is released with the transaction.
LOCK = "SELECT pg_advisory_xact_lock(7225431)"


class DatabaseProblem(Exception):
    """The database cannot be used; the message is a sentence for its operator."""


def steps(folder: Path = MIGRATIONS) -> dict[int, Path]:
    """The migrations by the version that each leads to: 0002_what_it_does.sql leads to 2."""
    found = {int(path.name[:4]): path for path in sorted(folder.glob("[0-9][0-9][0-9][0-9]_*.sql"))}
    assert list(found) == list(range(2, 2 + len(found))), "migrations must be numbered from 0002 without a gap"
    return found


VERSION = 1 + len(steps())


def open_database(url: str) -> Connection:
    """A connection for the start of the service or a command; DatabaseProblem when there is none to be had."""
    try:
        return connect(url)
    except psycopg.Error as error:
        raise DatabaseProblem(f"The database cannot be reached: {reason(error)}.") from None


def reason(error: psycopg.Error) -> str:
    """Why the server or libpq refused, in one line and without the password."""
    text = " ".join(str(error).split()).rstrip(".")
    return re.sub(r"//[^@/\s]*@", "//***@", text) or type(error).__name__


HAS_VERSION = "SELECT to_regclass('schema_version') IS NOT NULL"


def version(conn: Connection) -> int:
    """The schema version of a database; 0: it is empty."""
    return value(conn, "SELECT version FROM schema_version") if value(conn, HAS_VERSION) else 0


def migrate(conn: Connection, folder: Path = MIGRATIONS) -> int:
    """The version that was found, after bringing it to the newest in the caller's transaction. Waits for other processes that do the same.

    DatabaseProblem when the schema is newer than this service, when the database is somebody else's, or when rights are lacking.
    """
    run(conn, LOCK)
    found, needed = version(conn), 1 + len(steps(folder))
    if found > needed:
        raise DatabaseProblem(
            f"The database has schema version {found}, which is newer than version {needed} of this service. Start a newer service."
        )
    scripts = [SCHEMA] if found == 0 else [path for number, path in steps(folder).items() if number > found]
    try:
        for script in scripts:
            conn.execute(script.read_bytes())
    except InsufficientPrivilege as error:
        raise DatabaseProblem(f"The database user lacks the right to set up the schema: {reason(error)}.") from None
    except (DuplicateTable, DuplicateObject, DuplicateFunction) as error:
        raise DatabaseProblem(f"The database holds something else already: {reason(error)}. Use an empty one.") from None
    if found not in (0, needed):
        run(conn, "UPDATE schema_version SET version = %(version)s", {"version": needed})
    return found


# Searches are right without it, only slower: see docs/decisions.md.
TRIGRAM_INDEXES = """
    CREATE EXTENSION IF NOT EXISTS pg_trgm;
    CREATE INDEX IF NOT EXISTS events_data_trgm ON events USING gin ((data::text) gin_trgm_ops);
    CREATE INDEX IF NOT EXISTS events_pre_data_trgm ON events USING gin ((pre_data::text) gin_trgm_ops);
    CREATE INDEX IF NOT EXISTS events_tags_trgm ON events USING gin ((tags::text) gin_trgm_ops);
    CREATE INDEX IF NOT EXISTS events_type_trgm ON events USING gin (type gin_trgm_ops);
    CREATE INDEX IF NOT EXISTS events_created_by_trgm ON events USING gin (created_by gin_trgm_ops)
"""


def index_words(conn: Connection) -> bool:
    """Index the words of the log with pg_trgm; False where the extension cannot be had."""
    try:
        with conn.transaction():
            conn.execute(TRIGRAM_INDEXES)
    except psycopg.Error:
        return False
    return True
