"""Migrations: from nothing and from older versions, all or nothing, once; and both ways lead to the same schema."""

import hashlib
import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import psycopg
import pytest

from operations.bootstrap import prepare_database
from operations.postgres import migrate
from operations.postgres.migrate import DatabaseProblem
from sql.database import connect, rows, value
from tests.support.instance import SETTINGS
from tests.support.lock_waiters import lock_waiters
from tests.support.schema_versions import FIRST_SCHEMA, kept_schema, schema_of
from tests.support.service import run, wait_until

# What later versions might do, from version 1 on. Neither can be run twice.
MADE_UP = {
    "0002_pets.sql": """
        CREATE TABLE pets (id integer CONSTRAINT pets_pkey PRIMARY KEY, name text);
        INSERT INTO pets SELECT id, name FROM users;
    """,
    "0003_ages.sql": """
        ALTER TABLE pets ADD COLUMN age integer;
        UPDATE pets SET age = id, name = name || '''s 100 % tame pet';
    """,
}
FIRST_START = SETTINGS | {"INIT_ADMIN_USERNAME": "admin", "PASSWORD_MIN_LENGTH": 8}

# The versions of the schema in releases, 0.1.0 first, with the SHA-256 of their files in tests/operations/schema.
RELEASED = {
    1: "daa51475a69649bc70e0d653002e682eba3c4d73139a2206b3354aacdf674e08",
    3: "5e7499f74043afaecce29e8726176009fa9be8c4228b7938bf1a5be541a50845",
    4: "5e97bdb06c7b5b9b0d3633d7d740ba1c76e6aa1ce2491577453dcb2a3b43d693",
}


@pytest.fixture
def folder(tmp_path):
    """A folder with the made-up migrations."""
    for name, text in MADE_UP.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture(scope="module")
def used(make_database):
    """A database of version 1 that has been used."""
    url = make_database(empty=True)
    with connect(url) as conn:
        conn.execute(FIRST_SCHEMA.read_bytes())
    prepare_database(url, FIRST_START)
    with connect(url) as conn:
        conn.execute("UPDATE schema_version SET version = 1")
    return url


@pytest.fixture
def old(make_database, used):
    """A copy of it."""
    return make_database(like=used)


def migrated(url, folder):
    """The version that was found by a migration of its own transaction."""
    with connect(url) as conn, conn.transaction():
        return migrate.migrate(conn, folder)


def contents(conn):
    """The rows of each table, without their times and versions, which are times too, and without the instance's key."""
    tables = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'"
    times = "SELECT attname FROM pg_attribute WHERE atttypid = 'timestamptz'::regtype"
    created = {row["attname"] for row in rows(conn, times)} | {"version", "key"}
    return {
        row["relname"]: sorted(
            json.dumps({name: item for name, item in found["row"].items() if name not in created})
            for found in rows(conn, f"SELECT to_jsonb(it) AS row FROM {row['relname']} AS it")  # pyright: ignore
        )
        for row in rows(conn, tables)
    }


def test_an_old_database_takes_each_missing_step_once(old, folder):
    (folder / "0003_ages.sql").rename(folder / "later")
    assert migrated(old, folder) == 1
    (folder / "later").rename(folder / "0003_ages.sql")
    assert [migrated(old, folder) for _ in range(2)] == [2, 3]
    with connect(old) as conn:
        assert migrate.version(conn) == 3
        assert rows(conn, "SELECT * FROM pets") == [{"id": 1, "name": "Administrator's 100 % tame pet", "age": 1}]
        assert value(conn, "SELECT count(*) FROM events") == 2
    # A newer database is left alone.
    before = schema_of(old)
    (folder / "0003_ages.sql").unlink()
    with pytest.raises(DatabaseProblem) as problem:
        migrated(old, folder)
    found = "schema version 3; this service supports versions up to 2"
    assert str(problem.value) == f"The database has {found}. Upgrade the service."
    assert schema_of(old) == before


def test_steps_that_fail_change_nothing(old, folder):
    (folder / "0004_fails.sql").write_text("DROP TABLE flags CASCADE; SELECT 1 / 0")
    before = schema_of(old)
    with pytest.raises(psycopg.errors.DivisionByZero):
        migrated(old, folder)
    assert schema_of(old) == before
    with connect(old) as conn:
        assert migrate.version(conn) == 1


