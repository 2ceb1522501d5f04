"""flags restore: all of a backup or nothing, and never over an instance unless --replace says so."""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
from flask import Flask

from sql.database import backup, connect, embedded, migrate, rows
from tests.support.command_line import CommandLine, only_line
from tests.support.dumps import contents, make_url
from tests.support.event_rows import add
from tests.support.instance import ADMIN_KEY
from tests.support.service import ROOT, environment
from tests.support.world import Caller

Maker = Callable[..., Any]

INCOMPLETE = "The file is not a complete backup of this service in the schema public"


def make_dump(line: CommandLine, path: Path, *options: str) -> Path:
    """Dump a database with other options than ours."""
    environ, address = backup.connection_of(line.app.config["DATABASE_URL"])
    subprocess.run(
        [embedded.BINARIES / "pg_dump", "--format=custom", f"--file={path}", address, *options], env=environ, check=True
    )
    return path


# Existing data


def test_an_instance_is_not_written_over(line: CommandLine, file: Path) -> None:
    message = line.refuses("restore", str(file))
    assert (
        message
        == "The database already contains an instance. Use an empty database, or --replace to delete the instance."
    )


@pytest.mark.parametrize(("answer", "options"), [("yes", ["--replace"]), ("no", []), ("", [])])
def test_make_replaces_only_on_yes(answer: str, options: list[str]) -> None:
    command = [
        "make",
        "--no-print-directory",
        "--dry-run",
        "-o",
        ".venv/embedded",
        "restore",
        "FILE=x",
        f"REPLACE={answer}",
    ]
    environ = environment()
    shown = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=True).stdout
    assert shown.split() == ["exec", "./flags", "restore", *options, "--", '"$FILE"']


def test_a_foreign_database_is_not_overwritten(empty: CommandLine, file: Path) -> None:
    empty.conn.execute("CREATE TABLE theirs (id integer)")
    for options in ([], ["--replace"]):
        result = empty.run("restore", str(file), *options)
        assert (result.exit_code, result.stdout) == (1, "")
        assert "is not empty: it contains theirs" in only_line(result.stderr)


def test_replace_also_drops_what_the_backup_lacks(
    line: CommandLine, file: Path, make_database: Maker, make_app: Maker
) -> None:
    url = make_database()
    with connect(url) as conn:
        conn.execute(
            "CREATE TYPE mood AS ENUM ('good'); CREATE DOMAIN small AS integer; "
            "CREATE TABLE pets (mood mood, small small)"
        )
        conn.execute(
            "CREATE VIEW moods AS SELECT mood FROM pets; CREATE FUNCTION feel(pets) "
            "RETURNS mood LANGUAGE sql RETURN $1.mood"
        )
        conn.execute(
            "CREATE SEQUENCE steps; CREATE MATERIALIZED VIEW kept AS "
            "SELECT 1 AS one; UPDATE schema_version SET version = 99"
        )
        # Ids go on where the backup was.
        add(conn, 5)
        other = CommandLine(make_app(url), conn)
        other.does("restore", "--replace", str(file))
        assert contents(conn) == contents(line.conn)
        assert migrate.has_word_indexes(conn) is migrate.can_index_words(conn)
        assert other.does("schema-diff") == "The schema is the same as in schema.sql.\n"
        assert rows(conn, "SELECT FROM pg_type WHERE typname IN ('mood', 'small')") == []
        assert rows(conn, "SELECT FROM pg_proc WHERE proname = 'feel'") == []


def test_replace_refuses_while_the_service_is_connected(file: Path, make_database: Maker, make_app: Maker) -> None:
    url = make_database()
    app = make_app(url)
    with connect(url) as conn:
        line = CommandLine(make_app(url), conn)
        before = contents(conn)
        assert app.test_client().get("/ready").status_code == 200
        message = line.refuses("restore", "--replace", str(file))
        assert message == "A running service is connected to this database. Stop it, then restore."
        assert contents(conn) == before
        app.extensions["database"].close()
        # A service on another database of the server does not matter.
        other = make_app(make_database())
        assert other.test_client().get("/ready").status_code == 200
        line.does("restore", "--replace", str(file))
        other.extensions["database"].close()


