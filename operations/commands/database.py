"""Base classes for commands: they check the settings, connect to the database, and print errors as one line."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import psycopg
from flask import current_app
from flask.cli import ScriptInfo
from werkzeug.exceptions import HTTPException

from operations import start
from operations.commands.output import cell
from operations.misspelt_settings import misspelt
from operations.postgres import embedded, migrate
from serving import settings
from serving.errors import FIXABLE
from serving.settings import SettingError
from sql.database import database


class Command(click.Command):
    """A command with an application context and valid settings. Errors are one line on stderr and exit status 1."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command in an application context."""
        with one_line():
            for message in misspelt(os.environ):
                click.echo(message, err=True)
            settings.load(os.environ)
            with ctx.ensure_object(ScriptInfo).load_app().app_context():
                return self.run(ctx)

    def run(self, ctx: click.Context) -> Any:
        """Run the command itself."""
        return super().invoke(ctx)


class DatabaseCommand(Command):
    """A command on a database with a current schema. connection() and transaction() share one connection."""

    def run(self, ctx: click.Context) -> Any:
        """Run the command with a connection to the database."""
        with database_url() as url, migrate.open_database(url, database().pooler) as conn, database().pinned(conn):
            migrate.require_current(conn)
            return super().run(ctx)


@contextmanager
def database_url(*, create: bool = False) -> Iterator[str]:
    """Yield the URL of the database: DATABASE_URL, or that of the embedded PostgreSQL, which runs during the block.

    Raises DatabaseProblem if the database does not exist and create is false.
    """
    # Our choice: a command without the settings of the service fails, so that it creates no database by accident.
    config = current_app.config
    if not (config["DATABASE_URL"] or create or embedded.Server(Path(config["DATA_DIR"])).has_cluster()):
        advice = "Set DATABASE_URL or DATA_DIR as for the service. To create a database, run ./flags migrate."
        raise migrate.DatabaseProblem(f"{config['DATA_DIR']} contains no database. {advice}")
    # SIGTERM must stop the embedded PostgreSQL too.
    before = signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    try:
        yield start.find_database(config, {})
    finally:
        start.release_servers()
        signal.signal(signal.SIGTERM, before)


def service_address() -> str:
    """Return the address of the service for links.

    That is BASE_URL. Without BASE_URL, HOST and PORT, it is the address at which the service on this data folder was
    started last.
    """
    config = current_app.config
    if config["BASE_URL"] != settings.default_address(config):
        return config["BASE_URL"]
    is_unset = config["BASE_URL"] == settings.load({})["BASE_URL"]
    if is_unset and not config["DATABASE_URL"] and (address := start.kept_address(config)):
        return address
    # Our choice: a service on another server does not keep its address, because others can use the same database.
    click.echo(f"BASE_URL is not set, so links begin with {config['BASE_URL']}.", err=True)
    return config["BASE_URL"]


@contextmanager
def one_line() -> Iterator[None]:
    """Turn errors that an operator can fix into one line each. Other exceptions keep their traceback."""
    try:
        yield
    except click.UsageError:
        raise
    except click.ClickException as error:
        raise click.ClickException(cell(error.message)) from None
    except (SettingError, migrate.DatabaseProblem) as error:
        raise click.ClickException("\n".join(map(cell, str(error).splitlines()))) from None
    except HTTPException as error:
        raise click.ClickException(cell(error.description)) from None
    except DATABASE_ERRORS as error:
        message = FIXABLE.get(type(error)) or f"Database error: {migrate.reason_and_advice(error)}"
        raise click.ClickException(message) from None


DATABASE_ERRORS = (
    psycopg.OperationalError,
    psycopg.IntegrityError,
    psycopg.errors.InsufficientPrivilege,
    psycopg.errors.ReadOnlySqlTransaction,
)
