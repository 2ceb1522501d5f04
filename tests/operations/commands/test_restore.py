"""flags restore: all of a backup or nothing, and never over an instance unless --replace says so."""

import os
import subprocess
import tempfile
from pathlib import Path
from threading import Timer

import psycopg
import pytest

from operations.commands import program
from operations.postgres import backup, embedded, migrate
from sql.database import connect, rows, value
from tests.support.command_line import CommandLine, only_line
from tests.support.dumps import contents, holds_nothing, make_url
from tests.support.embedded_server import own_server
from tests.support.event_rows import add
from tests.support.instance import ADMIN_KEY, address_of
from tests.support.machine_server import BINARIES as MACHINE
from tests.support.machine_server import IS_INSTALLED, machine_server
from tests.support.schema_versions import FIRST_SCHEMA
from tests.support.service import ROOT, environment
from tests.support.world import Caller

INCOMPLETE = "The file is not a complete backup of this service in the schema public"
FAILED = "The restore failed, and nothing changed: "
SAME_SCHEMA = "The schema is the same as in schema.sql.\n"


def make_dump(line, path, *options):
    """Dump a database with other options than ours."""
    environ, address = backup.connection_of(line.app.config["DATABASE_URL"])
    subprocess.run(
        [embedded.BINARIES / "pg_dump", "--format=custom", f"--file={path}", address, *options], env=environ, check=True
    )
    return path


# Existing data


def test_an_instance_is_not_replaced_without_the_option(line, file):
    assert line.refuses("restore", str(file)) == (
        "The database already contains an instance. Use an empty database. "
        "To delete the instance first, use --replace (REPLACE=yes with make restore)."
    )


@pytest.mark.parametrize(("answer", "options"), [("yes", ["--replace"]), ("no", []), ("", [])])
def test_make_replaces_only_on_yes(answer, options):
    make = ["make", "--no-print-directory", "--dry-run", "-o", ".venv/embedded"]
    command = [*make, "restore", "FILE=x", f"REPLACE={answer}"]
    shown = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=True).stdout
    assert shown.split() == ["exec", "./flags", "restore", *options, "--", '"$FILE"']


def test_a_foreign_database_is_not_overwritten(empty, file):
    empty.conn.execute("CREATE TABLE theirs (id integer)")
    for options in ([], ["--replace"]):
        result = empty.run("restore", str(file), *options)
        assert (result.exit_code, result.stdout) == (1, "")
        assert "is not empty: it contains theirs" in only_line(result.stderr)


def test_replace_also_drops_what_the_backup_lacks(line, own, file):
    own.conn.execute("""
        CREATE TYPE mood AS ENUM ('good');
        CREATE DOMAIN small AS integer;
        CREATE TABLE pets (mood mood, small small);
        CREATE VIEW moods AS SELECT mood FROM pets;
        CREATE SEQUENCE steps;
        CREATE MATERIALIZED VIEW kept AS SELECT 1 AS one;
        UPDATE schema_version SET version = 99
    """)
    own.conn.execute("CREATE FUNCTION feel(pets) RETURNS mood LANGUAGE sql RETURN $1.mood")
    # Ids go on where the backup was.
    add(own.conn, 5)
    own.does("restore", "--replace", str(file))
    assert contents(own.conn) == contents(line.conn)
    assert migrate.has_word_indexes(own.conn) is migrate.can_index_words(own.conn)
    assert own.does("schema-diff") == SAME_SCHEMA
    assert own.rows("SELECT FROM pg_database WHERE datname LIKE 'flags\\_schema\\_%%'") == []
    assert rows(own.conn, "SELECT FROM pg_type WHERE typname IN ('mood', 'small')") == []
    assert rows(own.conn, "SELECT FROM pg_proc WHERE proname = 'feel'") == []


