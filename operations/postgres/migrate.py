"""Create the schema from schema.sql, or upgrade an older one with the numbered files in migrations/."""

import re
import sys
import time
from pathlib import Path
from typing import LiteralString

import psycopg
from psycopg.errors import DuplicateFunction, DuplicateObject, DuplicateTable, InsufficientPrivilege, LockNotAvailable

from sql import locks
from sql.database import APPLICATION_NAME, Connection, connect, run, value
from sql.database.schema_version import SCHEMA, VERSION, version

GRANT = "Run deploy/grants.sql (docs/how-to/deploy.md)."
MIGRATIONS = Path(__file__).parent / "migrations"
LOCK: LiteralString = f"SELECT pg_advisory_xact_lock({locks.MIGRATION})"
TRY_LOCK: LiteralString = f"SELECT pg_try_advisory_xact_lock({locks.MIGRATION})"
# Seconds that a migration waits for a table that is in use. Requests for that table wait behind it, for
# LOCK_TIMEOUT_SECONDS.
PATIENCE = 5
WAIT_FOR_TABLES = "SELECT set_config('lock_timeout', %(patience)s || 's', true)"
# In the order in which pg_dump locks them, so that a migration and a backup never wait for each other. Tables of other
# owners, such as those of extensions, are left out.
LOCK_TABLES = """
    DO $$ BEGIN
        EXECUTE (SELECT coalesce('LOCK TABLE ' || string_agg(oid::regclass::text, ', ' ORDER BY oid), 'SELECT')
                   FROM pg_class
                  WHERE relnamespace = current_schema()::regnamespace
                    AND pg_has_role(relowner, 'USAGE')
                    AND relkind = 'r');
    END $$
"""
# Seconds that PostgreSQL has to end the connections of a service that has just stopped.
STOPPED_TIMEOUT = 2


class DatabaseProblem(Exception):
    """The database cannot be used. The message is a sentence for the operator."""


def steps(folder: Path = MIGRATIONS) -> dict[int, Path]:
    """Return the migrations by version: 0002_what_it_does.sql upgrades to version 2."""
    paths = sorted(folder.glob("[0-9][0-9][0-9][0-9]_*.sql"))
    numbers = [int(path.name[:4]) for path in paths]
    assert numbers == list(range(2, 2 + len(paths))), "migrations must be numbered from 0002, each number once"
    return dict(zip(numbers, paths, strict=True))


def open_database(url: str, pooler: str) -> Connection:
    """Open a connection for a start of the service or a command. Raises DatabaseProblem if it is not usable."""
    try:
        conn = connect(url, pooler)
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

# The settings, and the values that each may have, as regular expressions.
LOST_SETTINGS = """
    SELECT string_agg(name, ' and ' ORDER BY position)
      FROM unnest(
               '{TimeZone,statement_timeout,jit,default_transaction_isolation,DateStyle,client_encoding,
                 standard_conforming_strings,array_nulls}'::text[],
               '{(Etc/)?UTC,[1-9].*,off,read committed,"ISO, .*",UTF8,on,on}'::text[])
           WITH ORDINALITY AS needed (name, pattern, position)
     WHERE current_setting(name) !~ concat('^(', pattern, ')$')
"""


def require_settings(conn: Connection, pooler: str) -> None:
    """Raise DatabaseProblem unless the session has the settings that our statements need."""
    try:
        lost = value(conn, LOST_SETTINGS)
    except psycopg.Error as error:
        raise DatabaseProblem(f"The database cannot be used: {reason(error)}.") from None
    if lost and pooler == "none":
        raise DatabaseProblem(f"The session settings of this service have no effect ({lost}). {BEHIND_POOLER}")
    if lost:
        raise DatabaseProblem(f"The pooler does not set {lost}. Set it as in docs/how-to/scale.md.")


HAS_STATEMENT = "SELECT EXISTS (SELECT FROM pg_prepared_statements WHERE starts_with(name, '_pg3_'))"


