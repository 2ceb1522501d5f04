"""flags migrate: create or upgrade the database schema."""

import click
import psycopg
from flask import current_app

from operations import bootstrap
from operations.commands.database import Command, database_url
from operations.commands.output import say
from operations.postgres import migrate as schema


@click.command(cls=Command)
def migrate() -> None:
    """Create or upgrade the database schema.

    An empty database also gets an administrator and an API token. A current schema does not change.
    """
    with database_url(create=True) as url:
        before, is_indexed = upgrade_schema(url)
        first_start = bootstrap.prepare_database(url, current_app.config)
    if before == 0:
        say(f"Created the schema, version {schema.VERSION}.")
    elif before < schema.VERSION:
        say(f"Upgraded the schema from version {before} to {schema.VERSION}.")
    else:
        say(f"The schema is current: version {before}.")
    if not is_indexed:
        say("The extension pg_trgm is not available: text searches read the whole event log.")
    if first_start:
        say(bootstrap.announcement(first_start, current_app.config["BASE_URL"]))


def upgrade_schema(url: str) -> tuple[int, bool]:
    """Create or upgrade the schema. Return its previous version, and whether text searches have an index now."""
    try:
        with schema.open_database(url, current_app.config["DATABASE_POOLER"]) as conn, conn.transaction():
            schema.disable_timeout(conn)
            before = schema.migrate(conn)
            return before, schema.has_word_indexes(conn) or schema.index_words(conn)
    except psycopg.Error as error:
        raise schema.DatabaseProblem(f"The schema cannot be created or upgraded: {schema.reason(error)}.") from None
