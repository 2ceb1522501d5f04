"""flask events: export and prune."""

import gzip
import json
import stat
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from rules.bootstrap import System
from sql import event_retention, events
from sql.database import connect, embedded, value
from sql.events import Event
from tests.conftest import ADMIN_KEY, address_of
from tests.support import fixtures
from tests.support.command_line import FLASK, PATIENCE, ROOT, CommandLine, clean, flask, flask_at_terminal, only_line

NOON = datetime.now(UTC).replace(hour=12, minute=0)
MIDNIGHT = NOON.replace(hour=0, second=0, microsecond=0)
INSERT_MANY = """
    INSERT INTO events (created_at, type, created_by, project)
    SELECT now() - number * interval '1 hour', 'tag-created', 'system', 'p' || number %% 3 FROM generate_series(1, %s) AS number
"""


@pytest.fixture
def log(line: CommandLine) -> CommandLine:
    """The same, with an empty log."""
    line.conn.execute("TRUNCATE events RESTART IDENTITY")
    return line


def add(line: CommandLine, count: int = 1, **fields: Any) -> None:
    """Write events."""
    for _ in range(count):
        fixtures.record(line.conn, fields.pop("type", "tag-created"), fields.pop("by", System()), **fields)


def exported(line: CommandLine, *args: str) -> tuple[list[int], str]:
    """The ids that an export writes, and what it says on stderr."""
    result = line.run("events", "export", *args)
    assert result.exit_code == 0, result.output
    return [json.loads(text)["id"] for text in result.stdout_bytes.splitlines()], result.stderr


def kept(line: CommandLine) -> list[int]:
    """The ids in the log."""
    return [row["id"] for row in line.rows("SELECT id FROM events ORDER BY id")]


# Export


def test_the_lines_are_those_of_the_search(log: CommandLine) -> None:
    add(log, 3, data={"é": "漢字 🎉"}, project="default")
    headers = {"Authorization": ADMIN_KEY, "Accept": "application/x-ndjson"}
    streamed = log.app.test_client().get("/api/admin/search/events", headers=headers).get_data()
    result = log.run("events", "export")
    assert (result.exit_code, result.stdout_bytes) == (0, streamed)
    assert streamed.count(b"\n") == 3
    assert result.stderr == "Wrote 3 events. To continue later: --after 3\n"


def test_each_filter_is_that_of_the_search(log: CommandLine) -> None:
    for number, day in enumerate((3, 2, 1, 0), 1):
        data = {"word": f"Needle-{number}"}
        fixtures.record(
            log.conn,
            ("tag-created", "tag-deleted")[number % 2],
            System(),
            project=f"p{number}",
            feature=f"f{number}",
            data=data,
            created_at=NOON - timedelta(days=day),
        )
        log.conn.execute("UPDATE events SET created_by_user_id = id WHERE id = %s", [number])
    yesterday = f"{NOON - timedelta(days=1):%F}"
    for args, found in (
        ((), [1, 2, 3, 4]),
        (("--project", "p2"), [2]),
        (("--project", "p2", "--project", "p4"), [2, 4]),
        (("--project", "p2,p4"), []),
        (("--type", "tag-deleted"), [1, 3]),
        (("--type", "tag-deleted", "--type", "tag-created", "--project", "p1"), [1]),
        (("--feature", "f3"), [3]),
        (("--created-by", "3", "--created-by", "4"), [3, 4]),
        (("--from", yesterday), [3, 4]),
        (("--to", yesterday), [1, 2, 3]),
        (("--query", "needle-4"), [4]),
        (("--after", "2"), [3, 4]),
        (("--after", "2", "--type", "tag-deleted"), [3]),
    ):
        assert exported(log, *args)[0] == found, args


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--from", "2024-02-30"), "from: must be a valid date"),
        (("--to", "IS:2024-02-03"), "to: must look like 2024-05-31"),
        (("--query", "x" * 1001), "query: must be at most 1000 characters long"),
        (("--output", "/nowhere/file"), "/nowhere/file cannot be created: No such file or directory."),
    ],
)
def test_what_makes_no_sense_is_one_line(line: CommandLine, args: tuple[str, ...], says: str) -> None:
    assert line.refuses("events", "export", *args) == says


