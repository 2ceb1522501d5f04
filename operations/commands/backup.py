"""flags backup, flags restore: all data of an instance in one file."""

import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import NamedTemporaryFile

import click
from flask import current_app

from operations.commands.database import Command, database_url
from operations.commands.migrate import upgrade_schema
from operations.postgres import backup as backups
from operations.postgres import migrate
from operations.postgres.migrate import DatabaseProblem
from rules.refusals import quantity
from sql.database import Connection


@click.command(cls=Command)
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
def backup(file: Path | None) -> None:
    """Write a backup to a new FILE. The service can keep running.

    Without FILE, the name is the current time. With -, the backup goes to stdout. The file contains secrets, so only
    its owner can read it.
    """
    # A script passes an empty name if its variable is empty.
    path = file if file and file.name else Path(f"flags-{datetime.now(UTC):%Y-%m-%dT%H%M%SZ}.dump")
    began = time.monotonic()
    with database_url() as url, direct(url) as conn:
        if str(path) == "-":
            backups.dump(conn, url, None)
            return
        with new_file(path) as part:
            backups.dump(conn, url, part)
        version = migrate.version(conn)
    size = f"{path.stat().st_size / 10**6:.1f} MB"
    click.echo(f"Wrote {path}: {size}, schema version {version}, in {time.monotonic() - began:.1f} s.", err=True)


@click.command(cls=Command)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path))
@click.option("--replace", is_flag=True, help="First drop the schema of the database, with all its data.")
def restore(file: Path, *, replace: bool) -> None:
    """Restore FILE into an empty database. If FILE cannot be restored, nothing changes.

    If FILE is -, read stdin. A backup of an older version is migrated afterwards. With --replace, the service must be
    stopped. API tokens, sessions and passwords that were revoked after the backup work again.
    """
    began = time.monotonic()
    with NamedTemporaryFile() as copy, database_url(create=True) as url, direct(url) as conn:
        if str(file) == "-":
            shutil.copyfileobj(sys.stdin.buffer, copy)
            copy.flush()
        backups.restore(conn, url, Path(copy.name) if str(file) == "-" else file.absolute(), replace=replace)
        version, is_indexed = upgrade_schema(url)
        conn.execute("SET statement_timeout = 0")
        conn.execute("ANALYZE")
        counts = backups.count(conn)
    upgraded = "" if version == migrate.VERSION else f", upgraded to {migrate.VERSION}"
    restored = f"{quantity(counts['events'], 'event')} and {quantity(counts['users'], 'user')}"
    spent = f"{time.monotonic() - began:.1f} s"
    click.echo(f"Restored {file}: {restored}, schema version {version}{upgraded}, in {spent}.", err=True)
    if not is_indexed:
        click.echo("The extension pg_trgm is not available: text searches read the whole event log.", err=True)


@contextmanager
def direct(url: str) -> Iterator[Connection]:
    """Yield a connection to PostgreSQL itself, not to a pooler."""
    if current_app.config["DATABASE_POOLER"] != "none":
        raise DatabaseProblem(
            "This command cannot use a pooler. Set DATABASE_URL to PostgreSQL itself, and DATABASE_POOLER=none."
        )
    with migrate.open_database(url, "none") as conn:
        yield conn


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yield a temporary file that only its owner can read. Rename it to path if the block succeeds."""
    part = path.with_name(f"{path.name}.part")
    if path.exists():
        raise click.ClickException(f"{path} already exists.")
    try:
        part.touch(0o600, exist_ok=False)
    except FileExistsError:
        raise click.ClickException(f"{part} already exists. Delete it, unless another backup is running.") from None
    except OSError as error:
        raise click.ClickException(f"{part} cannot be created: {error.strerror}.") from None
    try:
        yield part
        part.rename(path)
    finally:
        part.unlink(missing_ok=True)
