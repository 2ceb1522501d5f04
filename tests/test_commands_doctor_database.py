"""flask doctor: what it says of a database that is not as it should be, and of its standbys."""

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from sql import connect, embedded, migrate, rows, server, value
from tests.command_line import CommandLine, flask
from tests.service import wait_until
from tests.silent_proxy import Proxy
from tests.test_commands_doctor import about, parsed

Maker = Callable[..., Any]


@pytest.fixture
def line(make_database: Maker, make_app: Maker) -> Iterator[CommandLine]:
    """The command line on a database of its own."""
    url = make_database()
    with connect(url) as conn:
        yield CommandLine(make_app(url, BCRYPT_ROUNDS=12), conn)


# --- The way there --------------------------------------------------------------------------------------------------------------------


@pytest.mark.skipif("TEST_DATABASE_URL" in os.environ, reason="the way leads to the socket of a private server")
@pytest.mark.parametrize(("name", "is_told"), [("db.example.org", True), ("localhost", False)])
def test_a_database_that_is_asked_unencrypted_over_a_network_is_told_of(
    line: CommandLine, make_app: Maker, name: str, is_told: bool
) -> None:
    with Proxy(line.app.config["DATABASE_URL"]) as proxy:
        url = f"{proxy.url.replace('@127.0.0.1', f'@{name}')}?hostaddr=127.0.0.1"
        result = make_app(url).test_cli_runner().invoke(args=["doctor"])
    found = of(result.stdout, "database")
    assert len(found) == 1 + is_told
    assert (found[0][0] == "warn" and "unencrypted" in found[0][1]) is is_told


def test_a_clock_that_is_ahead_is_told_of(line: CommandLine, make_app: Maker) -> None:
    line.conn.execute("""
        CREATE SCHEMA ahead;
        CREATE FUNCTION ahead.clock_timestamp() RETURNS timestamptz LANGUAGE sql
            RETURN pg_catalog.clock_timestamp() + interval '100 seconds'
    """)
    url = line.app.config["DATABASE_URL"]
    ahead = make_app(f"{url}{'&' if '?' in url else '?'}options={quote('-csearch_path=ahead,pg_catalog')}")
    [(grade, sentence)] = of(ahead.test_cli_runner().invoke(args=["doctor"]).stdout, "clock")
    assert grade == "warn"
    assert re.fullmatch(r"The clocks of this machine and of the database differ by (100|99)\.\d s\. .*", sentence)


# --- Rights ---------------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def clerk(line: CommandLine, make_app: Maker) -> Iterator[CommandLine]:
    """The command line as a database user of his own, who may do what the service does."""
    role = f"clerk_{line.conn.info.dbname}"
    line.conn.execute(f"CREATE ROLE {role}; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}")  # pyright: ignore
    line.conn.execute(f"CREATE FUNCTION deny(what text) RETURNS void LANGUAGE plpgsql AS $$BEGIN EXECUTE what || ' {role}'; END$$")  # pyright: ignore
    url = line.app.config["DATABASE_URL"]
    options = quote(f"-crole={role}")
    yield CommandLine(make_app(f"{url}{'&' if '?' in url else '?'}options={options}", BCRYPT_ROUNDS=12), line.conn)
    line.conn.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")  # pyright: ignore


def test_who_may_do_what_the_service_does_is_told_so(clerk: CommandLine) -> None:
    assert about(clerk, "rights") == (0, "ok", "The database user may do what the service does.")
    # More is not asked for.
    for right in ("INSERT, UPDATE, DELETE ON schema_version, permissions", "UPDATE, DELETE ON past_flag_states"):
        clerk.conn.execute("SELECT deny(%s)", [f"REVOKE {right} FROM"])
    assert about(clerk, "rights")[1] == "ok"


@pytest.mark.parametrize(
    ("right", "said"),
    [
        ("INSERT ON events, users", "The database user may not INSERT at events, users."),
        ("SELECT ON schema_version", "The database user may not SELECT at schema_version."),
        ("SELECT ON project_memberships", "The database user may not SELECT at project_memberships."),
    ],
)
def test_a_right_that_is_lacking_is_named(clerk: CommandLine, right: str, said: str) -> None:
    clerk.conn.execute("SELECT deny(%s)", [f"REVOKE {right} FROM"])
    assert about(clerk, "rights") == (1, "FAIL", f"{said} Grant it, as docs/deploy.md says.")


def test_a_schema_that_may_not_be_used_is_told_of(clerk: CommandLine) -> None:
    clerk.conn.execute("REVOKE USAGE ON SCHEMA public FROM public")
    try:
        status, grade, sentence = about(clerk, "rights")
    finally:
        clerk.conn.execute("GRANT USAGE ON SCHEMA public TO public")
    assert (status, grade) == (1, "FAIL")
    assert "GRANT USAGE ON SCHEMA public" in sentence