def test_an_export_can_be_gone_on_with(log: CommandLine) -> None:
    log.conn.execute(INSERT_MANY, [2500])
    assert exported(log) == (list(range(1, 2501)), "Wrote 2500 events. To continue later: --after 2500\n")
    assert exported(log, "--after", "2500") == ([], "Wrote 0 events. To continue later: --after 2500\n")
    add(log)
    assert exported(log, "--after", "2500") == ([2501], "Wrote 1 events. To continue later: --after 2501\n")
    # What does not match need not be looked at again.
    assert exported(log, "--project", "nowhere") == ([], "Wrote 0 events. To continue later: --after 2501\n")


def test_a_file_is_its_owners_alone_and_never_overwritten(log: CommandLine, tmp_path: Path) -> None:
    log.conn.execute(INSERT_MANY, [3])
    plain, packed = tmp_path / "log.ndjson", tmp_path / "log.ndjson.gz"
    for path in (plain, packed):
        assert exported(log, "--output", str(path)) == ([], "Wrote 3 events. To continue later: --after 3\n")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert f"{path} already exists." in log.refuses("events", "export", "--output", str(path))
    assert plain.read_bytes() == gzip.decompress(packed.read_bytes()) == log.run("events", "export").stdout_bytes


@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_an_open_transaction_ends_an_export_with_a_sentence(
    log: CommandLine, make_app: Callable[..., Any], shared_url: str, tmp_path: Path, where: str
) -> None:
    add(log, 2)
    hurried = CommandLine(make_app(log.app.config["DATABASE_URL"], WAIT_SECONDS=0.1), log.conn)
    path = tmp_path / "log"
    with connect(log.app.config["DATABASE_URL"] if where == "here" else shared_url) as other, other.transaction():
        other.execute("SELECT pg_current_xact_id()")
        refusal = hurried.refuses("events", "export", "--output", str(path))
        assert refusal.startswith("An open transaction on the PostgreSQL server may still write events")
        assert not path.exists()
        # There is nothing to wait for after the newest event.
        assert exported(hurried, "--after", "2") == ([], "Wrote 0 events. To continue later: --after 2\n")
    patient = CommandLine(make_app(log.app.config["DATABASE_URL"], WAIT_SECONDS=30), log.conn)
    assert exported(patient)[0] == [1, 2]


@pytest.mark.slow
def test_an_export_is_complete_after_a_restore_into_a_new_server(log: CommandLine, make_app: Callable[..., Any], tmp_path: Path) -> None:
    # The new server has seen far fewer transactions than the old one, whose ids mean nothing there.
    for _ in range(2000):
        log.conn.execute("SELECT pg_current_xact_id()")
    add(log, 3)
    with log.conn.transaction(force_rollback=True):
        add(log)
    add(log, 2)
    _, said = exported(log)
    log.does("backup", str(tmp_path / "dump"))
    server = embedded.Server(tmp_path / "data")
    try:
        with connect(server.ensure()) as conn:
            conn.execute("CREATE DATABASE restored")
            url = address_of(server.ensure(), "restored")
        with connect(url) as conn:
            new = CommandLine(make_app(url), conn)
            new.does("restore", str(tmp_path / "dump"))
            assert (
                value(conn, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
                < log.rows("SELECT min(xmin::text::bigint) AS oldest FROM events")[0]["oldest"]
            )
            assert new.run("events", "export").stdout_bytes == log.run("events", "export").stdout_bytes
            # A reader of the old server goes on here.
            assert said == "Wrote 5 events. To continue later: --after 6\n"
            assert exported(new, "--after", "6")[0] == []
            add(new, 2)
            assert exported(new, "--after", "6")[0] == [7, 8]
            with connect(url) as other, other.transaction():
                events.record(other, Event("tag-created", System()))
                add(new)
                hurried = CommandLine(make_app(url, WAIT_SECONDS=0.1), conn)
                assert hurried.run("events", "export", "--after", "8").exit_code == 1
            assert exported(new, "--after", "8")[0] == [9, 10]
    finally:
        server.release()


@pytest.mark.slow
def test_a_closed_pipe_is_no_error(log: CommandLine) -> None:
    log.conn.execute(INSERT_MANY, [5000])
    command = f"'{FLASK}' --app app events export | head -n 1; echo ${{PIPESTATUS[0]}}"
    environ = clean({"DATABASE_URL": log.app.config["DATABASE_URL"]})
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, env=environ, capture_output=True, text=True, timeout=PATIENCE)
    first, status = done.stdout.splitlines()
    assert (json.loads(first)["id"], status, done.stderr) == (1, "1", "")


