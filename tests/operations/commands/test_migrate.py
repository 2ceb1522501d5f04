"""flags migrate; and what every command says of a database that it cannot use."""

import re
import signal
from typing import Any

import pytest

from operations.commands import program
from operations.postgres import embedded, migrate
from operations.postgres.migrate import DatabaseProblem
from sql.database import connect
from tests.support.command_line import CommandLine, event, only_line, run_flags, run_flags_at_terminal
from tests.support.world import Caller

COMMANDS = (
    ("user", "create", "--username", "x", "--generate"),
    ("user", "list"),
    ("user", "reset-password", "admin", "--generate"),
    ("user", "unlock", "admin"),
    ("api-token", "create", "--name", "x", "--type", "admin"),
    ("api-token", "list"),
    ("api-token", "revoke", "1"),
    ("signup-token", "create", "--name", "x"),
    ("signup-token", "list"),
)


@pytest.fixture
def empty(make_database, make_app):
    """The command line on an empty database, without the settings for the first start."""
    url = make_database(empty=True)
    with connect(url) as conn:
        yield CommandLine(make_app(url, INIT_ADMIN_PASSWORD=None, INIT_ADMIN_API_TOKENS=None), conn)


def test_an_empty_database_is_set_up_as_at_a_first_start(empty):
    output = empty.does("migrate")
    assert output.startswith(f"Created the schema, version {migrate.VERSION}.\n")
    [password] = re.findall(r"admin password   (\S+)   \(user name admin\)", output)
    [key] = re.findall(r"API token        (\S+)", output)
    assert empty.log_in("admin", password).status_code == 200
    assert Caller(empty.app, key).get("/api/admin/projects/default/overview").status_code == 200
    types = [row["type"] for row in empty.rows("SELECT type FROM events ORDER BY id")]
    assert types == ["user-created", "api-token-created"]
    # A second time changes nothing and shows no secret.
    before = empty.everything()
    output = empty.does("migrate")
    assert output.startswith(f"The schema is current: version {migrate.VERSION}.\n")
    assert "password" not in output
    assert "API token" not in output
    assert empty.everything() == before


def test_a_schema_without_users_is_given_an_administrator(empty):
    with empty.conn.transaction():
        migrate.migrate(empty.conn)
    assert "admin password" in empty.does("migrate")
    [first, *_] = empty.rows("SELECT type, created_by FROM events ORDER BY id")
    assert first == {"type": "user-created", "created_by": "system"}


def test_migrate_creates_the_word_indexes_or_reports_why_not(line):
    line.conn.execute("DROP EXTENSION IF EXISTS pg_trgm CASCADE")
    output = line.does("migrate")
    [row] = line.rows("SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_trgm') AS can")
    assert migrate.has_word_indexes(line.conn) is row["can"]
    assert ("pg_trgm is not available" in output) is not row["can"]


def test_no_command_touches_a_newer_schema(line):
    with line.altered(
        "UPDATE schema_version SET version = version + 1", "UPDATE schema_version SET version = version - 1"
    ):
        messages = {line.refuses(*command) for command in (("migrate",), *COMMANDS)}
    found = f"schema version {migrate.VERSION + 1}; this service supports versions up to {migrate.VERSION}"
    assert messages == {f"The database has {found}. Upgrade the service."}


@pytest.mark.parametrize("table", ["theirs (id integer)", "users (id integer)", "schema_version (version text)"])
def test_a_foreign_database_is_not_changed(empty, table):
    empty.conn.execute(f"CREATE TABLE {table}")
    result = empty.run("migrate")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "is not empty" in only_line(result.stderr)
    assert empty.rows("SELECT to_regclass('events') AS events") == [{"events": None}]


def test_without_a_schema_every_command_names_migrate(empty):
    for command in COMMANDS:
        result = empty.run(*command)
        assert (result.exit_code, result.stdout) == (1, "")
        assert only_line(result.stderr) == "The database has no schema. Run ./flags migrate."
    assert empty.rows("SELECT FROM pg_class WHERE relnamespace = 'public'::regnamespace") == []


def test_an_older_schema_has_to_be_migrated(line):
    with pytest.raises(DatabaseProblem) as problem:
        migrate.require_current(line.conn, needed=migrate.VERSION + 1)
    found = f"schema version {migrate.VERSION}; this service needs version {migrate.VERSION + 1}"
    assert str(problem.value) == f"The database has {found}. Run ./flags migrate."


