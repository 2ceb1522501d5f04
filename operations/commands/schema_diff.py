"""flags schema-diff: compare the schema of an instance with schema.sql."""

import click

from operations.commands.backup import direct
from operations.commands.database import Command, database_url
from operations.commands.output import say
from operations.postgres import migrate
from operations.postgres import schema_diff as diffs


@click.command(cls=Command)
@click.pass_context
def schema_diff(ctx: click.Context) -> None:
    """Compare the schema of the database with schema.sql.

    Prints the differences: lines with + are only in the database, lines with - only in schema.sql. The exit status is 1
    if there are differences. The role must be able to create databases, because the command creates a temporary one on
    the same server.
    """
    with database_url() as url, direct(url) as conn:
        migrate.require_current(conn)
        lines = diffs.schema_diff(conn, url)
    for line in lines or ["The schema is the same as in schema.sql."]:
        say(line)
    if lines:
        ctx.exit(1)