def test_the_restoring_role_owns_everything_and_the_planner_has_statistics(
    file: Path, empty: CommandLine, make_app: Maker
) -> None:
    role = f"owner_{os.getpid()}"
    empty.conn.execute(f"CREATE ROLE {role}; GRANT CREATE ON SCHEMA public TO {role}")  # pyright: ignore
    try:
        CommandLine(make_app(make_url(empty.app.config["DATABASE_URL"], f"-crole={role}")), empty.conn).does(
            "restore", str(file)
        )
        assert empty.rows("SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'") == [
            {"tableowner": role}
        ]
        assert empty.rows("SELECT FROM pg_stats WHERE tablename = 'permissions'")
    finally:
        empty.conn.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")  # pyright: ignore


@pytest.mark.parametrize(
    "used",
    ["SELECT FROM events", migrate.LOCK],
    ids=["a service that uses a table", "another process that migrates"],
)
def test_a_restore_waits_for_others_but_not_for_ever(
    file: Path, make_database: Maker, make_app: Maker, monkeypatch, used
) -> None:
    monkeypatch.setattr(backup, "BEGIN", backup.BEGIN.replace("60s", "1s"))
    url = make_database()
    with connect(url) as conn, connect(url) as other, other.transaction():
        other.execute(used)
        message = CommandLine(make_app(url), conn).refuses("restore", "--replace", str(file))
    assert message == "The restore failed, and nothing changed: canceling statement due to lock timeout."


# All or nothing


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_a_damaged_backup_changes_nothing(line: CommandLine, file: Path, tmp_path: Path, share: float) -> None:
    before, whole = contents(line.conn), file.read_bytes()
    damaged = tmp_path / "damaged.dump"
    damaged.write_bytes(whole[: int(len(whole) * share)])
    message = line.refuses("restore", "--replace", str(damaged))
    reasons = r"input file is too short .*|could not read from input file: .*|could not find block ID .*"
    assert re.fullmatch(rf"{INCOMPLETE}: ({reasons})\.", message) or message.startswith("The restore failed, ")
    assert contents(line.conn) == before


def test_a_pg_restore_that_fails_between_two_statements_changes_nothing(
    line: CommandLine, file: Path, tmp_path: Path, monkeypatch
) -> None:
    """It has written nothing that psql could refuse."""
    before = contents(line.conn)
    for program in ("pg_restore", "psql"):
        (tmp_path / program).write_text(
            f'#!/bin/sh\ncase "$*" in *--use-list*) exit 1;; esac\nexec "{embedded.BINARIES}/{program}" "$@"\n'
        )
        (tmp_path / program).chmod(0o755)
    monkeypatch.setattr(embedded, "BINARIES", tmp_path)
    message = line.refuses("restore", "--replace", str(file))
    assert message == "The restore failed, and nothing changed: the program was killed."
    assert contents(line.conn) == before


def test_an_unsuitable_backup_changes_nothing(
    line: CommandLine, make_database: Maker, make_app: Maker, tmp_path: Path
) -> None:
    url = make_database()
    with connect(url) as conn:
        # Foreign keys are created, and fail, at the end.
        conn.execute(
            "SET session_replication_role = replica; INSERT INTO flags (name, project_id) VALUES ('f', 'nowhere')"
        )
        CommandLine(make_app(url), conn).does("backup", str(tmp_path / "x"))
    before = contents(line.conn)
    message = line.refuses("restore", "--replace", str(tmp_path / "x"))
    assert message.startswith("The restore failed, and nothing changed: insert or update on table ")
    assert contents(line.conn) == before


