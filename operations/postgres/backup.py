"""Backup and restore with pg_dump, pg_restore and psql."""

import os
import re
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryFile
from typing import IO

from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Conninfo
from psycopg.rows import DictRow
from psycopg.sql import SQL, Identifier

from operations.postgres import embedded, migrate
from operations.postgres.migrate import DatabaseProblem
from sql.database import Connection, rows, value

# Seconds that a backup waits while the definition of a table changes, and that a restore with --replace waits for a
# table in use.
LOCK_TIMEOUT = 60
SCHEMA = "SELECT current_schema()"


def programs(server: int) -> Path:
    """Return the folder of the programs for a server of this major version: the embedded ones, or those on the PATH."""
    if server <= embedded.MAJOR_VERSION and embedded.BINARIES.is_dir():
        return embedded.BINARIES
    program = shutil.which("pg_dump")
    printed = subprocess.run([program, "--version"], capture_output=True, text=True).stdout if program else ""
    if program and int("".join(re.findall(r"\) (\d+)", printed)) or 0) >= server:
        return Path(program).parent
    advice = f"Install its pg_dump (on Debian: postgresql-client-{server}) on the PATH."
    raise DatabaseProblem(f"The database is PostgreSQL {server}. {advice}")


def connection_of(url: str) -> tuple[dict[str, str], str]:
    """Return the environment, which has the password, and the option --dbname for a program of PostgreSQL."""
    parts = {name: str(text) for name, text in conninfo_to_dict(url).items()}
    secrets = {option.keyword.decode() for option in Conninfo.get_defaults() if option.dispchar == b"*"}
    # Like our own sessions. pg_dump keeps these settings.
    ours = {"PGCLIENTENCODING": "UTF8", "PGOPTIONS": "-c standard_conforming_strings=on"}
    environ = {**os.environ, **ours, "PGCONNECT_TIMEOUT": "3"}
    if "password" in parts:
        environ["PGPASSWORD"] = parts.pop("password")
    if secrets & parts.keys():
        names = ", ".join(secrets & parts.keys())
        raise DatabaseProblem(f"A backup cannot use {names} in DATABASE_URL. Use a service file instead.")
    return environ, f"--dbname={make_conninfo(**parts)}"


def first_error(output: IO[bytes]) -> str:
    """Return the first error that the programs have printed."""
    output.seek(0)
    text = output.read().decode(errors="replace")
    match = re.search(r".*(?:ERROR|FATAL|error): +(.+)", text)
    return (match[1] if match else text.strip() or "the program was killed").rstrip(".")


def failure(conn: Connection, what: str, reason: str) -> DatabaseProblem:
    """Return the error for a program that has failed. It says if the role is the reason."""
    is_role = re.search("permission denied|privilege|must be owner", reason)
    advice = f" The role {conn.info.user} cannot do this. Use the owner of the tables." if is_role else ""
    return DatabaseProblem(f"{what}: {reason.partition(';')[0]}.{advice}")


def dump(conn: Connection, url: str, path: Path | None) -> None:
    """Write a snapshot of the database to the file, or to stdout if path is None."""
    migrate.require_schema(conn)
    if migrate.version(conn) == 0:
        raise DatabaseProblem("The database has no schema: there is nothing to back up.")
    pg_dump(conn, url, "--format=custom", *([f"--file={path}"] if path else []))


