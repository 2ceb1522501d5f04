"""A backup: all that our schema holds, as PostgreSQL's own pg_dump writes it. sql/restore.py is its way back.

What connects them to the server goes by the environment: a command line can be read by everybody on the machine.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Conninfo
from psycopg.sql import SQL, Identifier

from sql import Connection, embedded, migrate, value
from sql.migrate import DatabaseProblem

# How long a backup waits for who changes tables, and a restore for who uses them, in seconds.
PATIENCE = 60


def folders() -> Iterator[Path]:
    """Where PostgreSQL's programs can be: our own, and those of the machine."""
    yield embedded.BINARIES
    found = shutil.which("pg_dump")
    if found:
        yield Path(found).parent


def dumper(server: int) -> Path:
    """The folder of a pg_dump that can read a server of this major version. DatabaseProblem: there is none."""
    newest = 0
    for folder in folders():
        said = subprocess.run([folder / "pg_dump", "--version"], capture_output=True, text=True).stdout
        number = re.search(r"\) (\d+)", said)
        if number and int(number[1]) >= server:
            return folder
        newest = max(newest, int(number[1]) if number else 0)
    raise DatabaseProblem(
        f"The database is PostgreSQL {server}, which pg_dump of version {newest}, the newest here, cannot read. Install that of version "
        f"{server} (on Debian: postgresql-client-{server}) where PATH finds it."
    )


def settings_of(url: str) -> tuple[dict[str, str], list[str]]:
    """The environment that leads PostgreSQL's programs to a database, and arguments for what has no place there, which is no secret."""
    said = {name: str(text) for name, text in conninfo_to_dict(url).items() if text is not None}
    known = {option.keyword.decode(): option for option in Conninfo.get_defaults()}
    environ = {**os.environ, "PGCONNECT_TIMEOUT": "3", "PGAPPNAME": "flags-backup"}
    rest: dict[str, str] = {}
    for name, text in said.items():
        option = known[name]
        if option.envvar:
            environ[option.envvar.decode()] = text
        elif option.dispchar == b"*":
            raise DatabaseProblem(f"DATABASE_URL holds {name}, which PostgreSQL's programs take from no environment. Use a service file.")
        else:
            rest[name] = text
    return environ, [f"--dbname={make_conninfo(**rest)}"] if rest else []


@contextmanager
def ending(processes: Sequence[subprocess.Popen[bytes]]) -> Iterator[None]:
    """End these processes when the block ends before them."""
    try:
        yield
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
            with suppress(BrokenPipeError):
                process.communicate()


def complaint(said: IO[bytes]) -> str:
    """What a program of PostgreSQL could not do, in its own words."""
    said.seek(0)
    text = said.read().decode(errors="replace")
    found = re.search(r"(?:ERROR|FATAL):\s+(.*)", text) or re.search(r"error: (.*)", text)
    return (found[1] if found else text.strip().rpartition("\n")[2] or "it has ended").rstrip(".")


SCHEMA = "SELECT current_schema()"


def dump(conn: Connection, url: str, path: Path | None, progress: Callable[[], None]) -> None:
    """Write a backup of the database, as it is at one instant, into a file; None: to stdout. DatabaseProblem: it cannot be done."""
    if migrate.version(conn) == 0:
        raise DatabaseProblem("The database is not set up: there is nothing to back up.")
    programs = dumper(conn.info.server_version // 10000)
    schema = SQL("{}").format(Identifier(value(conn, SCHEMA))).as_string(conn)
    environ, arguments = settings_of(url)
    # Rights are those of the server: another one has other users. Owners and tablespaces are left out by the restore alone.
    command = [programs / "pg_dump", "--format=custom", f"--schema={schema}", "--no-privileges", "--no-publications"]
    command += ["--no-security-labels", f"--lock-wait-timeout={PATIENCE}s", "--no-password", *arguments]
    # It opens the file itself: to a stdout that is one, it writes its table of contents twice.
    command += [f"--file={path}"] if path else []
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=said, env=environ)
        with ending([process]):
            while True:
                try:
                    process.wait(0.2)
                    break
                except subprocess.TimeoutExpired:
                    progress()
        if process.returncode != 0:
            raise DatabaseProblem(f"The database cannot be backed up: {complaint(said)}.")