@pytest.mark.parametrize(
    "options",
    [
        ["--table=schema_version"],
        ["--exclude-table=login_throttle"],
        ["--exclude-table-data=tags"],
        ["--schema-only"],
        ["--data-only"],
        ["--format=plain"],
        ["--schema=pg_catalog"],
    ],
    ids=lambda options: options[0],
)
def test_a_part_of_an_instance_replaces_nothing(line: CommandLine, tmp_path: Path, options: list[str]) -> None:
    part = make_dump(line, tmp_path / "x", *options)
    message = line.refuses("restore", "--replace", str(part))
    reason = ": input file appears to be a text format dump" if "--format=plain" in options else ""
    assert message.startswith(f"{INCOMPLETE}{reason}.")


@pytest.mark.parametrize("text", [b"-----BEGIN AGE ENCRYPTED FILE-----\n" * 100, b"\x1f\x8b" + b"\0" * 1000])
def test_a_file_that_is_no_archive_replaces_nothing(line: CommandLine, tmp_path: Path, text: bytes) -> None:
    (tmp_path / "x").write_bytes(text)
    message = line.refuses("restore", "--replace", str(tmp_path / "x"))
    assert message.startswith(f"{INCOMPLETE}: input file ")


def test_the_dump_of_a_tool_with_a_table_of_that_name_replaces_nothing(
    line: CommandLine, empty: CommandLine, tmp_path: Path
) -> None:
    empty.conn.execute("CREATE TABLE schema_version AS SELECT 1 AS version, 'init' AS description")
    other = make_dump(empty, tmp_path / "x")
    assert line.refuses("restore", "--replace", str(other)).endswith(
        "is not a complete backup of this service in the schema public."
    )


def test_replace_waits_for_the_connections_of_a_service_that_has_just_stopped(
    file: Path, make_database: Maker, make_app: Maker
) -> None:
    url = make_database()
    app = make_app(url)
    with connect(url) as conn:
        assert app.test_client().get("/ready").status_code == 200
        stop = Timer(0.5, app.extensions["database"].close)
        stop.start()
        CommandLine(make_app(url), conn).does("restore", "--replace", str(file))
        stop.join()


# Applications


def test_applications_get_current_flags_after_a_restore(line: CommandLine, empty: CommandLine, tmp_path: Path) -> None:
    flags, features = "/api/admin/projects/default/features", "/api/client/features"

    def switch(app: Flask, flag: str, state: str) -> None:
        path = f"{flags}/{flag}/environments/development/{state}"
        assert Caller(app, ADMIN_KEY).post(path).status_code == 200

    def poll(app: Flask, **headers: str) -> tuple[dict[str, bool], int, str]:
        response = Caller(app, secret).get(features, headers=headers)
        document = response.json
        enabled = {flag["name"]: flag["enabled"] for flag in document["features"]}
        return enabled, document["meta"]["revisionId"], response.headers["ETag"]

    admin = Caller(line.app, ADMIN_KEY)
    body = {"type": "client", "tokenName": "test", "environment": "development"}
    secret = admin.post("/api/admin/api-tokens", json=body).json["secret"]
    for flag in ("first", "second"):
        assert admin.post(flags, json={"name": flag}).status_code == 201
    line.does("backup", str(tmp_path / "x"))
    switch(line.app, "first", "on")
    before, revision, etag = poll(line.app)
    assert before == {"first": True, "second": False}
    # The same service goes on, and there is a new one. The next change raises the revision to the same number.
    line.app.extensions["database"].close()
    line.does("restore", "--replace", str(tmp_path / "x"))
    empty.does("restore", str(tmp_path / "x"))
    assert poll(empty.app, **{"If-None-Match": etag})[0] == {"first": False, "second": False}
    for app in (line.app, empty.app):
        switch(app, "second", "on")
        assert poll(app, **{"If-None-Match": etag})[:2] == ({"first": False, "second": True}, revision)