# --- The schema -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        ("DROP TABLE user_seen_days", "the table user_seen_days, the column user_seen_days.user_id"),
        ("ALTER TABLE flags DROP COLUMN impression_data CASCADE", "the column flags.impression_data"),
        ("DROP VIEW project_memberships", "the view project_memberships"),
        ("DROP INDEX events_type_idx", "the index events_type_idx"),
        ("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'events_type_idx'::regclass", "the index events_type_idx"),
        ("DROP TRIGGER keep_past_group_user ON group_users", "the trigger keep_past_group_user"),
        ("ALTER TABLE flags DISABLE TRIGGER keep_past_flag_states", "the trigger keep_past_flag_states"),
        ("DROP FUNCTION iso(timestamptz)", "the function iso"),
        (
            "CREATE OR REPLACE FUNCTION keep_past_group_user() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
            "the function keep_past_group_user as it was",
        ),
    ],
)
def test_a_schema_that_lacks_something_is_a_failure_whatever_version_it_says(line: CommandLine, change: str, missing: str) -> None:
    line.conn.execute(change)  # pyright: ignore
    status, grade, sentence = about(line, "schema")
    assert (status, grade) == (1, "FAIL")
    assert sentence.startswith(f"It has version {migrate.VERSION}, but not {missing}")
    assert "made before the first release" in sentence


def test_all_that_the_schema_makes_is_looked_for(line: CommandLine) -> None:
    found = server.parts()
    assert {kind for kind, names in found.items() if names} == {"table", "view", "trigger", "function", "index", "column"}
    assert {"users", "events", "usage_metrics"} <= set(found["table"])
    assert {"flags.first_in_production_at", "schema_version.version"} <= set(found["column"])
    assert "keep_past_flag_states" in server.bodies()
    columns = rows(line.conn, "SELECT FROM information_schema.columns JOIN pg_tables ON tablename = table_name WHERE schemaname = 'public'")
    assert len(columns) == len(found["column"])


# --- Standbys -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_standby_is_told_of_by_itself_and_by_the_server_that_it_follows(tmp_path: Path) -> None:
    first = embedded.Server(tmp_path / "first")
    url = first.ensure()
    second = embedded.Server(tmp_path / "second")
    try:
        environ = {"DATABASE_URL": url, "BCRYPT_ROUNDS": "12"}
        assert flask("migrate", **environ).returncode == 0
        copy_of(first, second)
        standby = second.ensure()
        with connect(url) as conn, connect(standby) as follower:
            wait_until(lambda: value(conn, "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'") == 1, "it streamed")
            conn.execute("CREATE TABLE early (id integer)")
            wait_until(lambda: value(follower, "SELECT to_regclass('early') IS NOT NULL"), "it showed a change")
            [(grade, sentence)] = of(flask("doctor", **environ).stdout, "standby")
            assert (grade, sentence) == ("ok", "second follows, 0 MB behind.")
            follower.execute("SELECT pg_wal_replay_pause()")
            wait_until(lambda: value(follower, "SELECT pg_get_wal_replay_pause_state()") == "paused", "it paused")
            # As much as 17 MB of changes.
            for _ in range(17):
                conn.execute("SELECT pg_logical_emit_message(false, 'x', repeat('x', 1000000))")
            conn.execute("CREATE TABLE late (id integer)")
            wait_until(lambda: value(follower, STREAMED), "it had got all of that")
            [(grade, sentence)] = of(flask("doctor", **environ).stdout, "standby")
            assert grade == "warn"
            assert sentence.startswith("second is 1")
            done = flask("doctor", DATABASE_URL=standby)
            [(grade, sentence)] = of(done.stdout, "database")
            assert (done.returncode, grade) == (1, "FAIL")
            assert sentence.startswith("It is a standby, which can only be read; it is 1")
            assert " MB behind what it was sent; its last change is " in sentence
            follower.execute("SELECT pg_wal_replay_resume()")
            wait_until(lambda: value(follower, "SELECT to_regclass('late') IS NOT NULL"), "it was there")
            conn.execute("SELECT pg_create_physical_replication_slot('away', true)")
            away, _ = of(flask("doctor", **environ).stdout, "standby")
            assert away[0] == "warn"
            assert re.fullmatch(r"away is away; \d+ MB of the server's disk are kept for it\. Bring it back, or drop its slot\.", away[1])
    finally:
        second.release()
        first.release()


STREAMED = "SELECT pg_last_wal_receive_lsn() > pg_last_wal_replay_lsn() + 17000000"


def of(text: str, wanted: str) -> list[tuple[str, str]]:
    """Grade and sentence of each line about something."""
    return [(grade, sentence) for grade, subject, sentence in parsed(text) if subject == wanted]


def copy_of(first: embedded.Server, second: embedded.Server) -> None:
    """Make the data of a standby, which follows the first under the name second."""
    second.folder.mkdir()
    owner = first.cluster.stat()
    os.chown(second.folder, owner.st_uid, owner.st_gid)
    account = embedded.account_for(first.folder) if os.geteuid() == 0 else None
    source = f"host={first.folder / 'socket'} user=postgres application_name=second"
    command = [embedded.BINARIES / "pg_basebackup", f"--dbname={source}", f"--pgdata={second.cluster}", "--write-recovery-conf"]
    subprocess.run(
        [*(account.prefix if account else ()), *command, "--checkpoint=fast", "--wal-method=stream"], check=True, capture_output=True
    )