def test_six_migrations_at_once_take_each_step_once(old, folder):
    with ThreadPoolExecutor(6) as threads:
        assert sorted(threads.map(lambda _: migrated(old, folder), range(6))) == [1, 3, 3, 3, 3, 3]
    with connect(old) as conn:
        assert rows(conn, "SELECT name, age FROM pets") == [{"name": "Administrator's 100 % tame pet", "age": 1}]


def test_a_step_delays_requests_briefly_during_long_reads(old, folder, monkeypatch):
    monkeypatch.setattr(migrate, "PATIENCE", 0.3)
    (folder / "0002_pets.sql").write_text(f"ALTER TABLE events ADD mood text; {MADE_UP['0002_pets.sql']}")
    before = schema_of(old)
    with connect(old) as reader, reader.transaction():
        # As pg_dump does.
        reader.execute("LOCK TABLE events IN ACCESS SHARE MODE")
        with pytest.raises(DatabaseProblem) as problem:
            migrated(old, folder)
    assert str(problem.value).startswith("The upgrade from schema version 1 to ")
    assert schema_of(old) == before
    assert migrated(old, folder) == 1


def test_a_step_and_a_backup_do_not_wait_for_each_other(old, folder):
    (folder / "0002_pets.sql").write_text(
        f"ALTER TABLE events ADD mood text; ALTER TABLE users ADD mood text; {MADE_UP['0002_pets.sql']}"
    )
    with ThreadPoolExecutor(1) as thread:
        with connect(old) as reader, reader.transaction():
            # As pg_dump does: the oldest table first.
            reader.execute("LOCK TABLE users IN ACCESS SHARE MODE")
            migrating = thread.submit(migrated, old, folder)
            wait_until(lambda: lock_waiters(reader), "the migration waited")
            reader.execute("LOCK TABLE events IN ACCESS SHARE MODE")
        assert migrating.result() == 1


@pytest.mark.parametrize("name", ["0002_again.sql", "0005_too_far.sql"])
def test_steps_are_numbered_without_a_gap(folder, name):
    (folder / name).touch()
    with pytest.raises(AssertionError):
        migrate.steps(folder)


def test_a_start_waits_longer_than_a_request_and_names_its_obstacle(make_database, monkeypatch, capfd):
    url = make_database()
    monkeypatch.setattr("sql.database.OPTIONS", "-c statement_timeout=50ms -c jit=off")
    finished = []
    starting = threading.Thread(target=lambda: finished.append(prepare_database(url, SETTINGS)))
    with psycopg.connect(url) as other:
        other.execute(migrate.LOCK)
        starting.start()
        wait_until(lambda: lock_waiters(other), "the start waited")
        other.execute("SELECT pg_sleep(0.1)")
        assert finished == []
    starting.join()
    assert finished == [None]
    assert capfd.readouterr().err == "Waiting for another process that checks or migrates the database ...\n"


def test_the_version_in_the_schema_is_that_of_the_last_step(make_database):
    found = re.findall(r"INSERT INTO schema_version \(version\) VALUES \((\d+)\)", migrate.SCHEMA.read_text())
    assert found == [str(migrate.VERSION)] == [str(1 + len(migrate.steps()))]
    url = make_database(empty=True)
    assert migrated(url, migrate.MIGRATIONS) == 0
    with connect(url) as conn:
        assert migrate.version(conn) == migrate.VERSION


# Columns come in the order in which they were added: a new one is the last one of its table in schema.sql too.
@pytest.mark.parametrize(("version", "digest"), RELEASED.items())
def test_an_old_and_migrated_database_is_the_same_as_a_new_one(make_database, version, digest):
    # The schema of a release never changes.
    assert hashlib.sha256(kept_schema(version).read_bytes()).hexdigest() == digest
    old, new = make_database(empty=True), make_database(empty=True)
    with connect(old) as migrated, connect(new) as current:
        migrated.execute(kept_schema(version).read_bytes())
        with migrated.transaction():
            assert migrate.migrate(migrated) == version
        current.execute(migrate.SCHEMA.read_bytes())
        assert schema_of(old) == schema_of(new)
        assert contents(migrated) == contents(current)
        assert value(migrated, "SELECT length(key) FROM instance_key") == 32


