"""The way back of a backup: into an empty database, or over an instance, all or nothing."""

import re
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from psycopg.rows import DictRow
from psycopg.sql import SQL

from sql import Connection, embedded, migrate, one, server, value
from sql.backup import PATIENCE, SCHEMA, complaint, ending, folders, settings_of
from sql.migrate import DatabaseProblem

BLOCK = 1 << 20


@dataclass(frozen=True)
class Archive:
    """A file that pg_dump wrote: the schema in it, the version of that, and what of it is restored, in pg_restore's own words."""

    path: Path
    programs: Path
    schema: str
    version: int
    entries: str


def read(path: Path) -> Archive:
    """What a backup holds. DatabaseProblem: it is none, or newer than this service."""
    path = path.absolute()  # whose name, as it was given, could be taken for an option
    listed, programs = None, embedded.BINARIES
    for programs in folders():
        listed = subprocess.run([programs / "pg_restore", "--list", path], capture_output=True, text=True, errors="replace")
        if listed.returncode == 0 or "unsupported version" not in listed.stderr:
            break
    assert listed is not None
    table = re.search(r"^\d+; \d+ \d+ TABLE DATA (.+) schema_version ", listed.stdout, re.MULTILINE)
    if listed.returncode != 0 or table is None:
        reason = re.search(r"error: (.*?)\.?$", listed.stderr, re.MULTILINE)
        raise DatabaseProblem(f"The file {path} is no backup of ours: {reason[1] if reason else 'it holds something else'}.")
    told = subprocess.run(
        [programs / "pg_restore", "--data-only", "--table=schema_version", "--file=-", path],
        capture_output=True,
        text=True,
        errors="replace",
    )
    if told.returncode != 0:
        raise DatabaseProblem(f"The file {path} is damaged: it does not tell the version of its schema.")
    # Tools that migrate have tables of that name too.
    version = re.search(r"^COPY .* \(version, single_row\) FROM stdin;\n(\d+)\tt$", told.stdout, re.MULTILINE)
    if version is None:
        raise DatabaseProblem(f"The file {path} is no backup of ours: it holds something else.")
    if int(version[1]) > migrate.VERSION:
        newer = f"schema version {version[1]}, which is newer than version {migrate.VERSION} of this service"
        raise DatabaseProblem(f"The backup has {newer}. Use a newer service.")
    held = re.findall(rf"^\d+; \d+ \d+ TABLE DATA {re.escape(table[1])} (\S+) ", listed.stdout, re.MULTILINE)
    needed = server.parts()["table"] if int(version[1]) == migrate.VERSION else ["users", "events"]
    lacking = [name for name in needed if name not in held]
    if lacking:
        raise DatabaseProblem(f"The file {path} is no backup of all that an instance holds: it lacks what the table {lacking[0]} held.")
    entries = [line for line in listed.stdout.splitlines() if not line.startswith(";") and is_restored(line)]
    return Archive(path, programs, table[1], int(version[1]), "\n".join(entries))


# The schema is there; and what needs an extension, which the server may not have, is made anew where it can be.
LEFT_OUT = re.compile(rf"^\d+; \d+ \d+ (?:COMMENT )?(?:- )?(?:SCHEMA|EXTENSION|INDEX .+ (?:{'|'.join(migrate.WORD_INDEXES)})) ")


def is_restored(entry: str) -> bool:
    """Whether a line of a backup's table of contents is something that a restore makes."""
    return LEFT_OUT.match(entry) is None


