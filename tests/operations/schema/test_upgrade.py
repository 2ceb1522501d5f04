"""Instances of 0.1.0 and of 0.2.0 with data in all their tables are upgraded: nothing is lost, and the nine operations
answer as before.
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
from tests.support.schema_versions import kept_schema, schema_of
from tests.support.service import run
from tests.support.world import Caller

ADMIN = ("admin", str(SETTINGS["INIT_ADMIN_PASSWORD"]))


# Tables and columns that an older version does not have, but whose contents its migration finds out or numbers.
FOUND_OUT = {"past_private_projects", "flag_sightings", "flags.created_by", "sessions.id"}


def columns_of(conn: Connection) -> dict[str, set[str]]:
    """The columns of each table, without generated ones."""
    names = """
        SELECT table_name AS name, array_agg(column_name::text) AS columns
          FROM information_schema.columns
          JOIN pg_tables ON tablename = table_name AND schemaname = table_schema
         WHERE table_schema = 'public'
           AND table_name <> 'schema_version'
           AND is_generated = 'NEVER'
         GROUP BY table_name
    """
    return {row["name"]: set(row["columns"]) for row in rows(conn, names)}


def fill(old: Connection, new: Connection) -> None:
    """Copy the data of a newer instance into an older one: all that both can hold, and what the older one keeps."""
    known = columns_of(new)
    # No trigger and no foreign key is asked.
    old.execute("SET session_replication_role = replica")
    for table, its in columns_of(old).items():
        if table in known:
            columns = SQL(", ").join(Identifier(column) for column in sorted(its & known[table]))
            words = {"table": Identifier(table), "columns": columns}
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


def keep_totals(old: Connection) -> None:
    """Add what version 1 kept beside the log and usage: an id that is missing, totals of all events but the newest, and
    finished weeks.
    """
    with old.transaction(force_rollback=True):
        add(old)
    add(old, 3)
    old.execute("SELECT recount_events(), recount_usage_weeks()")
    with old.transaction(force_rollback=True):
        add(old)
    add(old, 3)


def forget(new: Connection, known: dict[str, set[str]]) -> None:
    """Delete from a newer instance what an older one with these columns did not have."""
    new.execute("SET session_replication_role = replica")  # No triggers.
    for table, columns in columns_of(new).items():
        words = {"table": Identifier(table)}
        if table not in {*known, *FOUND_OUT}:
            new.execute(SQL("TRUNCATE {table} CASCADE").format(**words))
        for column in columns - known.get(table, columns):
            if f"{table}.{column}" not in FOUND_OUT:
                change = SQL("UPDATE {table} SET {column} = DEFAULT")
                new.execute(change.format(**words, column=Identifier(column)))
    new.execute("RESET session_replication_role")


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


@pytest.fixture(scope="module")
def demo(make_database: Callable[..., str]) -> str:
    """A database with the demo."""
    url = make_database()
    assert run("operations/flags.py", "demo", "--use-database-url", DATABASE_URL=url).returncode == 0
    return url


@pytest.mark.slow
@pytest.mark.parametrize("version", [1, 3], ids=["0.1.0", "0.2.0"])
def test_an_instance_of_an_older_version_answers_as_one_of_this(
    demo: str, make_database: Callable[..., str], make_app: Any, version: int
) -> None:
    one, other = make_database(like=demo), make_database(empty=True)
    with connect(one) as new, connect(other) as old:
        fill_the_rest(make_app(one), new)
        old.execute(kept_schema(version).read_bytes())
        fill(old, new)
        if version == 1:
            keep_totals(old)
        known, held = columns_of(old), contents(old)
        assert all(held.values()), [name for name, them in held.items() if not them]
        with old.transaction():
            migrate.disable_timeout(old)
            assert migrate.migrate(old) == version
        assert migrate.version(old) == migrate.VERSION
        assert schema_of(other) == schema_of(one)
        kept = contents(old)
        assert {name for name, them in held.items() if len(them) > len(kept.get(name, them))} == set()
        # Events that fill() wrote into the old one alone.
        assert events_of(old) == events_of(new) + (6 if version == 1 else 0)
        old.execute("DELETE FROM events WHERE created_by = 'somebody'")
        number_alike(old, new)
        forget(new, known)
        # Each instance has a key of its own, and times of the demo or of the migration.
        new.execute("INSERT INTO instance_key (key) VALUES (%s)", [value(old, "SELECT key FROM instance_key")])
        for conn in (old, new):
            conn.execute("UPDATE flags SET potentially_stale_at = NULL")
            conn.execute("DELETE FROM event_weeks")
            fill_weeks(conn)
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