def require_tracking(conn: Connection) -> None:
    """Raise DatabaseProblem unless the pooler tracks prepared statements, and so gives them other names."""
    with conn.transaction():
        conn.execute("SELECT 1", prepare=True)
        if value(conn, HAS_STATEMENT):
            # The next client of this server session would find the name in use.
            conn.execute("DEALLOCATE ALL")
            advice = "Set max_prepared_statements of PgBouncer (1.22 or newer), or DATABASE_POOLER=transaction."
            raise DatabaseProblem(f"DATABASE_POOLER is prepared, but no pooler tracks prepared statements. {advice}")


def is_pooled(conn: Connection) -> bool:
    """Return whether there is a pooler. Poolers report another process id than that of the server process."""
    return value(conn, "SELECT pg_backend_pid()") != conn.info.backend_pid


def reason(error: psycopg.Error) -> str:
    """Return the first line of an error of the server or libpq, without a period."""
    line = " ".join(str(error).strip().partition("\n")[0].split()).rstrip(".")
    return line or type(error).__name__


def reason_and_advice(error: psycopg.Error) -> str:
    """Return reason() as a sentence, and where to look if the role lacks a privilege."""
    advice = " Run ./flags doctor, and read docs/how-to/deploy.md." if isinstance(error, InsufficientPrivilege) else ""
    return f"{reason(error)}.{advice}"


def require_schema(conn: Connection) -> None:
    """Raise DatabaseProblem if the role cannot use the schema, which then seems to be empty."""
    if value(conn, "SELECT current_schema() IS NULL AND to_regnamespace('public') IS NOT NULL"):
        raise DatabaseProblem(f"The role {conn.info.user} cannot use the schema. {GRANT}")


def require_current(conn: Connection, needed: int = VERSION) -> None:
    """Raise DatabaseProblem unless the schema has this version."""
    require_schema(conn)
    current = version(conn)
    if current > needed:
        raise newer_schema(current, needed)
    if current < needed:
        state = f"has schema version {current}; this service needs version {needed}" if current else "has no schema"
        raise DatabaseProblem(f"The database {state}. Run ./flags migrate.")


def newer_schema(current: int, needed: int) -> DatabaseProblem:
    """Return the error for a database with the schema of a newer version of this service."""
    state = f"The database has schema version {current}; this service supports versions up to {needed}."
    return DatabaseProblem(f"{state} Upgrade the service.")


# Only client sessions have a user. Poolers keep the sessions of a service that has stopped, so with a pooler, only
# sessions in use count.
HAS_SERVICE = """
    SELECT EXISTS (
        SELECT FROM pg_stat_activity
         WHERE datname = current_database()
           AND pid <> pg_backend_pid()
           AND usesysid IS NOT NULL
           AND application_name = ANY(%(names)s)
           AND (NOT %(is_pooled)s OR state <> 'idle' OR state_change > clock_timestamp() - interval '10 seconds'))
"""


def is_in_use(conn: Connection) -> bool:
    """Return whether a service is connected to the database, and still is after STOPPED_TIMEOUT."""
    # The services of 0.1.0 and 0.2.0 give their connections no name.
    names = [APPLICATION_NAME, ""] if version(conn) <= 3 else [APPLICATION_NAME]
    deadline = time.monotonic() + STOPPED_TIMEOUT
    while value(conn, HAS_SERVICE, {"names": names, "is_pooled": is_pooled(conn)}):
        if time.monotonic() > deadline:
            return True
        time.sleep(0.05)
        # Otherwise a transaction sees the same sessions again.
        run(conn, "SELECT pg_stat_clear_snapshot()")
    return False


def disable_timeout(conn: Connection) -> None:
    """Turn the statement timeout off for the transaction: rewriting or indexing years of events takes long."""
    run(conn, "SET LOCAL statement_timeout = 0")


