"""flags events export and prune: lines, filters, files and interruptions; what is deleted, and in which batches."""

import gzip
import json
import shlex
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from rules.access import SYSTEM
from sql import event_retention, events
from sql.database import connect, value
from sql.events import Event
from tests.support import fixtures
from tests.support.command_line import FLAGS, PATIENCE, ROOT, CommandLine, clean, run_flags, run_flags_at_terminal
from tests.support.embedded_server import own_server
from tests.support.instance import ADMIN_KEY, address_of
from tests.support.world import Caller

EXPORT, PRUNE = ("events", "export"), ("events", "prune")
INSERT_MANY = """
    INSERT INTO events (created_at, type, created_by, project)
    SELECT now() - number * interval '1 hour', 'tag-created', 'system', 'p' || number %% 3
      FROM generate_series(1, %s) AS number
"""


def midnight(days=0):
    """The beginning of today in UTC, or of the day so many days ago."""
    return datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=days)


def add(line, count=1, **fields):
    """Write events."""
    for _ in range(count):
        fixtures.record(line.conn, fields.pop("type", "tag-created"), SYSTEM, **fields)


def exported(line, *args):
    """The ids that an export writes, and what it says on stderr."""
    result = line.run(*EXPORT, *args)
    assert result.exit_code == 0, result.output
    return [json.loads(text)["id"] for text in result.stdout_bytes.splitlines()], result.stderr


def kept(line):
    """The ids in the log."""
    return [row["id"] for row in line.rows("SELECT id FROM events ORDER BY id")]


# Export


def test_the_lines_are_those_of_the_search(log):
    add(log, 3, data={"é": "漢字 🎉"}, project="default")
    headers = {"Authorization": ADMIN_KEY, "Accept": "application/x-ndjson"}
    streamed = log.app.test_client().get("/api/admin/search/events", headers=headers).get_data()
    result = log.run(*EXPORT)
    assert (result.exit_code, result.stdout_bytes) == (0, streamed)
    assert streamed.count(b"\n") == 3
    assert result.stderr == "Wrote 3 events. To continue later: --after 3\n"


def test_each_filter_works_as_in_the_search(log):
    for number, day in enumerate((3, 2, 1, 0), 1):
        fixtures.record(
            log.conn,
            ("tag-created", "tag-deleted")[number % 2],
            SYSTEM,
            project=f"p{number}",
            feature=f"f{number}",
            data={"word": f"Needle-{number}"},
            created_at=midnight(day) + timedelta(hours=12),
        )
        log.conn.execute("UPDATE events SET created_by_user_id = id WHERE id = %s", [number])
    yesterday = f"{midnight(1):%F}"
    for args, found in (
        ((), [1, 2, 3, 4]),
        (("--project", "p2"), [2]),
        (("--project", "p2", "--project", "p4"), [2, 4]),
        (("--type", "tag-deleted"), [1, 3]),
        (("--type", "tag-deleted", "--type", "tag-created", "--project", "p1"), [1]),
        (("--feature", "f3"), [3]),
        (("--created-by", "3", "--created-by", "4"), [3, 4]),
        (("--token", "1"), []),
        (("--token", "999", "--project", "p1"), []),
        (("--from", yesterday), [3, 4]),
        (("--to", yesterday), [1, 2, 3]),
        (("--query", "needle-4"), [4]),
        (("--after", "2"), [3, 4]),
        (("--after", "2", "--type", "tag-deleted"), [3]),
    ):
        assert exported(log, *args)[0] == found, args


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--from", "2024-02-30"), "from: must be a valid date"),
        (("--to", "IS:2024-02-03"), "to: must look like 2024-05-31"),
        (("--query", "x" * 1001), "query: must be at most 1000 characters long"),
        (("--type", "flag-created"), "type: unknown event type flag-created"),
        (
            ("--feature", "payy", "--created-by", "999999"),
            "feature: unknown flag payy; created-by: unknown user 999999",
        ),
        (("--project", "p2,p4"), "project: unknown project p2,p4"),
        (("--output", "/nowhere/file"), "/nowhere/file cannot be created: No such file or directory."),
    ],
)
def test_an_invalid_option_is_refused_in_one_line(line, args, message):
    assert line.refuses(*EXPORT, *args) == message