# All that the schema holds but what an extension has brought: it is ours, or it would not have been set up.
DROP_ALL = """
    SET LOCAL lock_timeout = '{patience}s';
    SET LOCAL client_min_messages = warning;
    DO $drop$
    DECLARE
        here   oid := (SELECT oid FROM pg_namespace WHERE nspname = current_schema());
        drops  text[] := ARRAY(
            SELECT pg_catalog.format('DROP %s IF EXISTS %s CASCADE', kind, name)
              FROM (SELECT CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'S' THEN 'SEQUENCE'
                                        WHEN 'f' THEN 'FOREIGN TABLE' ELSE 'TABLE' END AS kind,
                           oid::regclass::text AS name, relkind = 'S' AS is_late, 1 AS place, 'pg_class'::regclass AS catalog, oid
                      FROM pg_class
                     WHERE relnamespace = here AND relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
                 UNION ALL
                    SELECT 'ROUTINE', oid::regprocedure::text, true, 2, 'pg_proc'::regclass, oid
                      FROM pg_proc
                     WHERE pronamespace = here
                 UNION ALL
                    SELECT 'TYPE', pg_type.oid::regtype::text, true, 3, 'pg_type'::regclass, pg_type.oid
                      FROM pg_type
                      LEFT JOIN pg_class ON pg_class.oid = typrelid
                     WHERE typnamespace = here AND (typtype IN ('e', 'd', 'r') OR relkind = 'c')) AS ours
             WHERE NOT EXISTS (SELECT FROM pg_depend WHERE classid = catalog AND objid = ours.oid AND deptype = 'e')
             ORDER BY is_late, place, name);
        one    text;
    BEGIN
        FOREACH one IN ARRAY drops LOOP
            EXECUTE one;
        END LOOP;
    END $drop$;
"""

# All belongs to who restores it, and lies where his tables lie.
HERE = ("--no-owner", "--no-privileges", "--no-tablespaces")

# Servers before PostgreSQL 17 do not know it.
NEW_SETTING = b"SET transaction_timeout = 0;\n"


def restore(conn: Connection, url: str, archive: Archive, *, replace: bool, progress: Callable[[int], None]) -> None:
    """Put a backup into an empty database, or replace what an instance holds; all or nothing. DatabaseProblem: it cannot be done."""
    # Who starts a service now waits, as for a migration. For the session: in a transaction, we would keep tables from being dropped.
    value(conn, migrate.LOCK_FOR_SESSION)
    try:
        require_room(conn, archive, replace=replace)
        before = SQL(DROP_ALL).format(patience=SQL(str(PATIENCE))).as_string(conn) if replace else ""  # pyright: ignore
        pour(archive, url, f"BEGIN;\n{before}", "COMMIT;\n", progress)
    finally:
        value(conn, migrate.UNLOCK_FOR_SESSION)


def require_room(conn: Connection, archive: Archive, *, replace: bool) -> None:
    """DatabaseProblem unless the database is empty, or an instance that may be replaced."""
    schema = value(conn, SCHEMA)
    if schema != archive.schema:
        raise DatabaseProblem(f"The backup is of the schema {archive.schema}, but the search_path of this database begins with {schema}.")
    if migrate.version(conn) == 0:
        migrate.refuse_unfit(conn)
    elif not replace:
        raise DatabaseProblem(
            "The database holds an instance already. Name an empty one, or say --replace: all that it holds is then lost."
        )


def pour(archive: Archive, url: str, before: str, after: str, progress: Callable[[int], None]) -> None:
    """Let psql run the backup between two statements, in one session. It commits when all was read, and was what pg_dump wrote."""
    environ, arguments = settings_of(url)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as read_said:
        entries = Path(folder) / "entries"
        entries.write_text(archive.entries)
        source = subprocess.Popen(
            [archive.programs / "pg_restore", *HERE, f"--use-list={entries}", "--file=-", archive.path],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=read_said,
        )
        target = subprocess.Popen(
            [archive.programs / "psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--no-password", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=said,
            env=environ,
        )
        assert source.stdout
        assert target.stdin
        with ending([source, target]):
            try:
                target.stdin.write(before.encode())
                # In the first block stand settings alone: what comes behind may be data.
                block = source.stdout.read(BLOCK).replace(NEW_SETTING, b"", 1)
                while block:
                    target.stdin.write(block)
                    progress(len(block))
                    block = source.stdout.read(BLOCK)
                if source.wait() == 0:
                    target.stdin.write(after.encode())
                target.stdin.close()
            except BrokenPipeError:
                source.kill()
            # Without the COMMIT, nothing has happened.
            target.wait()
        if target.returncode != 0:
            raise DatabaseProblem(f"Nothing was restored, and nothing changed: {complaint(said)}.")
        if source.returncode != 0:
            raise DatabaseProblem(f"Nothing was restored, and nothing changed, as the backup is damaged: {complaint(read_said)}.")


SUMMARY = "SELECT (SELECT count(*) FROM events) AS events, (SELECT count(*) FROM users WHERE deleted_at IS NULL) AS users"


def summary(conn: Connection) -> DictRow:
    """How many events and users there are."""
    found = one(conn, SUMMARY)
    assert found is not None
    return found
