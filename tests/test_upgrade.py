"""An instance of an older version with data in it, brought up: nothing is lost, and the nine operations answer as ever.

Until a second version is released, there is no older one. Then an older schema is made of this one: without what keeps totals and weeks, as
it was when neither had been thought of; and the step that leads here is that part of schema.sql, with what a real one would have to do.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from psycopg.sql import SQL, Identifier

from sql import Connection, connect, kept_totals, migrate, rows, value
from tests import nine
from tests.conftest import ADMIN_KEY, SETTINGS
from tests.service import run
from tests.test_backup import contents, fill_the_rest
from tests.test_event_totals import add, assert_right, count
from tests.test_migrate import FIRST_SCHEMA, schema_of

RULE = f"-- {'-' * 129}\n"
ADMIN = ("admin", str(SETTINGS["INIT_ADMIN_PASSWORD"]))


def part(text: str, first: str, behind: str) -> str:
    """The lines of a text from the one that begins so, up to the one that begins otherwise."""
    return text[text.index(f"\n{first}") + 1 : text.index(f"\n{behind}") + 1]


def older(folder: Path) -> tuple[str, Path]:
    """The schema of the first version, and the folder of the steps that lead from there to here."""
    if migrate.VERSION > 1:
        return FIRST_SCHEMA.read_text(encoding="utf-8"), migrate.MIGRATIONS
    text = migrate.SCHEMA.read_text(encoding="utf-8")
    totals = part(text, f"{RULE}-- Kept totals of the event log", f"{RULE}-- The past")
    weeks = part(text, "-- Finished weeks", f"{RULE}-- The event log")
    index = part(text, "CREATE INDEX events_feature_idx", "CREATE INDEX events_type_idx")
    smaller = "CREATE INDEX events_feature_idx ON events (feature_name, created_at, id);\n"
    # What is there already has to be counted: a new database has nothing.
    step = f"DROP INDEX events_feature_idx;\n{index}{weeks}{totals}SELECT recount_usage_weeks(); SELECT recount_events();\n"
    (folder / "0002_keep_totals.sql").write_text(step, encoding="utf-8")
    return text.replace(totals, "").replace(weeks, "").replace(index, smaller), folder


def fill(old: Connection, new: Connection) -> None:
    """Give an older instance the data of a newer one, of all that both can hold, as its own service would have left them."""
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
    for table in rows(old, names):
        columns = SQL(", ").join(Identifier(column) for column in table["columns"] if column in known[table["name"]])
        words = {"table": Identifier(table["name"]), "columns": columns}
        old.execute(SQL("DELETE FROM {table}").format(**words))
        with (
            new.cursor().copy(SQL("COPY {table} ({columns}) TO STDOUT").format(**words)) as source,
            old.cursor().copy(SQL("COPY {table} ({columns}) FROM STDIN").format(**words)) as target,
        ):
            for block in source:
                target.write(block)
    old.execute("RESET session_replication_role")
    for sequence in rows(old, "SELECT relname FROM pg_class WHERE relkind = 'S' AND relnamespace = 'public'::regnamespace"):
        last = new.execute(SQL("SELECT last_value, is_called FROM {}").format(Identifier(sequence["relname"]))).fetchone()
        old.execute("SELECT setval(%s::text::regclass, %s, %s)", [sequence["relname"], *(last or {}).values()])


@pytest.mark.slow
def test_an_instance_of_an_older_version_answers_as_one_of_this(make_database: Callable[..., str], make_app: Any, tmp_path: Path) -> None:
    schema, folder = older(tmp_path)
    one, other = make_database(), make_database(empty=True)
    assert run("-m", "flask", "--app", "app", "demo", "--scale", "0.1", DATABASE_URL=one).returncode == 0
    with connect(one) as new, connect(other) as old:
        fill_the_rest(make_app(one), new)
        old.execute(schema.encode())
        fill(old, new)
        assert value(old, "SELECT count(*) FROM events") > 4000
        if migrate.VERSION == 1:
            assert value(old, "SELECT to_regclass('event_totals')") is None
        with old.transaction():
            migrate.take_all_the_time(old)
            assert migrate.migrate(old, folder) == 1
        # A made-up step leads to a made-up version.
        old.execute("UPDATE schema_version SET version = %s", [migrate.VERSION])
        assert schema_of(other) == schema_of(one)
        # Nothing is lost, nothing is there twice; what is kept of it is right, whatever was kept when.
        for conn in (old, new):
            weeks = kept_totals.wrong_weeks(conn, None)
            assert weeks["looked_at"] > 0 == weeks["wrong"]
            value(conn, "SELECT recount_usage_weeks()")
        assert_right(old)
        assert value(old, "SELECT sum(total) FROM event_totals WHERE key = event_key(NULL, NULL, NULL, NULL)") > 4000
        held, brought = contents(new), contents(old)
        assert all(held.values()), [name for name, them in held.items() if not them]
        for found in (held, brought):
            del found["event_totals"], found["uncounted_ids"]
        assert brought == held
        told = nine.asked(make_app(one), new, ADMIN_KEY, ADMIN)
        assert nine.asked(make_app(other), old, ADMIN_KEY, ADMIN) == told
        # And it goes on as the other does.
        assert add(new, 5) == add(old, 5)
        count(old)
        assert_right(old)
