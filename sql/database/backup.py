"""Backup and restore by PostgreSQL's own pg_dump, pg_restore and psql."""

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
from psycopg.sql import SQL, Identifier

from sql.database import Connection, embedded, migrate, value
from sql.database.migrate import DatabaseProblem

# Seconds that a backup waits for a table that is being changed, and --replace for a table that is in use.
PATIENCE = 60
SCHEMA = "SELECT current_schema()"


def programs(server: int) -> Path:
    """Return the folder of the programs for a server of this major version: the included ones, or newer ones on the PATH."""
    if server <= embedded.MAJOR_VERSION:
        return embedded.BINARIES
    found = shutil.which("pg_dump")
    printed = subprocess.run([found, "--version"], capture_output=True, text=True).stdout if found else ""
    if found and int("".join(re.findall(r"\) (\d+)", printed)) or 0) >= server:
        return Path(found).parent
    raise DatabaseProblem(f"The database is PostgreSQL {server}. Install its pg_dump (on Debian: postgresql-client-{server}) on the PATH.")


def connection_of(url: str) -> tuple[dict[str, str], str]:
    """Return the environment and the option that name a database. Secrets are not in the option: any user can read command lines."""
    parts = {name: str(text) for name, text in conninfo_to_dict(url).items()}
    secrets = {option.keyword.decode() for option in Conninfo.get_defaults() if option.dispchar == b"*"}
    environ = {**os.environ, "PGCONNECT_TIMEOUT": "3"}
    if "password" in parts:
        environ["PGPASSWORD"] = parts.pop("password")
    if secrets & parts.keys():
        raise DatabaseProblem(f"A backup cannot use {', '.join(secrets & parts.keys())} in DATABASE_URL. Use a service file instead.")
    return environ, f"--dbname={make_conninfo(**parts)}"


def complaint(errors: IO[bytes]) -> str:
    """Return the first error that the programs have printed."""
    errors.seek(0)
    text = errors.read().decode(errors="replace")
    found = re.search(r".*(?:ERROR|FATAL|error): +(.+)", text)
    return (found[1] if found else text.strip() or "the program was killed").rstrip(".")


def dump(conn: Connection, url: str, path: Path | None) -> None:
    """Write the database, as it is at one instant, to a file; None: to stdout."""
    if migrate.version(conn) == 0:
        raise DatabaseProblem("The database is not set up: there is nothing to back up.")
    pg_dump(conn, url, "--format=custom", *([f"--file={path}"] if path else []))


def pg_dump(conn: Connection, url: str, *options: str) -> None:
    """Run pg_dump on the schema of this service."""
    environ, address = connection_of(url)
    schema = SQL("{}").format(Identifier(value(conn, SCHEMA))).as_string(conn)
    command = [programs(conn.info.server_version // 10000) / "pg_dump", f"--schema={schema}", "--no-privileges", "--no-publications"]
    command += ["--no-security-labels", f"--lock-wait-timeout={PATIENCE}s", "--no-password", address, *options]
    with TemporaryFile() as errors:
        if subprocess.run(command, stdin=subprocess.DEVNULL, stderr=errors, env=environ).returncode != 0:
            raise DatabaseProblem(f"The backup failed: {complaint(errors)}.")


# migrate.index_words() creates the indexes again, if the server has the extension.
LEFT_OUT = re.compile(rf"^\d+; \d+ \d+ (?:COMMENT )?(?:- )?(?:SCHEMA|EXTENSION|INDEX .+ (?:{'|'.join(migrate.WORD_INDEXES)})) ")
BEGIN = f"BEGIN; SET LOCAL client_min_messages = warning; SET LOCAL lock_timeout = '{PATIENCE}s'; {migrate.LOCK};\n"
# Also drops what the backup lacks.
REPLACE = "DROP SCHEMA {schema} CASCADE; CREATE SCHEMA {schema};\n"
# PostgreSQL 16 and older refuse this setting.
NEW_SETTING = b"SET transaction_timeout = 0;\n"


def restore(conn: Connection, url: str, path: Path, *, replace: bool) -> None:
    """Restore a backup into an empty database, or replace an instance, in one transaction. DatabaseProblem: nothing was changed."""
    if migrate.version(conn) == 0:
        migrate.refuse_unfit(conn)
    elif not replace:
        raise DatabaseProblem("The database holds an instance already. Use an empty database, or --replace to delete the instance.")
    schema, folder = value(conn, SCHEMA), programs(conn.info.server_version // 10000)
    entries = [entry for entry in contents(folder / "pg_restore", path, schema) if not LEFT_OUT.match(entry)]
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
            target.stdin.write(begin.encode() + source.stdout.read(1 << 20).replace(NEW_SETTING, b"", 1))
            shutil.copyfileobj(source.stdout, target.stdin)
            # Without this, psql rolls everything back.
            target.stdin.write(b"COMMIT;\n" if source.wait() == 0 else b"")
        if source.returncode != 0 or target.returncode != 0:
            raise DatabaseProblem(f"Nothing was restored, and nothing changed: {complaint(errors)}.")


def contents(pg_restore: Path, path: Path, schema: str) -> list[str]:
    """Return the entries of a backup. DatabaseProblem: it is not a complete backup that this version can restore."""
    listed, version = (
        subprocess.run([pg_restore, *options, path], capture_output=True, text=True, errors="replace").stdout
        for options in (["--list"], ["--data-only", "--table=schema_version", "--file=-"])
    )
    # The columns tell this table from those of migration tools.
    number = int("".join(re.findall(r"^COPY .* \(version, single_row\) FROM stdin;\n(\d+)\tt$", version, re.M)) or 0)
    if number > migrate.VERSION:
        newest = f"this service supports up to version {migrate.VERSION}"
        raise DatabaseProblem(f"The backup has schema version {number}; {newest}. Use a newer service.")
    tables, filled = (
        set(re.findall(rf"^\d+; \d+ \d+ {kind} {re.escape(schema)} (\S+) ", listed, re.M)) for kind in ("TABLE", "TABLE DATA")
    )
    needed = migrate.SCHEMA.read_text(encoding="utf-8") if number == migrate.VERSION else "CREATE TABLE users\nCREATE TABLE events"
    if number == 0 or not tables & filled >= {*tables, *re.findall(r"^CREATE TABLE (\w+)", needed, re.M)}:
        raise DatabaseProblem(f"The file is not a complete backup of this service in the schema {schema}.")
    return [line for line in listed.splitlines() if not line.startswith(";")]


SUMMARY = "SELECT format('%s events and %s users', (SELECT count(*) FROM events), (SELECT count(*) FROM users WHERE deleted_at IS NULL))"


def summary(conn: Connection) -> str:
    """Return how many events and users there are, as a phrase."""
    return value(conn, SUMMARY)