def test_projects_flags_and_users_without_events_are_known(log):
    response = Caller(log.app, ADMIN_KEY).post("/api/admin/projects/default/features", json={"name": "quiet"})
    assert response.status_code == 201
    log.conn.execute("TRUNCATE events")
    for filters in (("--project", "default"), ("--feature", "quiet"), ("--created-by", "1")):
        assert exported(log, *filters)[0] == []


def test_the_changes_of_a_deleted_token_are_found(log):
    secret = log.does("api-token", "create", "--name", "stolen", "--type", "admin").strip()
    thief = Caller(log.app, secret)
    assert thief.post("/api/admin/tag-types", json={"name": "by-thief"}).status_code == 201
    assert thief.post("/api/admin/api-tokens", json={"tokenName": "second", "type": "admin"}).status_code == 201
    log.does("api-token", "revoke", "2")
    types = [json.loads(line)["type"] for line in log.does(*EXPORT, "--token", "2").splitlines()]
    assert types == ["tag-type-created", "api-token-created"]


def test_an_export_can_be_continued(log):
    log.conn.execute(INSERT_MANY, [2500])
    assert exported(log) == (list(range(1, 2501)), "Wrote 2500 events. To continue later: --after 2500\n")
    assert exported(log, "--after", "2500") == ([], "Wrote 0 events. To continue later: --after 2500\n")
    add(log)
    assert exported(log, "--after", "2500") == ([2501], "Wrote 1 event. To continue later: --after 2501\n")
    # What does not match need not be looked at again.
    assert exported(log, "--query", "nowhere") == ([], "Wrote 0 events. To continue later: --after 2501\n")


def test_a_file_is_readable_by_its_owner_only_and_never_overwritten(log, tmp_path, monkeypatch):
    log.conn.execute(INSERT_MANY, [3])
    plain, packed = tmp_path / "log.ndjson", tmp_path / "log.ndjson.gz"
    for path in (plain, packed):
        assert exported(log, "--output", str(path)) == ([], "Wrote 3 events. To continue later: --after 3\n")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert f"{path} already exists." in log.refuses(*EXPORT, "--output", str(path))
    assert plain.read_bytes() == gzip.decompress(packed.read_bytes()) == log.run(*EXPORT).stdout_bytes
    # A hyphen is stdout, also where a file has that name.
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-").mkdir()
    assert exported(log, "--output", "-")[0] == [1, 2, 3]


WROTE_NOTHING = "Wrote 0 events. To continue later: --after 0\n"


