"""flask restore: all of a backup or nothing, and nothing over what is there."""

import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sql import backup, connect, embedded, migrate, restore, rows, value
from sql.migrate import DatabaseProblem
from tests.command_line import CommandLine, flask, only_line
from tests.event_rows import add
from tests.test_backup import contents, make_url

Maker = Callable[..., Any]


@pytest.fixture(scope="module")
def file(line: CommandLine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of it."""
    path = tmp_path_factory.mktemp("backup") / "of the service.dump"
    line.does("backup", str(path))
    return path


def holds_nothing(line: CommandLine) -> bool:
    """Whether a database has no relation of ours, or anybody's."""
    return line.rows("SELECT FROM pg_class WHERE relnamespace = 'public'::regnamespace") == []


def test_an_instance_is_not_written_over(line: CommandLine, file: Path) -> None:
    said = line.refuses("restore", str(file))
    assert said == "The database holds an instance already. Name an empty one, or say --replace: all that it holds is then lost."


def test_a_database_of_somebody_else_is_not_written_over(empty: CommandLine, file: Path) -> None:
    empty.conn.execute("CREATE TABLE theirs (id integer)")
    for options in ([], ["--replace"]):
        result = empty.run("restore", str(file), *options)
        assert (result.exit_code, result.stdout) == (1, "")
        assert "holds something else already: the relation theirs" in only_line(result.stderr)


def test_what_is_replaced_is_gone(line: CommandLine, file: Path, make_database: Maker, make_app: Maker) -> None:
    url = make_database()
    with connect(url) as conn:
        # What a newer version may have, of every kind; and an id that would be given twice if they did not go on where the backup was.
        conn.execute("CREATE TYPE mood AS ENUM ('good'); CREATE DOMAIN small AS integer; CREATE TABLE pets (mood mood, small small)")
        conn.execute("CREATE VIEW moods AS SELECT mood FROM pets; CREATE FUNCTION feel(pets) RETURNS mood LANGUAGE sql RETURN $1.mood")
        conn.execute("CREATE SEQUENCE steps; CREATE MATERIALIZED VIEW kept AS SELECT 1 AS one; UPDATE schema_version SET version = 99")
        add(conn, 5)
        other = CommandLine(make_app(url), conn)
        other.does("restore", "--replace", str(file))
        assert contents(conn) == contents(line.conn)
        assert migrate.has_word_indexes(conn) is migrate.can_index_words(conn)
        assert rows(conn, "SELECT FROM pg_type WHERE typname IN ('mood', 'small')") == []
        assert rows(conn, "SELECT FROM pg_proc WHERE proname = 'feel'") == []


def test_what_is_restored_belongs_to_who_restores_it_and_is_known_to_the_planner(file: Path, empty: CommandLine, make_app: Maker) -> None:
    role = f"owner_{os.getpid()}"
    empty.conn.execute(f"CREATE ROLE {role}; GRANT CREATE ON SCHEMA public TO {role}")  # pyright: ignore
    try:
        CommandLine(make_app(make_url(empty.app.config["DATABASE_URL"], f"-crole={role}")), empty.conn).does("restore", str(file))
        assert empty.rows("SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'") == [{"tableowner": role}]
        assert empty.rows("SELECT FROM pg_stats WHERE tablename = 'permissions'")
    finally:
        empty.conn.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")  # pyright: ignore


def test_a_tablespace_of_the_other_server_is_not_needed(make_database: Maker, make_app: Maker, empty: CommandLine, tmp_path: Path) -> None:
    url, space = make_database(), f"space_{os.getpid()}"
    with connect(url) as conn:
        conn.execute("SET allow_in_place_tablespaces = on")
        conn.execute(f"CREATE TABLESPACE {space} LOCATION ''")  # pyright: ignore
        try:
            conn.execute(f"ALTER TABLE tags SET TABLESPACE {space}")  # pyright: ignore
            CommandLine(make_app(url), conn).does("backup", str(tmp_path / "x"))
            conn.execute("ALTER TABLE tags SET TABLESPACE pg_default")
        finally:
            conn.execute(f"DROP TABLESPACE {space}")  # pyright: ignore
    empty.does("restore", str(tmp_path / "x"))


def test_a_restore_waits_for_who_migrates(line: CommandLine, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sql.OPTIONS", "-c statement_timeout=200ms -c jit=off")
    with connect(line.app.config["DATABASE_URL"]) as other, other.transaction():
        other.execute(migrate.LOCK)
        said = line.refuses("restore", "--replace", str(file))
    assert said == "The database refuses: canceling statement due to statement timeout."


def test_who_uses_what_is_to_be_replaced_is_not_waited_for_for_ever(file: Path, make_database: Maker, make_app: Maker, monkeypatch) -> None:
    monkeypatch.setattr(restore, "PATIENCE", 1)
    url = make_database()
    with connect(url) as conn, connect(url) as other, other.transaction():
        value(other, "SELECT count(*) FROM events")
        said = CommandLine(make_app(url), conn).refuses("restore", "--replace", str(file))
    assert said == "Nothing was restored, and nothing changed: canceling statement due to lock timeout."


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_a_damaged_backup_leaves_nothing_behind(file: Path, empty: CommandLine, tmp_path: Path, share: float) -> None:
    whole = file.read_bytes()
    damaged = tmp_path / "damaged.dump"
    damaged.write_bytes(whole[: int(len(whole) * share)])
    result = empty.run("restore", str(damaged))
    assert (result.exit_code, result.stdout) == (1, ""), result.stderr
    only_line(result.stderr)
    assert holds_nothing(empty)


def test_a_backup_that_goes_away_meanwhile_replaces_nothing(line: CommandLine, file: Path) -> None:
    before = contents(line.conn)
    gone = replace(restore.read(file), path=file.with_name("gone.dump"))
    with pytest.raises(DatabaseProblem, match="Nothing was restored, and nothing changed, as the backup is damaged: "):
        restore.restore(line.conn, line.app.config["DATABASE_URL"], gone, replace=True, progress=lambda _size: None)
    assert contents(line.conn) == before


def test_a_backup_that_does_not_fit_leaves_the_instance_as_it_was(
    line: CommandLine, make_database: Maker, make_app: Maker, tmp_path
) -> None:
    url = make_database()
    with connect(url) as conn:
        # Which is found out at the end, when the foreign keys are made.
        conn.execute("SET session_replication_role = replica; INSERT INTO flags (name, project_id) VALUES ('f', 'nowhere')")
        CommandLine(make_app(url), conn).does("backup", str(tmp_path / "x"))
    before = contents(line.conn)
    said = line.refuses("restore", "--replace", str(tmp_path / "x"))
    assert said.startswith("Nothing was restored, and nothing changed: ")
    assert contents(line.conn) == before


def test_what_is_no_backup_is_told_so(empty: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("-- a script\nSELECT 1;\n")
    result = empty.run("restore", str(tmp_path / "x"))
    assert result.exit_code == 1
    assert only_line(result.stderr).startswith(f"The file {tmp_path}/x is no backup of ours: ")
    other = make_dump(empty, "CREATE TABLE theirs (id integer)", tmp_path / "y")
    assert only_line(empty.run("restore", str(other)).stderr) == f"The file {other} is no backup of ours: it holds something else."


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--table=schema_version"], "is no backup of all that an instance holds: it lacks what the table "),
        (["--exclude-table-data=tags"], "is no backup of all that an instance holds: it lacks what the table tags held."),
        (["--schema-only"], "is no backup of ours: it holds something else."),
        (["--format=plain"], "is no backup of ours: input file appears to be a text format dump."),
    ],
)
def test_a_part_of_an_instance_replaces_nothing(line: CommandLine, tmp_path: Path, arguments: list[str], said: str) -> None:
    part = make_dump(line, "SELECT", tmp_path / "x", *arguments)
    assert said in line.refuses("restore", "--replace", str(part))


def test_the_dump_of_another_tool_with_such_a_table_replaces_nothing(line: CommandLine, empty: CommandLine, tmp_path: Path) -> None:
    other = make_dump(empty, "CREATE TABLE schema_version AS SELECT 1 AS version, 'init' AS description", tmp_path / "x")
    assert line.refuses("restore", "--replace", str(other)).endswith("is no backup of ours: it holds something else.")


def make_dump(line: CommandLine, statement: str, path: Path, *options: str) -> Path:
    """What pg_dump writes of a database after this statement."""
    line.conn.execute(statement)  # pyright: ignore
    environ, arguments = backup.settings_of(line.app.config["DATABASE_URL"])
    command = [embedded.BINARIES / "pg_dump", "--format=custom", f"--file={path}", *arguments, *options]
    subprocess.run(command, env=environ, check=True)
    return path


def test_a_backup_of_a_newer_version_is_refused(make_database: Maker, make_app: Maker, empty: CommandLine, tmp_path: Path) -> None:
    url = make_database()
    with connect(url) as conn:
        conn.execute("UPDATE schema_version SET version = version + 1")
        CommandLine(make_app(url), conn).does("backup", str(tmp_path / "x"))
    said = only_line(empty.run("restore", str(tmp_path / "x")).stderr)
    wanted = f"schema version {migrate.VERSION + 1}, which is newer than version {migrate.VERSION} of this service. Use a newer service."
    assert said == f"The backup has {wanted}"
    assert holds_nothing(empty)


def test_a_backup_goes_back_into_the_schema_that_it_came_from(file: Path, empty: CommandLine, make_app: Maker) -> None:
    empty.conn.execute("CREATE SCHEMA flags")
    url = make_url(empty.app.config["DATABASE_URL"], "-csearch_path=flags")
    result = make_app(url).test_cli_runner().invoke(args=["restore", str(file)])
    assert "The backup is of the schema public, but the search_path of this database begins with flags." in result.stderr
    assert holds_nothing(empty)


def test_an_instance_in_a_schema_of_its_own_is_backed_up_with_what_is_its_own(empty: CommandLine, make_app: Maker, tmp_path: Path) -> None:
    empty.conn.execute('CREATE SCHEMA "our flags"; CREATE TABLE public.theirs (id integer)')
    own = make_app(make_url(empty.app.config["DATABASE_URL"], "-csearch_path=%22our%5C%20flags%22"))
    for arguments in (["migrate"], ["backup", str(tmp_path / "x")], ["restore", "--replace", str(tmp_path / "x")]):
        result = own.test_cli_runner().invoke(args=arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.stderr
    assert empty.rows("SELECT to_regclass('public.theirs')::text AS theirs, to_regclass('\"our flags\".events')::text AS ours") == [
        {"theirs": "theirs", "ours": '"our flags".events'}
    ]


@pytest.mark.parametrize("schema", ["public", "our flags"])
def test_what_a_server_may_not_be_able_to_make_is_left_out(schema: str) -> None:
    for entry in (f"INDEX {schema} events_tags_trgm", "EXTENSION - pg_trgm", "COMMENT - EXTENSION pg_trgm", f"SCHEMA - {schema}"):
        assert not restore.is_restored(f"4711; 1259 16800 {entry} ada"), entry
    for entry in (f"INDEX {schema} events_type_idx", f"TABLE {schema} events", f"COMMENT {schema} INDEX events_type_idx"):
        assert restore.is_restored(f"4711; 1259 16800 {entry} ada"), entry


@pytest.mark.skipif("TEST_DATABASE_URL" not in os.environ, reason="needs a server beside the private one: TEST_DATABASE_URL")
def test_an_instance_moves_between_servers_of_different_versions(line: CommandLine, file: Path, empty: CommandLine, tmp_path: Path) -> None:
    private = {"DATA_DIR": str(tmp_path / "data")}
    assert flask("restore", str(file), **private).returncode == 0
    assert flask("backup", str(tmp_path / "back.dump"), **private).returncode == 0
    empty.does("restore", str(tmp_path / "back.dump"))
    assert contents(empty.conn) == contents(line.conn)
