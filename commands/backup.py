"""flask backup, flask restore: all that an instance holds, in one file."""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import click
from flask import current_app

from commands.database import Command, found_database
from commands.migrate import bring_schema_up
from sql import Connection, migrate
from sql import restore as archives
from sql.backup import dump
from sql.migrate import DatabaseProblem


@click.command(cls=Command)
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
def backup(file: Path | None) -> None:
    """Write all that this instance holds to a new FILE, while it runs.

    Without a FILE, its name is made of the present moment; - is stdout. It holds secrets: only its owner may read it, and whoever can read
    it can restore it. What others write while it is made is in it whole or not at all.
    """
    # An empty name is what a script's empty variable gives.
    path = file if file and file.name else Path(f"flags-{datetime.now(UTC):%Y-%m-%dT%H%M%SZ}.dump")
    began = time.monotonic()
    shown = Shown(f"Writing {path}")
    with found_database() as url, direct(url) as conn, new_file(path) as part:
        dump(conn, url, part, lambda: shown.show(part.stat().st_size if part else 0))
        shown.end()
        if part:
            size = in_words(part.stat().st_size)
            tell(f"Wrote {path}: {size}, schema version {migrate.version(conn)}, in {time.monotonic() - began:.1f} s.")


@click.command(cls=Command)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path))
@click.option("--replace", is_flag=True, help="Throw away all that the instance holds.")
def restore(file: Path, *, replace: bool) -> None:
    """Put a backup into an empty database: all of FILE, or nothing.

    A backup of an older version is then brought to this one. - is stdin. An instance that holds anything is left alone unless --replace is
    said; stop its services before. What was revoked after the backup works again: keys, sessions, passwords.
    """
    began = time.monotonic()
    with whole_file(file) as path:
        archive = archives.read(path)
        with found_database(may_be_made=True) as url, direct(url) as conn:
            shown = Shown(f"Restoring {file}")
            archives.restore(conn, url, archive, replace=replace, progress=shown.add)
            shown.end()
            tell(f"Restored in {time.monotonic() - began:.1f} s; now the indexes of words, and what the planner has to know.")
            is_indexed = bring_schema_up(url)[1]
            conn.execute("SET statement_timeout = 0")
            conn.execute("ANALYZE")
            found = archives.summary(conn)
    version = f"schema version {archive.version}"
    version += "" if archive.version == migrate.VERSION else f", brought to {migrate.VERSION}"
    tell(f"Restored {file}: {found['events']} events and {found['users']} users, {version}, in {time.monotonic() - began:.1f} s.")
    if not is_indexed:
        tell("The extension pg_trgm cannot be had: free-text searches are right, but read the whole log each time.")


@contextmanager
def direct(url: str) -> Iterator[Connection]:
    """A connection to the server itself. DatabaseProblem: there is a pooler, or no server."""
    if current_app.config["DATABASE_POOLER"] != "none":
        raise DatabaseProblem("PostgreSQL's own programs need the server itself: set DATABASE_URL to it, and DATABASE_POOLER=none.")
    with migrate.open_database(url, "none") as conn:
        yield conn


@contextmanager
def new_file(path: Path) -> Iterator[Path | None]:
    """A file that was not there before and that only its owner may read; it has its name when the block has ended well. -: None."""
    if str(path) == "-":
        if sys.stdout.isatty():
            raise click.ClickException("A backup is nothing to look at: name a file.")
        yield None
        return
    part = path.with_name(f"{path.name}.part")
    try:
        if path.exists():
            raise FileExistsError
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        reason = error.strerror
        if isinstance(error, FileExistsError):
            advice = ". A backup is writing it, or was cut off: then delete it"
            reason = f"{path} is there already" if path.exists() else f"{part} is there already{advice}"
        raise click.ClickException(f"The file {path} cannot be made: {reason}.") from None
    try:
        yield part
        part.rename(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """The path of a file that can be read twice; of stdin, a copy that is gone when the block ends."""
    if str(path) != "-":
        yield path
        return
    with tempfile.NamedTemporaryFile(prefix="flags-", suffix=".dump") as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy)
        copy.flush()
        yield Path(copy.name)


class Shown:
    """How many bytes have gone by, on stderr where that is a terminal."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.is_seen = sys.stderr.isatty()
        self.size = 0

    def add(self, size: int) -> None:
        """Count so many more."""
        self.size += size
        self.show(self.size)

    def show(self, size: int) -> None:
        """Show how many it are by now."""
        if self.is_seen:
            click.echo(f"\r{self.label}: {in_words(size)} ", nl=False, err=True)

    def end(self) -> None:
        """Leave the line."""
        if self.is_seen:
            click.echo(err=True)


def tell(line: str) -> None:
    """A line on stderr."""
    click.echo(line, err=True)


def in_words(size: int) -> str:
    """A number of bytes for people."""
    for unit, bytes_of in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= bytes_of:
            return f"{size / bytes_of:.1f} {unit}"
    return f"{size} bytes"