def test_replace_needs_a_database_without_a_service(own, file, make_database, make_app):
    app = make_app(own.app.config["DATABASE_URL"])
    before = contents(own.conn)
    assert app.test_client().get("/ready").status_code == 200
    message = own.refuses("restore", "--replace", str(file))
    assert message == "A running service is connected to this database. Stop it, then restore."
    assert contents(own.conn) == before
    # A service on another database of the server does not matter, nor connections of a service that has just stopped.
    elsewhere = make_app(make_database())
    assert elsewhere.test_client().get("/ready").status_code == 200
    stop = Timer(0.3, app.extensions["database"].close)
    stop.start()
    own.does("restore", "--replace", str(file))
    stop.join()
    elsewhere.extensions["database"].close()


def test_the_restoring_role_owns_everything_and_the_planner_has_statistics(file, empty, make_app):
    role = f"owner_{os.getpid()}"
    empty.conn.execute(f"CREATE ROLE {role}; GRANT CREATE ON SCHEMA public TO {role}")
    try:
        app = make_app(make_url(empty.app.config["DATABASE_URL"], f"-crole={role}"))
        CommandLine(app, empty.conn).does("restore", str(file))
        owners = "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'"
        assert empty.rows(owners) == [{"tableowner": role}]
        assert empty.rows("SELECT FROM pg_stats WHERE tablename = 'permissions'")
    finally:
        empty.conn.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")


@pytest.mark.parametrize("used", ["SELECT FROM events", migrate.LOCK], ids=["a table", "the lock of migrations"])
def test_a_restore_does_not_wait_forever_for_a_lock(file, own, monkeypatch, used):
    monkeypatch.setattr(backup, "BEGIN", backup.BEGIN.replace("60s", "200ms"))
    with connect(own.app.config["DATABASE_URL"]) as user, user.transaction():
        user.execute(used)
        assert own.refuses("restore", "--replace", str(file)).startswith(FAILED)


# All or nothing


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_a_damaged_backup_changes_nothing(line, file, tmp_path, share):
    before, whole = contents(line.conn), file.read_bytes()
    (tmp_path / "x").write_bytes(whole[: int(len(whole) * share)])
    message = line.refuses("restore", "--replace", str(tmp_path / "x"))
    assert message.startswith((f"{INCOMPLETE}: ", "The restore failed, "))
    assert contents(line.conn) == before


def test_a_pg_restore_that_writes_nothing_and_fails_changes_nothing(line, file, tmp_path, monkeypatch):
    before = contents(line.conn)
    for name in ("pg_restore", "psql"):
        (tmp_path / name).write_text(
            f'#!/bin/sh\ncase "$*" in *--use-list*) exit 1;; esac\nexec "{embedded.BINARIES}/{name}" "$@"\n'
        )
        (tmp_path / name).chmod(0o755)
    monkeypatch.setattr(embedded, "BINARIES", tmp_path)
    assert line.refuses("restore", "--replace", str(file)) == f"{FAILED}the program was killed."
    assert contents(line.conn) == before


def test_a_backup_with_invalid_rows_changes_nothing(line, own, tmp_path):
    # Foreign keys are created, and fail, at the end.
    own.conn.execute(
        "SET session_replication_role = replica; INSERT INTO flags (name, project_id) VALUES ('f', 'nowhere')"
    )
    own.does("backup", str(tmp_path / "x"))
    before = contents(line.conn)
    assert line.refuses("restore", "--replace", str(tmp_path / "x")).startswith(FAILED)
    assert contents(line.conn) == before


@pytest.mark.parametrize(
    "option",
    [
        "--table=schema_version",
        "--exclude-table=login_throttle",
        "--exclude-table-data=tags",
        "--schema-only",
        "--data-only",
        "--format=plain",
        "--schema=pg_catalog",
    ],
)
def test_a_part_of_an_instance_replaces_nothing(line, tmp_path, option):
    part = make_dump(line, tmp_path / "x", option)
    message = line.refuses("restore", "--replace", str(part))
    assert message.startswith(f"{INCOMPLETE}: " if option == "--format=plain" else f"{INCOMPLETE}.")


@pytest.mark.parametrize("text", [b"-----BEGIN AGE ENCRYPTED FILE-----\n" * 100, b"\x1f\x8b" + b"\0" * 1000])
def test_a_file_that_is_not_a_dump_replaces_nothing(line, tmp_path, text):
    (tmp_path / "x").write_bytes(text)
    assert line.refuses("restore", "--replace", str(tmp_path / "x")).startswith(f"{INCOMPLETE}: ")


