"""Brings a database to the schema that this version needs: all of schema.sql, or the numbered steps in migrations/ that it lacks."""

import re
import sys
from pathlib import Path

import psycopg
from psycopg.errors import DuplicateFunction, DuplicateObject, DuplicateTable, InsufficientPrivilege, LockNotAvailable

from sql.database import Connection, connect, run, value

SCHEMA = Path(__file__).parent.parent.parent / "schema.sql"
MIGRATIONS = Path(__file__).parent / "migrations"
# Any number will do, as long as all processes ask for the same one. It is released with the transaction.
LOCK = "SELECT pg_advisory_xact_lock(7225431)"
TRY_LOCK = "SELECT pg_try_advisory_xact_lock(7225431)"
# How long a step waits for who uses a table that it changes, in seconds. Requests for that table wait behind it, for LOCK_TIMEOUT_SECONDS.
PATIENCE = 5
WAIT_FOR_TABLES = "SELECT set_config('lock_timeout', %(patience)s || 's', true)"


class DatabaseProblem(Exception):
    """The database cannot be used; the message is a sentence for its operator."""


def steps(folder: Path = MIGRATIONS) -> dict[int, Path]:
    """The migrations by the version that each leads to: 0002_what_it_does.sql leads to 2."""
    paths = sorted(folder.glob("[0-9][0-9][0-9][0-9]_*.sql"))
    numbers = [int(path.name[:4]) for path in paths]
    assert numbers == list(range(2, 2 + len(paths))), "migrations must be numbered from 0002, without a gap and none twice"
    return dict(zip(numbers, paths, strict=True))


VERSION = 1 + len(steps())


def open_database(url: str, pooler: str) -> Connection:
    """A connection for the start of the service or a command; DatabaseProblem when there is none to be had, or not with our settings."""
    try:
        conn = connect(url, pooler)
    except psycopg.ProgrammingError:
        # libpq quotes what it does not understand, and that can be a piece of the password.
        raise DatabaseProblem("The setting DATABASE_URL cannot be understood; write special characters percent-encoded.") from None
    except psycopg.Error as error:
        advice = f" {BEHIND_POOLER}" if "unsupported startup parameter" in str(error) and pooler == "none" else ""
        raise DatabaseProblem(f"The database cannot be reached: {reason(error)}.{advice}") from None
    try:
        require_settings(conn, pooler)
        if pooler == "prepared":
            require_tracking(conn)
    except BaseException:
        conn.close()
        raise
    return conn


BEHIND_POOLER = "Behind PgBouncer, set DATABASE_POOLER=transaction."

LOST_SETTINGS = """
    SELECT concat_ws(
               ' and ',
               CASE WHEN current_setting('TimeZone') <> ALL ('{UTC,Etc/UTC}') THEN 'TimeZone' END,
               CASE WHEN current_setting('statement_timeout') = '0' THEN 'statement_timeout' END,
               CASE WHEN current_setting('jit') = 'on' THEN 'jit' END,
               CASE WHEN current_setting('transaction_isolation') <> 'read committed' THEN 'default_transaction_isolation' END)
"""


def require_settings(conn: Connection, pooler: str) -> None:
    """DatabaseProblem, which says what to do, unless statements run in UTC, with a limit of time, uncompiled, and as read committed."""
    try:
        lost = value(conn, LOST_SETTINGS)
    except psycopg.Error as error:
        raise DatabaseProblem(f"The database cannot be used: {reason(error)}.") from None
    if lost and pooler == "none":
        raise DatabaseProblem(f"What we set does not reach the database ({lost}). {BEHIND_POOLER}")
    if lost:
        raise DatabaseProblem(f"The pooler does not set {lost} for us. Let it, or the database, as docs/how-to/scale.md says.")


HAS_OUR_NAME = "SELECT EXISTS (SELECT FROM pg_prepared_statements WHERE starts_with(name, '_pg3_'))"


def require_tracking(conn: Connection) -> None:
    """DatabaseProblem unless the pooler takes care of prepared statements: then the database knows them by names that it has given them."""
    with conn.transaction():
        conn.execute("SELECT 1", prepare=True)
        if value(conn, HAS_OUR_NAME):
            # Here, in this session: the next one who gets it would meet the name.
            conn.execute("DEALLOCATE ALL")
            advice = "Set max_prepared_statements of PgBouncer (1.22 or newer), or DATABASE_POOLER=transaction."
            raise DatabaseProblem(f"No pooler keeps prepared statements for us. {advice}")


def is_pooled(conn: Connection) -> bool:
    """Whether a pooler stands in between: it names itself as the process that a client would cancel, not the one that serves him now."""
    return value(conn, "SELECT pg_backend_pid()") != conn.info.backend_pid


def reason(error: psycopg.Error) -> str:
    """Why the server or libpq refused: the first line of what it said; the others say how to go on, or repeat it for another address."""
    line = " ".join(str(error).strip().partition("\n")[0].split()).rstrip(".")
    return line or type(error).__name__


# The column tells our table from those of migration tools that call theirs the same.
HAS_VERSION = """
    SELECT EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass('schema_version') AND attname = 'single_row')
"""


def version(conn: Connection) -> int:
    """The schema version of a database; 0: it has none, as it is empty or somebody else's."""
    return (value(conn, HAS_VERSION) and value(conn, "SELECT version FROM schema_version")) or 0


