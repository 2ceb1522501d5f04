"""flags doctor: what it says of a database that is not as it should be, and of its standbys."""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from commands import program
from sql.database import connect, value
from tests.support.command_line import CommandLine, run_flags
from tests.support.doctor import about, parsed
from tests.support.embedded_server import own_server
from tests.support.service import wait_until
from tests.support.silent_proxy import Proxy
from tests.support.standby import standby_of

Maker = Callable[..., Any]


@pytest.fixture
def line(make_database: Maker, make_app: Maker) -> Iterator[CommandLine]:
    """The command line on a database of its own."""
    url = make_database()
    with connect(url) as conn:
        yield CommandLine(make_app(url, BCRYPT_ROUNDS=12), conn)


# --- The way there ----------------------------------------------------------------------------------------------------


@pytest.mark.skipif("TEST_DATABASE_URL" in os.environ, reason="the way leads to the socket of a private server")
@pytest.mark.parametrize(("name", "is_told"), [("db.example.org", True), ("localhost", False)])
def test_an_unencrypted_network_connection_is_a_warning(
    line: CommandLine, make_app: Maker, name: str, is_told: bool
) -> None:
    with Proxy(line.app.config["DATABASE_URL"]) as proxy:
        url = f"{proxy.url.replace('@127.0.0.1', f'@{name}')}?hostaddr=127.0.0.1"
        result = make_app(url).test_cli_runner().invoke(program, ["doctor"])
    found = of(result.stdout, "database")
    assert len(found) == 1 + is_told
    assert any(grade == "warn" and "not encrypted" in sentence for grade, sentence in found) is is_told


# --- Rights -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def clerk(line: CommandLine, make_app: Maker) -> Iterator[CommandLine]:
    """The command line as another database user, with the rights of the service."""
    role = f"clerk_{line.conn.info.dbname}"
    line.conn.execute(
        f"CREATE ROLE {role}; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}"
    )  # pyright: ignore
    line.conn.execute(
        f"CREATE FUNCTION deny(what text) RETURNS void LANGUAGE plpgsql AS $$BEGIN EXECUTE what || ' {role}'; END$$"
    )  # pyright: ignore
    url = line.app.config["DATABASE_URL"]
    options = quote(f"-crole={role}")
    yield CommandLine(make_app(f"{url}{'&' if '?' in url else '?'}options={options}", BCRYPT_ROUNDS=12), line.conn)
    line.conn.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")  # pyright: ignore


def test_a_role_with_the_rights_of_the_service_is_fine(clerk: CommandLine) -> None:
    for right in (
        *("INSERT, UPDATE, DELETE ON schema_version, permissions", "UPDATE, DELETE ON past_flag_states"),
        "UPDATE, DELETE ON events",
    ):
        clerk.conn.execute("SELECT deny(%s)", [f"REVOKE {right} FROM"])
    status, grade, sentence = about(clerk, "privileges")
    assert (status, grade) == (0, "ok")
    assert re.fullmatch(r"The role clerk_\w+ has the privileges that the service needs\.", sentence)


@pytest.mark.parametrize("right", ["UPDATE", "DELETE"])
def test_a_role_that_can_change_events_is_a_warning_unless_the_role_owns_them(
    clerk: CommandLine, line: CommandLine, right: str
) -> None:
    clerk.conn.execute("SELECT deny(%s)", [f"REVOKE {'DELETE' if right == 'UPDATE' else 'UPDATE'} ON events FROM"])
    status, grade, sentence = about(clerk, "privileges")
    assert (status, grade) == (0, "warn")
    assert sentence.endswith(" can change or delete events. Run deploy/grants.sql (docs/how-to/deploy.md).")
    assert about(line, "privileges")[1] == "ok"


@pytest.mark.parametrize(
    ("right", "message"),
    [
        ("INSERT ON events, users", "cannot insert into events, users"),
        ("SELECT ON schema_version", "cannot read schema_version"),
        ("SELECT ON project_memberships", "cannot read project_memberships"),
    ],
)
def test_a_missing_right_is_named(clerk: CommandLine, right: str, message: str) -> None:
    clerk.conn.execute("SELECT deny(%s)", ["REVOKE UPDATE, DELETE ON events FROM"])
    clerk.conn.execute("SELECT deny(%s)", [f"REVOKE {right} FROM"])
    status, grade, sentence = about(clerk, "privileges")
    assert (status, grade) == (1, "FAIL")
    assert sentence.endswith(f" {message}. Run deploy/grants.sql (docs/how-to/deploy.md).")


