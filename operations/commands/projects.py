"""flags project: list and create projects."""

import click

from operations.commands.database import DatabaseCommand
from operations.commands.output import json_option, show
from operations.commands.users import without_none
from rules.access import SYSTEM
from rules.projects import add_project
from sql.database import connection, transaction
from sql.projects import list as project_list
from validators import load_or_400
from validators.projects.core import NewProject


@click.group()
def project() -> None:
    """List and create projects."""


@project.command("list", cls=DatabaseCommand)
@json_option
def list_projects(as_json: bool) -> None:
    """List the projects, without archived ones."""
    with connection() as conn:
        rows = project_list.list_rows(conn)
    show(rows, COLUMNS, as_json=as_json)


COLUMNS = {"id": "ID", "name": "NAME", "mode": "MODE", "flags": "FLAGS", "createdAt": "CREATED"}


@project.command(cls=DatabaseCommand)
@click.option("--name", required=True, help="Name of the project.")
@click.option("--id", help="Id of the project.  [default: made from the name]")
@click.option("--description", help="Description of the project.")
@click.option("--mode", help="open, protected or private.  [default: open]")
def create(**options: str | None) -> None:
    """Create a project and print its id on stdout.

    The project gets all enabled environments, and has no owner. Administrators can give people roles in it.
    """
    payload = load_or_400(NewProject(), without_none(**options))
    with transaction() as conn:
        created = add_project(conn, SYSTEM, payload)
    click.echo(created["record"]["id"])
