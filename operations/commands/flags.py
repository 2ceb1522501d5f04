"""flags flag: list flags, and switch them on and off."""

import click
from psycopg.rows import DictRow

from operations.commands.database import DatabaseCommand
from operations.commands.output import json_option, show
from rules.access import SYSTEM
from rules.strategies import switch_off, switch_on
from sql.database import Connection, connection, transaction
from sql.flags import core as flag_core
from sql.flags import environments
from sql.projects import core as projects


@click.group()
def flag() -> None:
    """List flags, and switch them on and off."""


@flag.command("list", cls=DatabaseCommand)
@click.option("--project", help="Only the flags of the project with this id.")
@json_option
def list_flags(project: str | None, as_json: bool) -> None:
    """List the flags, without archived ones."""
    with connection() as conn:
        if project is not None and not projects.is_taken(conn, project):
            raise click.ClickException(f"project: unknown project {project}")
        rows = environments.list_rows(conn, project)
    show(rows, COLUMNS, as_json=as_json)


COLUMNS = {"name": "NAME", "project": "PROJECT", "type": "TYPE", "enabledIn": "ON IN", "createdAt": "CREATED"}

environment_option = click.option("--environment", required=True, help="Name of the environment.")


@flag.command(cls=DatabaseCommand)
@click.argument("name")
@environment_option
def on(name: str, environment: str) -> None:
    """Switch on the flag NAME in an environment.

    A flag without an enabled strategy gets the default strategy of its project in the environment. If the project has
    none, the flag is on for all users.
    """
    with transaction() as conn:
        switch_on(conn, SYSTEM, [lock_by_name(conn, name, environment)])
    click.echo(f"{name} is on in {environment}.")


@flag.command(cls=DatabaseCommand)
@click.argument("name")
@environment_option
def off(name: str, environment: str) -> None:
    """Switch off the flag NAME in an environment. Its strategies stay."""
    with transaction() as conn:
        switch_off(conn, SYSTEM, [lock_by_name(conn, name, environment)])
    click.echo(f"{name} is off in {environment}.")


def lock_by_name(conn: Connection, name: str, environment: str) -> DictRow:
    """Lock a live flag, and return it with its environment. Raise ClickException that says what is wrong."""
    project = flag_core.project_of(conn, name, None)
    if project is None:
        raise click.ClickException(f"No flag has the name {name}.")
    found = environments.lock(conn, project, [name], environment)
    if found:
        return found[0]
    if environments.is_linked(conn, project, environment):
        raise click.ClickException(f"The flag {name} is archived.")
    raise click.ClickException(f"The project {project} has no environment {environment}.")