@pytest.mark.slow
def test_a_terminal_shows_how_far_it_is(log: CommandLine, tmp_path: Path) -> None:
    log.conn.execute(INSERT_MANY, [3000])
    url = log.app.config["DATABASE_URL"]
    status, screen = flask_at_terminal("events", "export", "--output", str(tmp_path / "log"), typed=[], DATABASE_URL=url)
    assert (status, "Exporting" in screen, "100%" in screen, "Wrote 3000 events" in screen) == (0, True, True, True)
    status, screen = flask_at_terminal("events", "prune", "--days", "30", typed=[], DATABASE_URL=url)
    assert (status, "Deleting" in screen, "100%" in screen) == (0, True, True)
    done = flask("events", "export", "--output", str(tmp_path / "other"), DATABASE_URL=url)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("Wrote ")


# Prune


def test_whole_days_are_kept_and_what_is_older_goes(log: CommandLine) -> None:
    moment = timedelta(microseconds=1)
    instants = [MIDNIGHT - timedelta(days=days) + more for days in (400, 31, 30, 29, 0) for more in (-moment, timedelta(0))]
    for at in instants:
        add(log, created_at=at)
    first_day = f"{MIDNIGHT - timedelta(days=30):%F}"
    before = kept(log)
    assert log.does("events", "prune", "--days", "30", "--dry-run") == f"Would delete 5 events before {first_day} (UTC).\n"
    assert kept(log) == before == list(range(1, 11))
    assert log.does("events", "prune", "--days", "30") == f"Deleted 5 events before {first_day} (UTC).\n"
    assert kept(log) == [6, 7, 8, 9, 10]
    assert log.does("events", "prune", "--days", "30") == f"Deleted 0 events before {first_day} (UTC).\n"


def test_the_setting_says_how_long_unless_the_command_does(log: CommandLine, make_app: Callable[..., Any]) -> None:
    for days in (5, 15, 25):
        add(log, created_at=NOON - timedelta(days=days))
    set_to_20 = CommandLine(make_app(log.app.config["DATABASE_URL"], EVENT_RETENTION_DAYS=20), log.conn)
    assert "Would delete 2 events" in set_to_20.does("events", "prune", "--days", "10", "--dry-run")
    assert "Deleted 1 events" in set_to_20.does("events", "prune")
    assert kept(log) == [1, 2]


def test_for_ever_is_the_default_and_is_not_pruned(log: CommandLine) -> None:
    add(log, created_at=NOON - timedelta(days=10000))
    for args in ((), ("--dry-run",)):
        assert log.refuses("events", "prune", *args) == "EVENT_RETENTION_DAYS is 0: events are kept for ever. Set it, or use --days."
    assert log.run("events", "prune", "--days", "0").exit_code == 2