def pg_dump(conn: Connection, url: str, *options: str) -> None:
    """Run pg_dump on the schema of this service."""
    environ, address = connection_of(url)
    schema = SQL("{}").format(Identifier(value(conn, SCHEMA))).as_string(conn)
    command = [programs(conn.info.server_version // 10000) / "pg_dump", f"--schema={schema}", "--no-privileges"]
    command += [
        "--no-publications",
        "--no-security-labels",
        f"--lock-wait-timeout={LOCK_TIMEOUT}s",
        "--no-password",
        address,
        *options,
    ]
    with TemporaryFile() as errors:
        if subprocess.run(command, stdin=subprocess.DEVNULL, stderr=errors, env=environ).returncode != 0:
            raise failure(conn, "The backup failed", first_error(errors))


# Entries that are not restored. migrate.index_words() creates the indexes again if the server has the extension.
INDEX = rf"INDEX .+ (?:{'|'.join(migrate.WORD_INDEXES)})"
SKIPPED = re.compile(rf"^\d+; \d+ \d+ (?:COMMENT )?(?:- )?(?:SCHEMA|EXTENSION|{INDEX}) ")
BEGIN = f"BEGIN; SET LOCAL client_min_messages = warning; SET LOCAL lock_timeout = '{LOCK_TIMEOUT}s'; {migrate.LOCK};\n"
# This also drops tables that the backup does not contain.
REPLACE = "DROP SCHEMA {schema} CASCADE; CREATE SCHEMA {schema};\n"
# Statements that older servers refuse: a setting of PostgreSQL 17, and an option that PostgreSQL 15.20 and the other
# releases of November 2026 give each column. A row contains a tab, so it is never one of them.
NEW_STATEMENTS = re.compile(
    rb"^(?:SET transaction_timeout = 0|ALTER TABLE ONLY [^\t\n]+ SET \(pg_attver=\d+\));\n", re.MULTILINE
)


def restore(conn: Connection, url: str, path: Path, *, replace: bool) -> None:
    """Restore a backup in one transaction, or raise DatabaseProblem. replace: drop the instance first."""
    if migrate.version(conn) == 0:
        migrate.require_empty(conn)
    elif not replace:
        advice = "Use an empty database. To delete the instance first, use --replace (REPLACE=yes with make restore)."
        raise DatabaseProblem(f"The database already contains an instance. {advice}")
    # Our choice: a restore does not replace an instance in use.
    elif migrate.is_in_use(conn):
        raise DatabaseProblem("A running service is connected to this database. Stop it, then restore.")
    schema, folder = value(conn, SCHEMA), programs(conn.info.server_version // 10000)
    entries = [entry for entry in contents(folder / "pg_restore", path, schema) if not SKIPPED.match(entry)]
    begin = BEGIN + (SQL(REPLACE).format(schema=Identifier(schema)).as_string(conn) if replace else "")
    environ, address = connection_of(url)
    with NamedTemporaryFile("w") as listed, TemporaryFile() as errors:
        listed.write("\n".join(entries))
        listed.flush()
        options = ("--no-owner", "--no-privileges", "--no-tablespaces", f"--use-list={listed.name}", "--file=-")
        reading = [folder / "pg_restore", *options, path]
        running = [folder / "psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--no-password", address]
        source = subprocess.Popen(reading, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors)
        target = subprocess.Popen(running, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors, env=environ)
        assert source.stdout
        assert target.stdin
        with suppress(BrokenPipeError), source, target:
            # The definitions of tables are in the first 1 MB.
            target.stdin.write(begin.encode() + NEW_STATEMENTS.sub(b"", source.stdout.read(1 << 20)))
            shutil.copyfileobj(source.stdout, target.stdin)
            # Without this, psql rolls everything back.
            target.stdin.write(b"COMMIT;\n" if source.wait() == 0 else b"")
        if source.returncode != 0 or target.returncode != 0:
            raise failure(conn, "The restore failed, and nothing changed", first_error(errors))


def contents(pg_restore: Path, path: Path, schema: str) -> list[str]:
    """Return the entries of a backup. Raises DatabaseProblem if this version cannot restore it completely."""
    with TemporaryFile() as errors:
        listed, version = (
            subprocess.run([pg_restore, *options, path], stdout=subprocess.PIPE, stderr=errors).stdout.decode(
                errors="replace"
            )
            for options in (["--list"], ["--data-only", "--table=schema_version", "--file=-"])
        )
        problem = f": {first_error(errors)}" if errors.tell() else ""
    if "unsupported version" in problem:
        needed = f"Run make install-embedded, or put pg_restore of PostgreSQL {embedded.MAJOR_VERSION} on the PATH."
        raise DatabaseProblem(f"{pg_restore} is too old for this backup{problem}. {needed}")
    # Migration tools also have tables of this name, but with other columns.
    number = int("".join(re.findall(r"^COPY .* \(version, single_row\) FROM stdin;\n(\d+)\tt$", version, re.M)) or 0)
    if number > migrate.VERSION:
        supported = f"this service supports versions up to {migrate.VERSION}"
        raise DatabaseProblem(f"The backup has schema version {number}; {supported}. Upgrade the service.")
    tables, filled = (
        set(re.findall(rf"^\d+; \d+ \d+ {kind} {re.escape(schema)} (\S+) ", listed, re.M))
        for kind in ("TABLE", "TABLE DATA")
    )
    needed = {"users", "events"}
    if number == migrate.VERSION:
        needed = set(re.findall(r"^CREATE TABLE (\w+)", migrate.SCHEMA.read_text(encoding="utf-8"), re.M))
    if number == 0 or not tables & filled >= tables | needed:
        raise DatabaseProblem(f"The file is not a complete backup of this service in the schema {schema}{problem}.")
    return [line for line in listed.splitlines() if not line.startswith(";")]


COUNT = """
    SELECT (SELECT count(*) FROM events) AS events,
           (SELECT count(*) FROM users WHERE deleted_at IS NULL) AS users
"""


def count(conn: Connection) -> DictRow:
    """Return the numbers of events and users."""
    return rows(conn, COUNT)[0]