def test_every_command_reports_an_unreachable_database(make_app):
    app = make_app("postgresql://somebody:the-secret@127.0.0.1:1/nowhere")
    for command in (("migrate",), *COMMANDS):
        result = app.test_cli_runner().invoke(program, command, catch_exceptions=False)
        assert (result.exit_code, result.stdout) == (1, "")
        assert only_line(result.stderr).startswith("The database cannot be reached: ")
        assert "the-secret" not in result.stderr


def test_a_read_only_database_is_reported_in_one_line(line):
    line.alter_database("SET default_transaction_read_only = on")
    try:
        message = line.refuses("api-token", "create", "--name", "x", "--type", "admin")
        assert len(line.lists("api-token")) == 1
    finally:
        line.alter_database("RESET default_transaction_read_only")
    assert message == "The database is read-only at the moment."


def test_an_invalid_setting_stops_every_command(line, monkeypatch):
    monkeypatch.setenv("PORT", "no port")
    for command in (("migrate",), *COMMANDS):
        assert line.refuses(*command) == "The setting PORT must be a whole number from 1 to 65535."


def test_every_command_and_option_has_a_help_text():
    groups: list[Any] = [program]
    for group in groups:
        assert group.commands
        for name, member in group.commands.items():
            assert member.help, name
            for option in member.params:
                assert option.param_type_name == "argument" or option.help, (name, option.name)
            if hasattr(member, "commands"):
                groups.append(member)
    assert len(groups) > 4


@pytest.mark.slow
def test_the_real_program_reports_an_error_in_one_line(url):
    unreachable = {"DATABASE_URL": "postgresql://127.0.0.1:1/nowhere"}
    for args, environ in (
        (("user", "list"), unreachable),
        (("migrate",), unreachable),
        (("user", "list"), unreachable | {"PORT": "no port"}),
        (("user", "create", "--username", "admin", "--generate"), {"DATABASE_URL": url}),
        (("api-token", "create", "--name", "x", "--type", "client", "--environment", "x"), {"DATABASE_URL": url}),
        (("signup-token", "create", "--name", "x", "--expires", "soon"), {"DATABASE_URL": url}),
    ):
        done = run_flags(*args, **environ)
        assert (done.returncode, done.stdout) == (1, ""), args
        only_line(done.stderr)


@pytest.mark.slow
def test_help_needs_no_database_and_no_valid_settings(tmp_path):
    for args in (("--help",), ("user", "create", "--help"), ("api-token", "--help")):
        done = run_flags(*args, DATA_DIR=str(tmp_path / "data"), PORT="no port")
        assert (done.returncode, done.stderr) == (0, "")
        assert "Usage: " in done.stdout
    assert not (tmp_path / "data").exists()


@pytest.mark.slow
def test_a_command_starts_and_stops_the_private_database(tmp_path):
    environ = {"DATA_DIR": str(tmp_path / "my data"), "BCRYPT_ROUNDS": "10"}
    done = run_flags("migrate", **environ)
    assert (done.returncode, done.stderr) == (0, "")
    assert "admin password" in done.stdout
    done = run_flags("api-token", "create", "--name", "ci", "--type", "admin", **environ)
    assert re.fullmatch(r"\*:\*\.[0-9a-f]{64}\n", done.stdout)
    assert not (tmp_path / "my data" / "postgres" / "postmaster.pid").exists()
    # Also when the command is ended by a signal.
    status, _ = run_flags_at_terminal("user", "create", "--username", "ada", typed=[("Password: ", None)], **environ)
    assert status == 128 + signal.SIGTERM
    assert not (tmp_path / "my data" / "postgres" / "postmaster.pid").exists()


@pytest.mark.slow
def test_a_private_database_that_runs_is_joined_and_left_running(tmp_path):
    server = embedded.Server(tmp_path / "data")
    url = server.ensure()
    try:
        assert run_flags("migrate", DATA_DIR=str(tmp_path / "data"), BCRYPT_ROUNDS="10").returncode == 0
        with connect(url) as conn:
            rows = conn.execute("SELECT type, created_by, tags FROM events ORDER BY id").fetchall()
        assert rows[0] == {key: event("user-created")[key] for key in ("type", "created_by", "tags")}
    finally:
        server.release()