def test_the_dump_of_another_program_replaces_nothing(line, empty, tmp_path):
    empty.conn.execute("CREATE TABLE schema_version AS SELECT 1 AS version, 'init' AS description")
    foreign = make_dump(empty, tmp_path / "x")
    assert line.refuses("restore", "--replace", str(foreign)) == f"{INCOMPLETE}."


# Applications


def test_applications_get_current_flags_after_a_restore(own, empty, tmp_path):
    flags, features = "/api/admin/projects/default/features", "/api/client/features"

    def switch(app, flag, state):
        assert Caller(app, ADMIN_KEY).post(f"{flags}/{flag}/environments/development/{state}").status_code == 200

    def poll(app, **headers):
        response = Caller(app, secret).get(features, headers=headers)
        document = response.get_json()
        enabled = {flag["name"]: flag["enabled"] for flag in document["features"]}
        return enabled, document["meta"]["revisionId"], response.headers["ETag"]

    admin = Caller(own.app, ADMIN_KEY)
    body = {"type": "client", "tokenName": "test", "environment": "development"}
    secret = admin.post("/api/admin/api-tokens", json=body).get_json()["secret"]
    for flag in ("first", "second"):
        assert admin.post(flags, json={"name": flag}).status_code == 201
    own.does("backup", str(tmp_path / "x"))
    switch(own.app, "first", "on")
    before, revision, etag = poll(own.app)
    assert before == {"first": True, "second": False}
    # The same service goes on, and there is a new one. The next change raises the revision to the same number.
    own.app.extensions["database"].close()
    own.does("restore", "--replace", str(tmp_path / "x"))
    empty.does("restore", str(tmp_path / "x"))
    assert poll(empty.app, **{"If-None-Match": etag})[0] == {"first": False, "second": False}
    for app in (own.app, empty.app):
        switch(app, "second", "on")
        assert poll(app, **{"If-None-Match": etag})[:2] == ({"first": False, "second": True}, revision)


# Versions of the schema and of the server


def test_a_backup_of_a_newer_version_is_refused(own, empty, tmp_path):
    own.conn.execute("UPDATE schema_version SET version = version + 1")
    own.does("backup", str(tmp_path / "x"))
    message = only_line(empty.run("restore", str(tmp_path / "x")).stderr)
    found = f"schema version {migrate.VERSION + 1}; this service supports versions up to {migrate.VERSION}"
    assert message == f"The backup has {found}. Upgrade the service."
    assert holds_nothing(empty)


def test_a_backup_of_an_older_version_is_migrated(make_database, make_app, empty, tmp_path):
    url = make_database(empty=True)
    with connect(url) as conn:
        conn.execute(FIRST_SCHEMA.read_bytes())
        conn.execute("INSERT INTO users (username, root_role_id) VALUES ('ada', 1)")
        make_dump(CommandLine(make_app(url), conn), tmp_path / "x")
    result = empty.run("restore", str(tmp_path / "x"))
    assert result.exit_code == 0, result.stderr
    assert f"0 events and 1 user, schema version 1, upgraded to {migrate.VERSION}, in " in result.stderr
    assert migrate.version(empty.conn) == migrate.VERSION


def test_statements_of_newer_servers_are_left_out_and_rows_like_them_are_restored(own, empty, tmp_path):
    # Newer servers have set this for each column already.
    own.conn.execute("""
        UPDATE pg_attribute SET attoptions = '{pg_attver=1}'
         WHERE attrelid = 'flags'::regclass AND attnum > 0 AND attoptions IS NULL
    """)
    values = ["ALTER TABLE ONLY tags SET (pg_attver=1);", "SET transaction_timeout = 0;"]
    own.conn.execute("INSERT INTO tags SELECT 'simple', unnest(%(values)s::text[])", {"values": values})
    assert own.does("schema-diff") == SAME_SCHEMA
    own.does("backup", str(tmp_path / "x"))
    empty.does("restore", str(tmp_path / "x"))
    assert empty.does("schema-diff") == SAME_SCHEMA
    assert value(empty.conn, "SELECT array_agg(value ORDER BY value) FROM tags") == values