@pytest.mark.parametrize(
    ("script", "summary"),
    [
        ("exec {} events export > /dev/full", WROTE_NOTHING),
        pytest.param('ulimit -f 8; exec {} events export --output "$1"', WROTE_NOTHING, marks=pytest.mark.slow),
        pytest.param("exec {} user list > /dev/full", "", marks=pytest.mark.slow),
        pytest.param("exec {} doctor > /dev/full", "", marks=pytest.mark.slow),
        pytest.param("exec {} --help > /dev/full", "", marks=pytest.mark.slow),
        pytest.param("ulimit -f 8; head -c 99999 /dev/zero | {} restore -", "", marks=pytest.mark.slow),
    ],
)
def test_a_full_disk_is_reported_in_one_line(log, tmp_path, script, summary):
    add(log, 200)
    environ = clean({"DATABASE_URL": log.app.config["DATABASE_URL"]})
    command = ["bash", "-c", script.format(shlex.join(FLAGS)), "bash", str(tmp_path / "x")]
    done = subprocess.run(command, cwd=ROOT, env=environ, stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
    assert done.returncode == 1
    reason = "No space left on device" if "/dev/full" in script else "File too large"
    assert done.stderr == f"{summary}Error: The output or a temporary file cannot be written: {reason}.\n"


@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_an_open_transaction_ends_an_export_with_a_sentence(log, url, with_settings, shared_url, tmp_path, where):
    add(log, 2)
    hurried = with_settings(WAIT_SECONDS=0.1)
    path = tmp_path / "log"
    with connect(url if where == "here" else shared_url) as other, other.transaction():
        other.execute("SELECT pg_current_xact_id()")
        refusal = hurried.refuses(*EXPORT, "--output", str(path))
        assert refusal.startswith("An open transaction in PostgreSQL can still write events")
        assert not path.exists()
        # There is nothing to wait for after the newest event.
        assert exported(hurried, "--after", "2") == ([], "Wrote 0 events. To continue later: --after 2\n")
    assert exported(with_settings(WAIT_SECONDS=30))[0] == [1, 2]


@pytest.mark.slow
def test_an_export_is_complete_after_a_restore_into_a_new_server(log, make_app, tmp_path):
    # The new server has seen far fewer transactions than the old one, whose ids mean nothing there.
    for _ in range(2000):
        log.conn.execute("SELECT pg_current_xact_id()")
    add(log, 3)
    with log.conn.transaction(force_rollback=True):
        add(log)
    add(log, 2)
    _, message = exported(log)
    log.does("backup", str(tmp_path / "dump"))
    with own_server() as server:
        with connect(server.url) as conn:
            conn.execute("CREATE DATABASE restored")
            url = address_of(server.url, "restored")
        with connect(url) as conn:
            new = CommandLine(make_app(url), conn)
            new.does("restore", str(tmp_path / "dump"))
            oldest = log.rows("SELECT min(xmin::text::bigint) AS oldest FROM events")[0]["oldest"]
            assert value(conn, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint") < oldest
            assert new.run(*EXPORT).stdout_bytes == log.run(*EXPORT).stdout_bytes
            # A reader of the old server goes on here.
            assert message == "Wrote 5 events. To continue later: --after 6\n"
            assert exported(new, "--after", "6")[0] == []
            add(new, 2)
            assert exported(new, "--after", "6")[0] == [7, 8]
            with connect(url) as other, other.transaction():
                events.record(other, Event("tag-created", SYSTEM))
                add(new)
                hurried = CommandLine(make_app(url, WAIT_SECONDS=0.1), conn)
                assert hurried.run(*EXPORT, "--after", "8").exit_code == 1
            assert exported(new, "--after", "8")[0] == [9, 10]


@pytest.mark.slow
def test_a_closed_pipe_is_no_error(log, url):
    log.conn.execute(INSERT_MANY, [5000])
    command = f"{shlex.join(FLAGS)} events export | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, env=clean({"DATABASE_URL": url}), capture_output=True, text=True
    )
    first, status = done.stdout.splitlines()
    assert (json.loads(first)["id"], status, done.stderr) == (1, "1", "")


@pytest.mark.slow
def test_a_terminal_shows_the_progress(log, url, tmp_path):
    log.conn.execute(INSERT_MANY, [3000])
    to_file = (*EXPORT, "--output", str(tmp_path / "log"))
    status, screen = run_flags_at_terminal(*to_file, typed=[], DATABASE_URL=url)
    assert (status, "Exporting" in screen, "100%" in screen, "Wrote 3000 events" in screen) == (0, True, True, True)
    status, screen = run_flags_at_terminal(*PRUNE, "--days", "30", typed=[], DATABASE_URL=url)
    assert (status, "Deleting" in screen, "100%" in screen) == (0, True, True)
    done = run_flags(*EXPORT, "--output", str(tmp_path / "other"), DATABASE_URL=url)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("Wrote ")
    assert "Deleted 0 events " in run_flags(*PRUNE, DATABASE_URL=url, EVENT_RETENTION_DAYS="99").stdout


# Prune


def test_events_of_whole_days_are_deleted(log):
    for days in (400, 31, 30, 29, 0):
        for more in (-timedelta(microseconds=1), timedelta(0)):
            add(log, created_at=midnight(days) + more)
    before = f"before {midnight(30):%F} (UTC).\n"
    assert log.does(*PRUNE, "--days", "30", "--dry-run") == f"Would delete 5 events {before}"
    assert kept(log) == list(range(1, 11))
    assert log.does(*PRUNE, "--days", "30") == f"Deleted 5 events {before}"
    assert kept(log) == [6, 7, 8, 9, 10]
    assert log.does(*PRUNE, "--days", "30") == f"Deleted 0 events {before}"


def test_an_option_overrides_the_retention_setting(log, with_settings):
    for days in (5, 15, 25):
        add(log, created_at=midnight(days))
    set_to_20 = with_settings(EVENT_RETENTION_DAYS=20)
    assert "Would delete 2 events " in set_to_20.does(*PRUNE, "--days", "10", "--dry-run")
    assert "Would delete 1 event " in set_to_20.does(*PRUNE, "--dry-run")
    assert "Deleted 1 event " in set_to_20.does(*PRUNE)
    assert kept(log) == [1, 2]


def test_the_default_retention_keeps_events_forever(log):
    add(log, created_at=midnight(10000))
    advice = "To delete old events, set it or use --days."
    for args in ((), ("--dry-run",)):
        assert log.does(*PRUNE, *args) == f"EVENT_RETENTION_DAYS is 0: events are kept for ever. {advice}\n"
    assert kept(log) == [1]


@pytest.mark.parametrize("days", ["x", "-1", "0", "36501"])
def test_an_invalid_number_of_days_is_a_usage_error(line, days):
    assert line.run(*PRUNE, "--days", days).exit_code == 2


def test_each_batch_of_a_prune_is_a_transaction(log, monkeypatch):
    monkeypatch.setattr(event_retention, "BATCH_SIZE", 7)
    log.conn.execute(INSERT_MANY, [2000])
    # Many of one instant, more than a batch holds.
    log.conn.execute("UPDATE events SET created_at = now() - interval '70 days' WHERE id % 10 = 3")
    old = event_retention.count(log.conn, midnight(30).date())
    log.conn.execute("CREATE TABLE batches (number integer)")
    log.conn.execute(
        "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS "
        "$$BEGIN INSERT INTO batches SELECT count(*) FROM gone; RETURN NULL; END$$; "
        "CREATE TRIGGER note AFTER DELETE ON events REFERENCING OLD TABLE AS gone "
        "FOR EACH STATEMENT EXECUTE FUNCTION note()"
    )
    with log.altered("SELECT 1", "DROP TRIGGER note ON events; DROP FUNCTION note; DROP TABLE batches"):
        assert log.does(*PRUNE, "--days", "30") == f"Deleted {old} events before {midnight(30):%F} (UTC).\n"
        found = log.rows("SELECT number, xmin::text FROM batches ORDER BY ctid")
    assert [row["number"] for row in found if row["number"]] == [7] * (old // 7) + ([old % 7] if old % 7 else [])
    assert len({row["xmin"] for row in found}) == len(found)
    assert len(kept(log)) == 2000 - old


def test_the_totals_of_the_searches_are_right_after_every_batch(log, monkeypatch):
    monkeypatch.setattr(event_retention, "BATCH_SIZE", 97)
    log.conn.execute(INSERT_MANY, [1000])
    day = midnight(38).date()
    searches = {
        "": "true",
        "?project=IS:p1": "project = 'p1'",
        "?project=IS:p1&type=IS:tag-created": "project = 'p1'",
        f"?to=IS:{day}": f"(created_at AT TIME ZONE 'UTC')::date <= '{day}'",
        f"?from=IS:{day}&to=IS:{day}": f"(created_at AT TIME ZONE 'UTC')::date = '{day}'",
    }
    work, batches, number = event_retention.Prune(midnight(30).date()), 0, None
    admin = Caller(log.app, ADMIN_KEY)
    while number != 0:
        with log.conn.transaction():
            number = work.delete_some(log.conn)
        batches += 1
        for query, condition in searches.items():
            total = admin.get(f"/api/admin/search/events{query}").get_json()["total"]
            assert total == log.rows(f"SELECT count(*) AS number FROM events WHERE {condition}")[0]["number"], query
    assert batches > 3


def test_two_prunes_at_once_delete_everything_once(log, url, monkeypatch):
    log.conn.execute(INSERT_MANY, [2000])
    monkeypatch.setattr(event_retention, "BATCH_SIZE", 10)
    first_day = midnight(30).date()
    old = event_retention.count(log.conn, first_day)

    def prune(_):
        work, number = event_retention.Prune(first_day), None
        with connect(url) as conn:
            while number != 0:
                with conn.transaction():
                    number = work.delete_some(conn)
        return work.number

    with ThreadPoolExecutor(2) as pool:
        numbers = list(pool.map(prune, range(2)))
    assert sum(numbers) == old
    assert all(numbers)
    assert event_retention.count(log.conn, first_day) == 0


def test_writers_and_a_prune_do_not_wait_for_each_other(log, url):
    add(log, created_at=midnight(100))
    with connect(url) as other, other.transaction():
        events.record(other, Event("tag-created", SYSTEM))
        assert "Deleted 1 event " in log.does(*PRUNE, "--days", "30")
        with log.conn.transaction():
            event_retention.Prune(midnight().date()).delete_some(log.conn)
            other.execute("SET LOCAL lock_timeout = '1s'")
            events.record(other, Event("tag-created", SYSTEM))
    assert kept(log) == [2, 3]