def migrate(conn: Connection, folder: Path = MIGRATIONS) -> int:
    """Create or upgrade the schema in the caller's transaction. Return the previous version, or 0 if there was none.

    Waits for other processes that do the same. Raises DatabaseProblem if the schema is newer than this service, a
    service of an older version is connected, the database has other contents, the role lacks privileges, or a table is
    in use for too long.
    """
    if not value(conn, TRY_LOCK):
        print("Waiting for another process that checks or migrates the database ...", file=sys.stderr, flush=True)
        run(conn, LOCK)
    before, needed = version(conn), 1 + len(steps(folder))
    if before > needed:
        raise newer_schema(before, needed)
    if before == 0:
        require_empty(conn)
    scripts = [SCHEMA] if before == 0 else [path for number, path in steps(folder).items() if number > before]
    try:
        if 0 < before < needed:
            # Our choice: the statements of an older service fail on a newer schema, so it has to stop first.
            if is_in_use(conn):
                problem = f"A running service uses schema version {before} of this database"
                raise DatabaseProblem(f"{problem}. Stop all services of the old version, then migrate.")
            run(conn, WAIT_FOR_TABLES, {"patience": PATIENCE})
            run(conn, LOCK_TABLES)
        for script in scripts:
            conn.execute(script.read_bytes())
        if 0 < before < needed:
            run(conn, "UPDATE schema_version SET version = %(version)s", {"version": needed})
    except InsufficientPrivilege as error:
        raise missing_privilege(conn, before, needed, error) from None
    except LockNotAvailable:
        problem = f"The upgrade from schema version {before} to {needed} failed: a table was in use for {PATIENCE} s"
        advice = "End long transactions, such as a backup, and try again."
        raise DatabaseProblem(f"{problem}. {advice}") from None
    except (DuplicateTable, DuplicateObject, DuplicateFunction) as error:
        raise DatabaseProblem(f"The database is not empty: {reason(error)}. Use an empty database.") from None
    return before


def missing_privilege(conn: Connection, before: int, needed: int, error: psycopg.Error) -> DatabaseProblem:
    """Return the error for a role that can use the schema, but not create or upgrade it."""
    task = f"upgrade the schema from version {before} to {needed}" if before else "create the schema"
    advice = "Run ./flags migrate as the owner of the schema."
    return DatabaseProblem(f"The role {conn.info.user} cannot {task}: {reason(error)}. {advice}")


ENCODING = "SELECT current_setting('server_encoding')"

# Relations of extensions do not count.
FIRST_RELATION = """
    SELECT min(relname)
      FROM pg_class
      JOIN pg_namespace ON pg_namespace.oid = relnamespace
     WHERE nspname = current_schema()
       AND relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
       AND NOT EXISTS (
               SELECT FROM pg_depend
                WHERE classid = 'pg_class'::regclass
                  AND objid = pg_class.oid
                  AND deptype = 'e')
"""


def require_empty(conn: Connection) -> None:
    """Raise DatabaseProblem if the database contains relations, or has another encoding than UTF8."""
    require_schema(conn)
    encoding = value(conn, ENCODING)
    if encoding != "UTF8":
        raise DatabaseProblem(f"The database has the encoding {encoding}. Use a database with the encoding UTF8.")
    relation = value(conn, FIRST_RELATION)
    if relation is not None:
        raise DatabaseProblem(f"The database is not empty: it contains {relation}. Use an empty database.")


CAN_INDEX_WORDS = "SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_trgm')"


def can_index_words(conn: Connection) -> bool:
    """Return whether the server offers the extension pg_trgm."""
    return value(conn, CAN_INDEX_WORDS)


# Optional: searches without these indexes are slower, but return the same (decisions.md, Event search).
TRIGRAM_INDEXES = """
    CREATE EXTENSION IF NOT EXISTS pg_trgm;
    CREATE INDEX IF NOT EXISTS events_data_trgm ON events USING gin ((data::text) gin_trgm_ops);
    CREATE INDEX IF NOT EXISTS events_pre_data_trgm ON events USING gin ((pre_data::text) gin_trgm_ops);
    CREATE INDEX IF NOT EXISTS events_tags_trgm ON events USING gin ((tags::text) gin_trgm_ops);
    CREATE INDEX IF NOT EXISTS events_created_by_trgm ON events USING gin (created_by gin_trgm_ops)
"""
WORD_INDEXES = re.findall(r"INDEX IF NOT EXISTS (\w+)", TRIGRAM_INDEXES)


def index_words(conn: Connection) -> bool:
    """Create the indexes for text searches of the event log. Return False if the extension is not available."""
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
    """Return whether the indexes for text searches of the event log exist."""
    return value(conn, HAS_WORD_INDEXES, {"names": WORD_INDEXES})