@pytest.mark.skipif(not IS_INSTALLED or "/18/" in str(MACHINE), reason="needs an installed PostgreSQL before 18")
def test_a_backup_of_newer_programs_names_the_programs_that_it_needs(file, empty, monkeypatch):
    monkeypatch.setattr(backup, "programs", lambda _server: MACHINE)
    message = only_line(empty.run("restore", str(file)).stderr)
    assert message.startswith(f"{MACHINE}/pg_restore is too old for this backup: ")
    assert message.endswith(". Run make install-embedded, or put pg_restore of PostgreSQL 18 on the PATH.")
    assert holds_nothing(empty)


def test_a_backup_is_restored_only_into_its_own_schema(file, empty, make_app):
    empty.conn.execute("CREATE SCHEMA flags")
    app = make_app(make_url(empty.app.config["DATABASE_URL"], "-csearch_path=flags"))
    result = app.test_cli_runner().invoke(program, ["restore", str(file)])
    assert "is not a complete backup of this service in the schema flags." in result.stderr
    assert holds_nothing(empty)


def test_an_instance_in_its_own_schema_is_backed_up_alone(empty, make_app, tmp_path):
    empty.conn.execute('CREATE SCHEMA "our flags"; CREATE TABLE public.theirs (id integer)')
    own = make_app(make_url(empty.app.config["DATABASE_URL"], "-csearch_path=%22our%5C%20flags%22"))
    for arguments in (["migrate"], ["backup", str(tmp_path / "x")], ["restore", "--replace", str(tmp_path / "x")]):
        result = own.test_cli_runner().invoke(program, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.stderr
    assert empty.rows(
        "SELECT to_regclass('public.theirs')::text AS theirs, to_regclass('\"our flags\".events')::text AS ours"
    ) == [{"theirs": "theirs", "ours": '"our flags".events'}]


@pytest.mark.parametrize("schema", ["public", "our flags"])
def test_entries_that_another_server_may_lack_are_skipped(schema):
    for entry, is_skipped in {
        f"INDEX {schema} events_tags_trgm": True,
        "EXTENSION - pg_trgm": True,
        "COMMENT - EXTENSION pg_trgm": True,
        f"SCHEMA - {schema}": True,
        f"INDEX {schema} events_type_idx": False,
        f"TABLE {schema} events": False,
        f"COMMENT {schema} INDEX events_type_idx": False,
    }.items():
        assert bool(backup.SKIPPED.match(f"4711; 1259 16800 {entry} ada")) is is_skipped, entry


@pytest.mark.slow
@pytest.mark.skipif(
    not IS_INSTALLED, reason="needs a PostgreSQL server of this machine (on Debian: apt-get install postgresql)"
)
def test_an_instance_moves_between_servers_of_two_versions(line, file, make_app, tmp_path):
    """Embedded 18 to the machine's own, which may have word indexes, and back, and the same with --replace."""
    before, path = contents(line.conn), file
    # A short path, because a socket's path is limited.
    with (
        tempfile.TemporaryDirectory(prefix="flags-", dir="/tmp") as folder,
        machine_server(Path(folder)) as machine,
        own_server() as private,
    ):
        for server in (machine, private.url):
            with psycopg.connect(server, autocommit=True) as admin:
                admin.execute("CREATE DATABASE moved TEMPLATE template0 ENCODING 'UTF8'")
        for number, server in enumerate((machine, private.url) * 2):
            with connect(address_of(server, "moved")) as conn:
                there = CommandLine(make_app(address_of(server, "moved")), conn)
                there.does("restore", *(["--replace"] if number >= 2 else []), str(path))
                assert contents(conn) == before
                # The embedded server has no contrib.
                has_words = server == machine and migrate.can_index_words(conn)
                assert migrate.has_word_indexes(conn) is has_words
                indexes = value(conn, "SELECT count(*) FROM pg_indexes WHERE indexname LIKE '%%trgm'")
                assert indexes == (4 if has_words else 0)
                path = tmp_path / f"{number}.dump"
                there.does("backup", str(path))
