"""What a command stands on: settings that make sense, a database that can be reached, and its schema; or one line about what is wrong."""

import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import psycopg
from flask import current_app
from flask.cli import ScriptInfo
from werkzeug.exceptions import HTTPException

from commands.output import cell
from serving import settings, start
from serving.settings import SettingError
from sql.database import database, embedded, migrate


class Command(click.Command):
    """A command of ours: an app is at hand, its settings make sense, and what goes wrong is one line on stderr and exit status 1."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command on this ground."""
        with ctx.ensure_object(ScriptInfo).load_app().app_context(), one_line():
            settings.load(os.environ)
            return self.run(ctx)

    def run(self, ctx: click.Context) -> Any:
        """Run the command itself."""
        return super().invoke(ctx)


class DatabaseCommand(Command):
    """A command on a database whose schema is that of this version: connection() and transaction() give the one connection it has."""

    def run(self, ctx: click.Context) -> Any:
        """Run the command with a database at hand, and let go of it."""
        with found_database() as url, migrate.open_database(url, database().pooler) as conn, database().pinned(conn):
            migrate.require_current(conn)
            return super().run(ctx)


@contextmanager
def found_database(*, may_be_made: bool = False) -> Iterator[str]:
    """The address of the database: that of the settings, else of the private one, which is joined, or started and stopped afterwards.

    DatabaseProblem: there is none yet, and it may not be made.
    """
    # Our choice: a command that lacks the settings of the service is told so, not answered by a new database.
    config = current_app.config
    if not (config["DATABASE_URL"] or may_be_made or embedded.Server(Path(config["DATA_DIR"])).has_cluster()):
        advice = "Give this command the settings of the service, DATABASE_URL or DATA_DIR; flask --app app migrate makes a new one."
        raise migrate.DatabaseProblem(f"There is no database under {config['DATA_DIR']}. {advice}")
    # Who ends the command ends the private server too.
    before = signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    try:
        # A copy: the address is that of a server which is gone when the command ends.
        yield config["DATABASE_URL"] or start.find_database(sift(os.environ)[0])
    finally:
        start.let_go()
        signal.signal(signal.SIGTERM, before)


@contextmanager
def one_line() -> Iterator[None]:
    """Inside the block, what an operator can do something about ends the command with one line. A bug stays what it is."""
    try:
        yield
    except click.UsageError:
        raise
    except click.ClickException as problem:
        raise click.ClickException(cell(problem.message)) from None
    except (SettingError, migrate.DatabaseProblem) as problem:
        raise click.ClickException(cell(str(problem))) from None
    except HTTPException as refusal:
        raise click.ClickException(cell(refusal.description)) from None
    except DATABASE_REFUSES as error:
        raise click.ClickException(f"The database refuses: {migrate.reason(error)}.") from None


DATABASE_REFUSES = (
    psycopg.OperationalError,
    psycopg.IntegrityError,
    psycopg.errors.InsufficientPrivilege,
    psycopg.errors.ReadOnlySqlTransaction,
)


def load_settings(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings for create_app(): in a worker of gunicorn, those of its master. SettingError: one is invalid.

    While flask's command line looks for its commands, defaults stand in for what makes no sense: doctor tells all of it, and any other
    command of ours refuses to run. A command of flask's own ends here, with one line.
    """
    if start.kept:
        return dict(start.kept)
    try:
        return settings.load(environ)
    except SettingError as problem:
        context = click.get_current_context(silent=True)
        if context is None:
            raise
        if context.parent is not None:
            raise click.ClickException(str(problem)) from None
        return settings.load(sift(environ)[0])


def sift(environ: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The settings that make sense, each beside those before it; and a sentence about every other."""
    kept: dict[str, str] = {}
    problems: list[str] = []
    for setting in settings.SETTINGS:
        own = {name: environ[name] for name in (setting.name, f"{setting.name}_FILE") if name in environ}
        try:
            settings.load(kept | own)
        except SettingError as problem:
            problems.append(str(problem))
        else:
            kept |= own
    return kept, problems