def require_current(conn: Connection, needed: int = VERSION) -> None:
    """DatabaseProblem, which says what to do, unless the schema is that of this version."""
    found = version(conn)
    if found > needed:
        raise newer(found, needed)
    if found < needed:
        state = f"has schema version {found}, which is older than version {needed} of this service" if found else "is not set up"
        raise DatabaseProblem(f"The database {state}. Run flask --app app migrate.")


def newer(found: int, needed: int) -> DatabaseProblem:
    """What is said of a database that a newer version of this service has migrated."""
    return DatabaseProblem(
        f"The database has schema version {found}, which is newer than version {needed} of this service. Start a newer service."
    )


def take_all_the_time(conn: Connection) -> None:
    """Let the caller's transaction run longer than a request may: the events of years have to be rewritten or indexed."""
    run(conn, "SET LOCAL statement_timeout = 0")


def migrate(conn: Connection, folder: Path = MIGRATIONS) -> int:
    """The version that was found, after bringing it to the newest in the caller's transaction. Waits for other processes that do the same.

    DatabaseProblem when the schema is newer than this service, when the database is somebody else's, when rights are lacking, or when
    others use its tables for too long.
    """
    if not value(conn, TRY_LOCK):
        print("Waiting for another process that checks or migrates the database ...", file=sys.stderr, flush=True)
        run(conn, LOCK)
    found, needed = version(conn), 1 + len(steps(folder))
    if found > needed:
        raise newer(found, needed)
    if found == 0:
        refuse_unfit(conn)
    scripts = [SCHEMA] if found == 0 else [path for number, path in steps(folder).items() if number > found]
    try:
        if 0 < found < needed:
            run(conn, WAIT_FOR_TABLES, {"patience": PATIENCE})
        for script in scripts:
            conn.execute(script.read_bytes())
        if 0 < found < needed:
            run(conn, "UPDATE schema_version SET version = %(version)s", {"version": needed})
    except InsufficientPrivilege as error:
        raise may_not(conn, found, needed, error) from None
    except LockNotAvailable:
        waited = f"{PATIENCE} s for who uses its tables: a backup, or another long transaction"
        raise DatabaseProblem(f"The database has schema version {found} still: its migration waited {waited}. Try again.") from None
    except (DuplicateTable, DuplicateObject, DuplicateFunction) as error:
        raise DatabaseProblem(f"The database holds something else already: {reason(error)}. Use an empty one.") from None
    return found


def may_not(conn: Connection, found: int, needed: int, error: psycopg.Error) -> DatabaseProblem:
    """What is said to a database user who may use a schema, but not make or change it."""
    state, task = (f"has schema version {found}", f"bring it to version {needed}") if found else ("is not set up", "do that")
    return DatabaseProblem(
        f"The database {state}, and its user {conn.info.user} lacks the right to {task}: {reason(error)}. "
        "Run flask --app app migrate as the owner of the schema."
    )


ENCODING = "SELECT current_setting('server_encoding')"

# What an extension has brought is nobody's data.
FIRST_RELATION = """
    SELECT min(relname)
      FROM pg_class
      JOIN pg_namespace ON pg_namespace.oid = relnamespace
     WHERE nspname = current_schema()
       AND relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
       AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype = 'e')
"""


def refuse_unfit(conn: Connection) -> None:
    """DatabaseProblem when a database without our schema is not empty, or cannot hold every text."""
    encoding = value(conn, ENCODING)
    if encoding != "UTF8":
        raise DatabaseProblem(f"The database has the encoding {encoding}. Use one with the encoding UTF8.")
    relation = value(conn, FIRST_RELATION)
    if relation is not None:
        raise DatabaseProblem(f"The database holds something else already: the relation {relation}. Use an empty one.")


CAN_INDEX_WORDS = "SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_trgm')"


def can_index_words(conn: Connection) -> bool:
    """Whether the server has the extension pg_trgm to offer."""
    return value(conn, CAN_INDEX_WORDS)


# Searches are right without it, only slower: see docs/development/decisions.md.
TRIGRAM_INDEXES = """
    CREATE EXTENSION IF NOT EXISTS pg_trgm;
    CREATE INDEX IF NOT EXISTS events_data_trgm ON events USING gin ((data::text) gin_trgm_ops);
    CREATE INDEX IF NOT EXISTS events_pre_data_trgm ON events USING gin ((pre_data::text) gin_trgm_ops);
    CREATE INDEX IF NOT EXISTS events_tags_trgm ON events USING gin ((tags::text) gin_trgm_ops);
    CREATE INDEX IF NOT EXISTS events_created_by_trgm ON events USING gin (created_by gin_trgm_ops)
"""
WORD_INDEXES = re.findall(r"INDEX IF NOT EXISTS (\w+)", TRIGRAM_INDEXES)


def index_words(conn: Connection) -> bool:
    """Index the words of the log with pg_trgm; False where the extension cannot be had."""
    if not can_index_words(conn):
        return False
    try:
        with conn.transaction():
            conn.execute(TRIGRAM_INDEXES)
    except psycopg.Error:
        return False
    return True


HAS_WORD_INDEXES = "SELECT bool_and(to_regclass(name) IS NOT NULL) FROM unnest(%(names)s::text[]) AS name"


def has_word_indexes(conn: Connection) -> bool:
    """Whether the words of the log are indexed already."""
    return value(conn, HAS_WORD_INDEXES, {"names": WORD_INDEXES})
