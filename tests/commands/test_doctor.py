"""flags doctor: its checks, what it calls FAIL, and its exit status."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commands import doctor, program
from sql.database import connect, embedded, migrate
from sql.people import groups, users
from tests.support import fixtures
from tests.support.command_line import CommandLine, run_flags
from tests.support.doctor import SUBJECTS, Maker, about, examine, parsed, with_settings

ADVICE = "Set it as in docs/how-to/scale.md."


@pytest.fixture(scope="module")
def line(make_database: Maker, make_app: Maker) -> Iterator[CommandLine]:
    """The command line on a database that is set up; who changes it changes it back."""
    url = make_database()
    with connect(url) as conn:
        yield CommandLine(make_app(url, BCRYPT_ROUNDS=12), conn)


def test_a_sound_instance_has_a_line_for_each_check(line: CommandLine) -> None:
    status, found = examine(line)
    assert (status, [subject for _, subject, _ in found]) == (0, SUBJECTS)
    # The server of the tests may lose data in a power cut, so that the tests are fast.
    assert all(grade == "ok" for grade, subject, _ in found if subject not in ("search", "database"))
    assert all(sentence[0].isupper() or sentence[0].isdigit() for _, _, sentence in found)


def test_doctor_reports_the_first_event_and_the_retention(line: CommandLine, make_app: Maker) -> None:
    first = line.conn.execute("SELECT min(created_at) AT TIME ZONE 'UTC' AS at FROM events").fetchone() or {}
    begins = f"The first event is from {first['at']:%F}."
    assert about(line, "event log") == (0, "ok", f"{begins} Events are kept for ever.")
    keeps_90 = with_settings(line, make_app, EVENT_RETENTION_DAYS=90)
    assert about(keeps_90, "event log") == (0, "ok", f"{begins} EVENT_RETENTION_DAYS is 90.")
    for days, grade in ((92, "ok"), (93, "warn")):
        old = f"now() - interval '{days} days'"
        with line.altered(
            f"INSERT INTO events (created_at, type, created_by) VALUES ({old}, 'x', 'y')",
            "DELETE FROM events WHERE type = 'x'",
        ):
            assert about(keeps_90, "event log")[1] == grade
            assert about(line, "event log")[1] == "ok"
    # A young instance of which everything was pruned.
    with line.altered("CREATE TABLE kept AS TABLE events; TRUNCATE events", RESTORE):
        assert about(keeps_90, "event log") == (0, "ok", "The event log is empty. EVENT_RETENTION_DAYS is 90.")


RESTORE = "INSERT INTO events OVERRIDING SYSTEM VALUE TABLE kept; DROP TABLE kept"


def test_a_database_that_cannot_be_reached_is_a_failure(make_app: Maker) -> None:
    result = (
        make_app("postgresql://somebody:the-secret@127.0.0.1:1/nowhere", BCRYPT_ROUNDS=12)
        .test_cli_runner()
        .invoke(program, ["doctor"])
    )
    [settings, database] = parsed(result.stdout)
    assert (result.exit_code, settings[0], database[:2]) == (1, "ok", ("FAIL", "database"))
    assert database[2].startswith("The database cannot be reached: ")
    assert "the-secret" not in result.output


def test_a_database_that_can_only_be_read_is_a_failure(line: CommandLine) -> None:
    line.alter_database("SET default_transaction_read_only = on")
    status, grade, sentence = about(line, "database")
    line.alter_database("RESET default_transaction_read_only")
    assert (status, grade) == (1, "FAIL")
    assert "read-only" in sentence


@pytest.mark.parametrize(
    ("server", "grade"),
    [
        ({}, "ok"),
        ({"version": 13}, "FAIL"),
        ({"encoding": "LATIN1"}, "FAIL"),
        ({"is_standby": True}, "FAIL"),
        ({"unsafe": "fsync"}, "warn"),
    ],
)
def test_version_encoding_and_durability_are_checked(server: dict[str, Any], grade: str) -> None:
    sound = {"version": 14, "encoding": "UTF8", "is_read_only": False, "is_standby": False, "unsafe": ""}
    assert doctor.database_finding(sound | server)[:2] == (grade, "database")


def test_a_server_that_may_lose_what_was_acknowledged_is_a_warning(line: CommandLine) -> None:
    line.alter_database("SET synchronous_commit = off")
    status, grade, sentence = about(line, "database")
    assert (status, grade) == (0, "warn")
    assert re.match(r"These PostgreSQL settings are off: [a-z_, ]*synchronous_commit\. ", sentence)
    line.alter_database("SET synchronous_commit = local")
    assert "synchronous_commit" not in about(line, "database")[2]
    line.alter_database("RESET synchronous_commit")


@pytest.mark.parametrize(
    ("size", "seconds", "grade"),
    [(0, None, "ok"), (2**24, 10.0, "ok"), (2**24 + 1, 0.0, "warn"), (0, 10.1, "warn"), (None, None, "ok")],
)
def test_a_standby_is_late_by_size_or_by_time(size: int | None, seconds: float | None, grade: str) -> None:
    found = doctor.standby_finding({"name": "second", "is_connected": True, "bytes": size, "seconds": seconds})
    assert found[:2] == (grade, "standby")


def test_an_empty_database_has_to_be_migrated(make_database: Maker, make_app: Maker) -> None:
    result = make_app(make_database(empty=True)).test_cli_runner().invoke(program, ["doctor"])
    found = parsed(result.stdout)
    assert (result.exit_code, [subject for _, subject, _ in found]) == (
        1,
        ["settings", "database", "connections", "schema"],
    )
    assert found[3] == ("FAIL", "schema", "The database has no schema. Run ./flags migrate.")


def test_a_newer_schema_needs_a_newer_service(line: CommandLine) -> None:
    with line.altered(
        "UPDATE schema_version SET version = version + 1", "UPDATE schema_version SET version = version - 1"
    ):
        status, grade, sentence = about(line, "schema")
    assert (status, grade) == (1, "FAIL")
    assert sentence.endswith(f"supports versions up to {migrate.VERSION}. Upgrade the service.")


def test_missing_search_indexes_are_a_warning_with_the_consequence(line: CommandLine) -> None:
    line.conn.execute("DROP EXTENSION IF EXISTS pg_trgm CASCADE")
    status, grade, sentence = about(line, "search")
    assert (status, grade) == (0, "warn")
    assert "read the whole event log" in sentence
    [row] = line.rows("SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_trgm') AS can")
    assert sentence.endswith("Run ./flags migrate as a role that can create it.") is row["can"]


def test_search_with_all_its_indexes_is_fine_and_one_is_not_enough(line: CommandLine) -> None:
    line.conn.execute("DROP EXTENSION IF EXISTS pg_trgm CASCADE")
    # Only their names are looked at: the extension may not be at hand here.
    for column in ("data", "pre_data", "tags", "type", "created_by"):
        assert about(line, "search")[1] == "warn"
        line.conn.execute(f"CREATE INDEX events_{column}_trgm ON events (id)")  # pyright: ignore
    found = about(line, "search")
    line.conn.execute("DROP INDEX events_data_trgm, events_pre_data_trgm, events_tags_trgm, events_created_by_trgm")
    assert found == (0, "ok", "Text searches of the event log use an index (pg_trgm).")


def test_more_connections_than_the_server_has_are_a_warning(line: CommandLine, make_app: Maker) -> None:
    [row] = line.rows(
        "SELECT current_setting('max_connections')::int - "
        "current_setting('superuser_reserved_connections')::int AS most"
    )
    enough = with_settings(line, make_app, DATABASE_POOL_SIZE=row["most"], WEB_CONCURRENCY=1)
    assert about(enough, "connections")[:2] == (0, "ok")
    too_many = with_settings(line, make_app, DATABASE_POOL_SIZE=row["most"] + 1, WEB_CONCURRENCY=1)
    status, grade, sentence = about(too_many, "connections")
    assert (status, grade) == (0, "warn")
    assert sentence == f"This service needs up to {row['most'] + 1} connections; {row['most']} are available."


def test_missing_session_settings_of_a_pooler_are_reported(line: CommandLine, make_app: Maker) -> None:
    status, found = examine(with_settings(line, make_app, DATABASE_POOLER="transaction"))
    assert (status, found[1:]) == (
        1,
        [("FAIL", "database", f"The pooler does not set statement_timeout and jit. {ADVICE}")],
    )


def test_the_limit_of_one_database_counts_too(line: CommandLine) -> None:
    grades = {}
    for limit in (31, 32, -1):
        line.alter_database(f"CONNECTION LIMIT {limit}")
        grades[limit] = about(line, "connections")[1]
    assert grades == {31: "warn", 32: "ok", -1: "ok"}


@pytest.mark.parametrize(
    ("loss", "undo"),
    [
        ("password_hash = NULL", "password_hash = '$2b$'"),
        ("deleted_at = now()", "deleted_at = NULL"),
        ("root_role_id = 2", "root_role_id = 1"),
        ("account_type = 'Service Account'", "account_type = 'User'"),
    ],
)
def test_an_instance_without_administrator_is_a_failure(line: CommandLine, loss: str, undo: str) -> None:
    with line.altered(f"UPDATE users SET {loss} WHERE id = 1", f"UPDATE users SET {undo} WHERE id = 1"):
        status, grade, sentence = about(line, "administrators")
    assert (status, grade) == (1, "FAIL")
    assert "./flags user create --role admin" in sentence


def test_administrators_by_group_count(line: CommandLine) -> None:
    ada = users.insert(line.conn, name=None, username="ada", email=None, password_hash="$2b$", root_role=3)["id"]
    assert about(line, "administrators") == (0, "ok", "1 can log in.")
    group_id = groups.insert(line.conn, "Keepers", root_role=1)
    fixtures.add_group_user(line.conn, group_id, ada)
    found = about(line, "administrators")
    line.conn.execute("DELETE FROM users WHERE id = %s", [ada])
    assert found == (0, "ok", "2 can log in.")


@pytest.mark.slow
def test_the_real_program_examines_the_private_database(tmp_path: Path) -> None:
    environ = {"DATA_DIR": str(tmp_path / "data")}
    server = embedded.Server(tmp_path / "data")
    url = server.ensure()
    try:
        # An invalid one is named, and the rest is checked too.
        done = run_flags("doctor", **environ, PORT="abc")
        assert (done.returncode, done.stderr) == (1, "")
        assert ("FAIL", "settings", "The setting PORT must be a whole number from 1 to 65535.") in parsed(done.stdout)
        assert ("FAIL", "schema", "The database has no schema. Run ./flags migrate.") in parsed(done.stdout)
        [sentence] = [sentence for _, subject, sentence in parsed(done.stdout) if subject == "disk"]
        assert sentence.endswith(f" GB are free in {tmp_path}/data.")
        # Another process had it before: it is still there.
        with connect(url) as conn:
            conn.execute("SELECT 1")
    finally:
        server.release()


def test_doctor_without_settings_reports_so_and_creates_no_database(make_app: Maker, tmp_path: Path) -> None:
    runner = make_app(None, DATA_DIR=tmp_path / "data").test_cli_runner()
    for command in (["doctor"], ["backup", str(tmp_path / "y.dump")], ["user", "list"]):
        result = runner.invoke(program, command, catch_exceptions=False)
        assert result.exit_code == 1
        assert f"{tmp_path}/data contains no database. Set DATABASE_URL" in result.output
        assert list(tmp_path.iterdir()) == []