def test_flags_of_older_versions_get_the_names_of_their_tokens(make_database):
    event = "INSERT INTO events (type, created_by, feature_name) VALUES (%s, %s, %s)"
    with connect(make_database(empty=True)) as conn:
        conn.execute(kept_schema(3).read_bytes())
        for flag, author in (("a", "ci"), ("b", "system"), ("c", None)):
            conn.execute("INSERT INTO flags (name, project_id) VALUES (%s, 'default')", [flag])
            if author:
                conn.execute(event, ["feature-created", author, flag])
                conn.execute(event, ["feature-created", "later", flag])
        with conn.transaction():
            migrate.migrate(conn)
        found = rows(conn, "SELECT name, created_by FROM flags ORDER BY name")
    assert [(flag["name"], flag["created_by"]) for flag in found] == [("a", "ci"), ("b", None), ("c", None)]


def test_flags_that_are_too_old_already_are_marked(make_database):
    insert = (
        "INSERT INTO flags (name, project_id, created_at) VALUES (%s, 'default', now() - make_interval(days => %s))"
    )
    with connect(make_database(empty=True)) as conn:
        conn.execute(kept_schema(3).read_bytes())
        conn.execute(insert, ["old", 41])
        conn.execute(insert, ["young", 39])
        with conn.transaction():
            migrate.migrate(conn)
        found = rows(conn, "SELECT name FROM flags WHERE potentially_stale_at IS NOT NULL")
    assert [flag["name"] for flag in found] == ["old"]


def test_a_start_reports_an_upgrade_of_the_schema(make_database, capfd):
    url = make_database(empty=True)
    with connect(url) as conn:
        conn.execute(FIRST_SCHEMA.read_bytes())
    for message in (f"Upgraded the schema from version 1 to {migrate.VERSION}.\n", ""):
        prepare_database(url, FIRST_START)
        assert capfd.readouterr().err == message


def test_the_comparison_of_schemas_sees_every_difference(make_database):
    url = make_database()
    with connect(url) as conn:
        seen = [(schema_of(url), contents(conn))]
        for change in (
            "ALTER TABLE flags ADD COLUMN colour text",
            "ALTER TABLE flags ALTER COLUMN colour SET DEFAULT 'red'",
            "ALTER TABLE flags DROP CONSTRAINT flags_name_format",
            "DROP INDEX flags_project_idx",
            "CREATE FUNCTION one() RETURNS integer LANGUAGE sql RETURN 1",
            "UPDATE flag_types SET lifetime_days = 8 WHERE id = 'operational'",
        ):
            conn.execute(change)
            seen.append((schema_of(url), contents(conn)))
    assert [after != before for before, after in pairwise(seen)] == [True] * 6


def test_options_in_the_address_are_kept_beside_ours(shared_url):
    options = "options=-csearch_path%3Dpg_catalog%20-cTimeZone%3DAsia/Tokyo%20-cstatement_timeout%3D0&connect_timeout=7"
    with connect(f"{shared_url}{'&' if '?' in shared_url else '?'}{options}") as conn:
        assert value(conn, "SHOW statement_timeout") == "30s"
        assert value(conn, "SHOW search_path") == "pg_catalog"
        assert value(conn, "SHOW TimeZone") == "UTC"


def test_settings_of_the_environment_are_ignored(shared_url):
    shown = "SELECT concat_ws(' ', current_setting('TimeZone'), current_setting('DateStyle'), pg_client_encoding())"
    script = f"import sys; from sql.database import connect, value; print(value(connect(sys.argv[1]), {shown!r}))"
    environment = {"PGTZ": "Asia/Tokyo", "TZ": "Asia/Tokyo", "PGDATESTYLE": "German", "PGCLIENTENCODING": "LATIN1"}
    assert run("-c", script, shared_url, **environment).stdout == "UTC ISO, MDY UTF8\n"