def test_a_prune_goes_by_batches_that_are_each_committed(log: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_retention, "MOST_AT_ONCE", 7)
    log.conn.execute(INSERT_MANY, [2000])
    # Many of one instant, more than a batch holds.
    log.conn.execute("UPDATE events SET created_at = now() - interval '70 days' WHERE id % 10 = 3")
    first_day = f"{MIDNIGHT - timedelta(days=30):%F}"
    old = log.rows("SELECT count(*) AS number FROM events WHERE created_at < %s", MIDNIGHT - timedelta(days=30))[0]["number"]
    log.conn.execute("CREATE TABLE batches (number integer)")
    log.conn.execute(
        "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS "
        "$$BEGIN INSERT INTO batches SELECT count(*) FROM gone; RETURN NULL; END$$; "
        "CREATE TRIGGER note AFTER DELETE ON events REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION note()"
    )
    with log.altered("SELECT 1", "DROP TRIGGER note ON events; DROP FUNCTION note; DROP TABLE batches"):
        assert log.does("events", "prune", "--days", "30") == f"Deleted {old} events before {first_day} (UTC).\n"
        written = [row["number"] for row in log.rows("SELECT number, xmin::text FROM batches ORDER BY ctid") if row["number"]]
        assert written == [7] * (old // 7) + ([old % 7] if old % 7 else [])
        transactions = log.rows("SELECT count(DISTINCT xmin::text) AS number, count(*) AS batches FROM batches")[0]
        assert transactions["number"] == transactions["batches"]
    assert len(kept(log)) == 2000 - old


def test_the_totals_of_the_searches_are_right_after_every_batch(log: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_retention, "MOST_AT_ONCE", 97)
    log.conn.execute(INSERT_MANY, [1000])
    client = log.app.test_client()
    day = MIDNIGHT.date() - timedelta(days=38)
    searches = {
        "": "true",
        "?project=IS:p1": "project = 'p1'",
        "?project=IS:p1&type=IS:tag-created": "project = 'p1'",
        f"?to=IS:{day}": f"(created_at AT TIME ZONE 'UTC')::date <= '{day}'",
        f"?from=IS:{day}&to=IS:{day}": f"(created_at AT TIME ZONE 'UTC')::date = '{day}'",
    }
    work, batches, number = event_retention.Prune(MIDNIGHT.date() - timedelta(days=30)), 0, None
    while number != 0:
        with log.conn.transaction():
            number = work.delete_some(log.conn)
        batches += 1
        for query, condition in searches.items():
            said = client.get(f"/api/admin/search/events{query}", headers={"Authorization": ADMIN_KEY}).json["total"]
            assert said == log.rows(f"SELECT count(*) AS number FROM events WHERE {condition}")[0]["number"], query
    assert batches > 3


def test_two_prunes_at_once_delete_everything_once(log: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    log.conn.execute(INSERT_MANY, [2000])
    monkeypatch.setattr(event_retention, "MOST_AT_ONCE", 10)
    first_day = MIDNIGHT.date() - timedelta(days=30)
    old = event_retention.count(log.conn, first_day)

    def prune() -> int:
        work = event_retention.Prune(first_day)
        with connect(log.app.config["DATABASE_URL"]) as conn:
            number = None
            while number != 0:
                with conn.transaction():
                    number = work.delete_some(conn)
        return work.number

    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(prune) for _ in range(2)]
        numbers = [one.result() for one in both]
    assert sum(numbers) == old
    assert all(numbers)
    assert event_retention.count(log.conn, first_day) == 0


def test_writers_do_not_wait_for_a_prune_nor_a_prune_for_them(log: CommandLine) -> None:
    add(log, created_at=NOON - timedelta(days=100))
    with connect(log.app.config["DATABASE_URL"]) as other, other.transaction():
        events.record(other, Event("tag-created", System()))
        assert "Deleted 1 events" in log.does("events", "prune", "--days", "30")
        with log.conn.transaction():
            event_retention.Prune(MIDNIGHT.date()).delete_some(log.conn)
            other.execute("SET LOCAL lock_timeout = '1s'")
            events.record(other, Event("tag-created", System()))
    assert kept(log) == [2, 3]


@pytest.mark.parametrize("options", [("--days", "x"), ("--days", "-1"), ("--days", "36501")])
def test_a_number_of_days_that_makes_no_sense_is_refused(line: CommandLine, options: tuple[str, ...]) -> None:
    assert line.run("events", "prune", *options).exit_code == 2


@pytest.mark.slow
def test_both_are_commands_of_the_service(log: CommandLine) -> None:
    url = log.app.config["DATABASE_URL"]
    add(log, created_at=NOON - timedelta(days=100))
    assert flask("events", "export", DATABASE_URL=url).stdout.count("\n") == 1
    done = flask("events", "prune", DATABASE_URL=url)
    assert (done.returncode, only_line(done.stderr)[:20]) == (1, "EVENT_RETENTION_DAYS")
    assert "Deleted 1 events" in flask("events", "prune", DATABASE_URL=url, EVENT_RETENTION_DAYS="99").stdout
