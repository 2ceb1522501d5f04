"""flask migrate: the database as this version needs it."""

import click
import psycopg
from flask import current_app

from commands.database import Command, found_database
from commands.output import say
from rules import bootstrap
from sql.database import migrate as schema


@click.command(cls=Command)
def migrate() -> None:
    """Bring the database to the schema of this version.

    Does nothing to one that is there already. An empty one is set up as at a first start, with an administrator and an API key.
    """
    with found_database(may_be_made=True) as url:
        found, is_indexed = bring_schema_up(url)
        made = bootstrap.prepare_database(url, current_app.config)
    before = f"{found} (empty)" if found == 0 else f"{found}"
    after = "that is what this version needs" if found == schema.VERSION else f"it has version {schema.VERSION} now"
    say(f"The database had schema version {before}; {after}.")
    if not is_indexed:
        say("The extension pg_trgm cannot be had: free-text searches are right, but read the whole log each time.")
    if made:
        say(bootstrap.announcement(made, current_app.config["BASE_URL"]))


def bring_schema_up(url: str) -> tuple[int, bool]:
    """The version that was found, and whether the words of the log are indexed now."""
    try:
        with schema.open_database(url, current_app.config["DATABASE_POOLER"]) as conn, conn.transaction():
            schema.take_all_the_time(conn)
            found = schema.migrate(conn)
            return found, schema.has_word_indexes(conn) or schema.index_words(conn)
    except psycopg.Error as error:
        raise schema.DatabaseProblem(f"The database cannot be set up: {schema.reason(error)}.") from None
