"""flags import and flags export: move flags with files."""

import time
from pathlib import Path

import click

from operations.commands.database import DatabaseCommand
from operations.commands.events import new_file, output_option
from operations.commands.flags import skip_option
from operations.commands.import_unleash import write_contents
from operations.import_files import open_file
from operations.yaml_files import parse_yaml
from rules.refusals import first_five
from serving.responses import bounded
from sql.database import connection
from sql.flags import transfer
from sql.projects import core as projects


@click.command("import", cls=DatabaseCommand)
@click.argument("file", type=click.Path(allow_dash=True, path_type=Path))
@click.option(
    "--environment",
    metavar="NAME",
    help="Environment for the flags, if the file has only one.  [default: that of the file, or development]",
)
@click.option(
    "--project",
    metavar="ID",
    help="Project for the flags, if the file has only one.  [default: that of the file, or default]",
)
@click.option("--dry-run", is_flag=True, help="Print the report and change nothing.")
@skip_option
def import_file(
    file: Path, environment: str | None, project: str | None, *, dry_run: bool, skip_change_requests: bool
) -> None:
    """Move the contents of FILE into this instance.

    FILE is an export document, or a state file of Unleash 3 to 5, in JSON or YAML; - is stdin. All of it moves in one
    transaction. Existing records stay as they are, so you can repeat the command. Only unchanged built-in records take
    the values of the file.
    """
    began = time.monotonic()
    contents = open_file(file, project, environment, parse_yaml)
    write_contents(contents, began, dry_run=dry_run, skip_change_requests=skip_change_requests)


@click.command(cls=DatabaseCommand)
@click.option("--environment", metavar="NAME", help="Only the strategies, variants and states of this environment.")
@click.option("--project", metavar="ID", help="Only the flags of this project.")
@click.option("--flags", metavar="NAMES", multiple=True, help="Only these flags, separated by commas; repeatable.")
@output_option
def export(environment: str | None, project: str | None, flags: tuple[str, ...], output: Path) -> None:
    """Write an export document: live flags with their strategies, and everything that these need.

    The command import reads it. Without --environment, it has all environments, and only that command can read it. Only
    the owner of FILE can read it.
    """
    names = [name for names in flags for name in names.split(",")]
    selectors = {key: value for key, value in (("project", project), ("features", names)) if value}
    with connection() as conn:
        exported = transfer.export(conn, environment, selectors, None)
        if exported is None:
            raise click.ClickException(f"environment: unknown environment {environment}")
        if project is not None and not projects.is_taken(conn, project):
            raise click.ClickException(f"project: unknown project {project}")
    if unknown := [name for name in names if name not in exported["names"]]:
        raise click.ClickException(f"flags: no live flag is named {first_five(unknown)}")
    document = bounded(exported["body"], "Export fewer flags at a time.")
    with new_file(output) as out:
        out.write(f"{document}\n".encode())