def test_a_schema_that_the_role_cannot_use_is_a_failure(clerk: CommandLine) -> None:
    clerk.conn.execute("REVOKE USAGE ON SCHEMA public FROM public")
    try:
        status, grade, sentence = about(clerk, "schema")
    finally:
        clerk.conn.execute("GRANT USAGE ON SCHEMA public TO public")
    assert (status, grade) == (1, "FAIL")
    assert " cannot use the schema. Run deploy/grants.sql" in sentence


# --- The schema -------------------------------------------------------------------------------------------------------


def test_a_restored_instance_has_the_schema_of_schema_sql(
    line: CommandLine, empty: CommandLine, tmp_path: Path
) -> None:
    line.does("backup", str(tmp_path / "x"))
    empty.does("restore", str(tmp_path / "x"))
    assert empty.does("schema-diff") == "The schema is the same as in schema.sql.\n"
    # The temporary database is gone.
    assert empty.rows("SELECT FROM pg_database WHERE datname LIKE 'flags\\_schema\\_%%'") == []


@pytest.mark.parametrize(
    ("change", "line_of_diff"),
    [
        (
            "ALTER TABLE flags DROP COLUMN impression_data CASCADE",
            "-    impression_data boolean DEFAULT false NOT NULL,",
        ),
        ("ALTER TABLE flags ADD mine integer", "+    mine integer,"),
        (
            "DROP INDEX events_type_idx",
            "-CREATE INDEX events_type_idx ON public.events USING btree (type, created_at, id);",
        ),
        (
            "ALTER TABLE flags DISABLE TRIGGER keep_past_flag_states",
            "+ALTER TABLE public.flags DISABLE TRIGGER keep_past_flag_states;",
        ),
        (
            (
                "CREATE OR REPLACE FUNCTION keep_past_group_user() "
                "RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'"
            ),
            "+    AS $$BEGIN RETURN NULL; END$$;",
        ),
    ],
)
def test_differences_from_schema_sql_are_shown(line: CommandLine, change: str, line_of_diff: str) -> None:
    line.conn.execute(change)  # pyright: ignore
    result = line.run("schema-diff")
    assert (result.exit_code, result.stderr) == (1, "")
    assert line_of_diff in result.stdout.splitlines(), result.stdout


# --- Standbys ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_standby_is_shown_on_both_servers() -> None:
    with own_server() as first, standby_of(first) as second:
        environ = {"DATABASE_URL": first.url, "BCRYPT_ROUNDS": "12"}
        assert run_flags("migrate", **environ).returncode == 0
        with connect(first.url) as conn, connect(second.url) as follower:
            wait_until(
                lambda: value(conn, "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'") == 1,
                "it streamed",
            )
            conn.execute("CREATE TABLE early (id integer)")
            wait_until(lambda: value(follower, "SELECT to_regclass('early') IS NOT NULL"), "it showed a change")
            [(grade, sentence)] = of(run_flags("doctor", **environ).stdout, "standby")
            assert (grade, sentence) == ("ok", "second is 0 MB and 0 s behind.")
            follower.execute("SELECT pg_wal_replay_pause()")
            wait_until(lambda: value(follower, "SELECT pg_get_wal_replay_pause_state()") == "paused", "it paused")
            # As much as 17 MB of changes.
            for _ in range(17):
                conn.execute("SELECT pg_logical_emit_message(false, 'x', repeat('x', 1000000))")
            conn.execute("CREATE TABLE late (id integer)")
            wait_until(lambda: value(follower, STREAMED), "it had got all of that")
            [(grade, sentence)] = of(run_flags("doctor", **environ).stdout, "standby")
            assert grade == "warn"
            assert sentence.startswith("second is 1")
            done = run_flags("doctor", DATABASE_URL=second.url)
            [(grade, sentence)] = of(done.stdout, "database")
            assert (done.returncode, grade) == (1, "FAIL")
            assert sentence == "This PostgreSQL is a read-only standby. Set DATABASE_URL to the primary server."
            follower.execute("SELECT pg_wal_replay_resume()")
            wait_until(lambda: value(follower, "SELECT to_regclass('late') IS NOT NULL"), "it was there")
            conn.execute("SELECT pg_create_physical_replication_slot('away', true)")
            away, _ = of(run_flags("doctor", **environ).stdout, "standby")
            assert away[0] == "warn"
            assert re.fullmatch(
                r"away is disconnected\. \d+ MB of WAL are kept for it\. Start it, or drop its replication slot\.",
                away[1],
            )


STREAMED = "SELECT pg_last_wal_receive_lsn() > pg_last_wal_replay_lsn() + 17000000"


def of(text: str, wanted: str) -> list[tuple[str, str]]:
    """Grade and sentence of each line about something."""
    return [(grade, sentence) for grade, subject, sentence in parsed(text) if subject == wanted]
