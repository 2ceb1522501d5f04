"""An instance of 0.1.0 with data in all its tables is upgraded: nothing is lost, and the nine operations answer as
before.
"""

from collections.abc import Callable
from typing import Any

import pytest
from psycopg.sql import SQL, Identifier

from operations.postgres import migrate
from sql.database import Connection, connect, rows, value
from tests.support import comparison
from tests.support.dumps import contents, fill_the_rest
from tests.support.event_rows import add, fill_weeks
from tests.support.instance import ADMIN_KEY, SETTINGS
from tests.support.reports import report
from tests.support.schema_versions import FIRST_SCHEMA, schema_of
from tests.support.service import run
from tests.support.world import Caller

ADMIN = ("admin", str(SETTINGS["INIT_ADMIN_PASSWORD"]))


def fill(old: Connection, new: Connection) -> None:
    """Copy the data of a newer instance into an older one: all that both can hold, and what the older one keeps."""
    names = """
        SELECT table_name AS name, array_agg(column_name::text ORDER BY ordinal_position) AS columns
          FROM information_schema.columns
          JOIN pg_tables ON tablename = table_name AND schemaname = table_schema
         WHERE table_schema = 'public'
           AND table_name <> 'schema_version'
           AND is_generated = 'NEVER'
         GROUP BY table_name
    """
    known = {row["name"]: set(row["columns"]) for row in rows(new, names)}
    # No trigger and no foreign key is asked.
    old.execute("SET session_replication_role = replica")
    for table in (table for table in rows(old, names) if table["name"] in known):
        columns = SQL(", ").join(Identifier(column) for column in table["columns"] if column in known[table["name"]])
        words = {"table": Identifier(table["name"]), "columns": columns}
        old.execute(SQL("DELETE FROM {table}").format(**words))
        with (
            new.cursor().copy(SQL("COPY {table} ({columns}) TO STDOUT").format(**words)) as source,
            old.cursor().copy(SQL("COPY {table} ({columns}) FROM STDIN").format(**words)) as target,
        ):
            for block in source:
                target.write(block)
    # The migration adds this type of flags.
    old.execute("DELETE FROM flag_types WHERE id = 'sunset'")
    old.execute("RESET session_replication_role")
    number_alike(old, new)
    # What version 1 kept beside the log and usage: an id that is missing, totals of all events but the newest, and
    # finished weeks.
    with old.transaction(force_rollback=True):
        add(old)
    add(old, 3)
    old.execute("SELECT recount_events(), recount_usage_weeks()")
    with old.transaction(force_rollback=True):
        add(old)
    add(old, 3)


def number_alike(old: Connection, new: Connection) -> None:
    """Let both give out the same ids."""
    for sequence in rows(
        old, "SELECT relname FROM pg_class WHERE relkind = 'S' AND relnamespace = 'public'::regnamespace"
    ):
        last = new.execute(
            SQL("SELECT last_value, is_called FROM {}").format(Identifier(sequence["relname"]))
        ).fetchone()
        old.execute("SELECT setval(%s::text::regclass, %s, %s)", [sequence["relname"], *(last or {}).values()])


def events_of(conn: Connection) -> int:
    """The number of events."""
    return value(conn, "SELECT count(*) FROM events")


@pytest.mark.slow
def test_an_instance_of_the_first_version_answers_as_one_of_this(
    make_database: Callable[..., str], make_app: Any
) -> None:
    one, other = make_database(), make_database(empty=True)
    assert run("operations/flags.py", "demo", "--use-database-url", DATABASE_URL=one).returncode == 0
    with connect(one) as new, connect(other) as old:
        fill_the_rest(make_app(one), new)
        old.execute(FIRST_SCHEMA.read_bytes())
        fill(old, new)
        held = contents(old)
        assert len(held["event_totals"]) > 100
        assert all(held.values()), [name for name, them in held.items() if not them]
        with old.transaction():
            migrate.disable_timeout(old)
            assert migrate.migrate(old) == 1
        assert migrate.version(old) == migrate.VERSION
        assert schema_of(other) == schema_of(one)
        # The six events that fill() wrote into the old one alone.
        assert events_of(old) == events_of(new) + 6
        old.execute("DELETE FROM events WHERE created_by = 'somebody'")
        number_alike(old, new)
        fill_weeks(old)
        # Version 1 had no links to set a password, no revisions of what applications get, no applications, no links of
        # flags, and no identities.
        new.execute("TRUNCATE reset_tokens, client_revisions, applications, application_instances")
        new.execute("TRUNCATE usage_variants, unknown_flags, known_logins, frontend_additions, flag_links, banners")
        new.execute("TRUNCATE integrations, deliveries, user_identities, change_requests CASCADE")
        # Each instance has a key of its own.
        new.execute("UPDATE instance_key SET key = %s", [value(old, "SELECT key FROM instance_key")])
        # Nor an order of the members of a group, the token, the group and the undone event of an event, or the day of a
        # bulk read.
        new.execute("SET session_replication_role = replica")  # No triggers.
        new.execute("UPDATE group_users SET position = 0")
        new.execute("UPDATE api_keys SET bulk_read_on = NULL")
        new.execute("UPDATE events SET created_by_token_id = NULL, group_id = NULL, undoes = NULL")
        new.execute("UPDATE project_environments SET required_approvals = NULL")
        # Times of the demo, and of the migration.
        for conn in (old, new):
            conn.execute("UPDATE flags SET potentially_stale_at = NULL")
        new.execute("RESET session_replication_role")
        # The version of a record is a time: here that of the demo, there that of the migration.
        assert contents(old, omit="version") == contents(new, omit="version")
        assert comparison.differences(make_app(one), make_app(other), new, ADMIN_KEY, ADMIN) == {}
        # Applications with tokens of the first version get their flags, and their reports count.
        tokens = rows(old, "SELECT secret FROM api_keys WHERE kind = 'client' ORDER BY id LIMIT 3")
        for secret in (token["secret"] for token in tokens):
            one_app, other_app = (Caller(make_app(url), secret) for url in (one, other))
            served = one_app.get("/api/client/features")
            assert served.get_json()["features"]
            assert other_app.get("/api/client/features").get_json()["features"] == served.get_json()["features"]
            usage = {served.get_json()["features"][0]["name"]: {"yes": 3, "no": 1}}
            for caller in (one_app, other_app):
                report(caller, usage, "a new application")
        reported = "SELECT flag_name, yes, no FROM usage_metrics WHERE app_name = 'a new application' ORDER BY 1"
        assert len(rows(old, reported)) == len(tokens) == 3
        assert rows(old, reported) == rows(new, reported)
        # The log goes on.
        assert add(new, 5) == add(old, 5)
