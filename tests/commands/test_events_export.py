"""flags events export: the lines, filters, files and interruptions."""

import gzip
import json
import shlex
import stat
import subprocess
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from rules.access import SYSTEM
from sql import events
from sql.database import connect, value
from sql.events import Event
from tests.support import fixtures
from tests.support.command_line import FLAGS, PATIENCE, ROOT, CommandLine, clean, run_flags, run_flags_at_terminal
from tests.support.embedded_server import own_server
from tests.support.events_command import INSERT_MANY, add, exported, noon
from tests.support.instance import ADMIN_KEY, address_of
from tests.support.world import Caller


def test_the_lines_are_those_of_the_search(log: CommandLine) -> None:
    add(log, 3, data={"é": "漢字 🎉"}, project="default")
    headers = {"Authorization": ADMIN_KEY, "Accept": "application/x-ndjson"}
    streamed = log.app.test_client().get("/api/admin/search/events", headers=headers).get_data()
    result = log.run("events", "export")
    assert (result.exit_code, result.stdout_bytes) == (0, streamed)
    assert streamed.count(b"\n") == 3
    assert result.stderr == "Wrote 3 events. To continue later: --after 3\n"


def test_each_filter_works_as_in_the_search(log: CommandLine) -> None:
    for number, day in enumerate((3, 2, 1, 0), 1):
        data = {"word": f"Needle-{number}"}
        fixtures.record(
            log.conn,
            ("tag-created", "tag-deleted")[number % 2],
            SYSTEM,
            project=f"p{number}",
            feature=f"f{number}",
            data=data,
            created_at=noon() - timedelta(days=day),
        )
        log.conn.execute("UPDATE events SET created_by_user_id = id WHERE id = %s", [number])
    yesterday = f"{noon() - timedelta(days=1):%F}"
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
    ("args", "says"),
    [
        (("--from", "2024-02-30"), "from: must be a valid date"),
        (("--to", "IS:2024-02-03"), "to: must look like 2024-05-31"),
        (("--query", "x" * 1001), "query: must be at most 1000 characters long"),
        (("--project", "chekout"), "project: unknown project chekout"),
        (("--type", "flag-created"), "type: unknown event type flag-created"),
        (
            ("--feature", "payy", "--created-by", "999999"),
            "feature: unknown flag payy; created-by: unknown user 999999",
        ),
        (("--project", "p2,p4"), "project: unknown project p2,p4"),
        (("--output", "/nowhere/file"), "/nowhere/file cannot be created: No such file or directory."),
    ],
)
def test_an_invalid_option_is_refused_in_one_line(line: CommandLine, args: tuple[str, ...], says: str) -> None:
    assert line.refuses("events", "export", *args) == says


def test_projects_flags_and_users_without_events_are_known(log: CommandLine) -> None:
    response = Caller(log.app, ADMIN_KEY).post("/api/admin/projects/default/features", json={"name": "quiet"})
    assert response.status_code == 201
    log.conn.execute("TRUNCATE events")
    for filters in (("--project", "default"), ("--feature", "quiet"), ("--created-by", "1")):
        assert exported(log, *filters)[0] == []


def test_the_changes_of_a_deleted_token_are_found(log: CommandLine) -> None:
    secret = log.does("api-token", "create", "--name", "stolen", "--type", "admin").strip()
    assert Caller(log.app, secret).post("/api/admin/tag-types", json={"name": "by-thief"}).status_code == 201
    found = Caller(log.app, secret).post("/api/admin/api-tokens", json={"tokenName": "second", "type": "admin"})
    assert found.status_code == 201
    log.does("api-token", "revoke", "2")
    types = [json.loads(line)["type"] for line in log.does("events", "export", "--token", "2").splitlines()]
    assert types == ["tag-type-created", "api-token-created"]


def test_an_export_can_be_gone_on_with(log: CommandLine) -> None:
    log.conn.execute(INSERT_MANY, [2500])
    assert exported(log) == (list(range(1, 2501)), "Wrote 2500 events. To continue later: --after 2500\n")
    assert exported(log, "--after", "2500") == ([], "Wrote 0 events. To continue later: --after 2500\n")
    add(log)
    assert exported(log, "--after", "2500") == ([2501], "Wrote 1 event. To continue later: --after 2501\n")
    # What does not match need not be looked at again.
    assert exported(log, "--query", "nowhere") == ([], "Wrote 0 events. To continue later: --after 2501\n")


def test_a_file_is_its_owners_alone_and_never_overwritten(log: CommandLine, tmp_path: Path) -> None:
    log.conn.execute(INSERT_MANY, [3])
    plain, packed = tmp_path / "log.ndjson", tmp_path / "log.ndjson.gz"
    for path in (plain, packed):
        assert exported(log, "--output", str(path)) == ([], "Wrote 3 events. To continue later: --after 3\n")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert f"{path} already exists." in log.refuses("events", "export", "--output", str(path))
    assert plain.read_bytes() == gzip.decompress(packed.read_bytes()) == log.run("events", "export").stdout_bytes


def test_a_hyphen_as_the_file_is_stdout(log: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    add(log, 2)
    assert len(log.does("events", "export", "--output", "-").splitlines()) == 2
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "-").mkdir()
    assert len(log.does("events", "export", "--output", "-").splitlines()) == 2


def test_a_full_disk_is_said_in_one_line(log: CommandLine, tmp_path: Path) -> None:
    add(log, 2000)
    program = shlex.join(FLAGS)
    environ = clean({"DATABASE_URL": log.app.config["DATABASE_URL"]})
    nothing = "Wrote 0 events. To continue later: --after 0\n"
    for script, summary, reason in (
        (f"exec {program} user list > /dev/full", "", "No space left on device"),
        (f"exec {program} doctor > /dev/full", "", "No space left on device"),
        (f"exec {program} --help > /dev/full", "", "No space left on device"),
        (f"exec {program} events export > /dev/full", nothing, "No space left on device"),
        (f'ulimit -f 8; exec {program} events export --output "$1"', nothing, "File too large"),
        (f"ulimit -f 8; head -c 99999 /dev/zero | {program} restore -", "", "File too large"),
    ):
        command = ["bash", "-c", script, "bash", str(tmp_path / "x")]
        done = subprocess.run(command, cwd=ROOT, env=environ, stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
        assert done.returncode == 1
        assert done.stderr == f"{summary}Error: The output or a temporary file cannot be written: {reason}.\n"


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
        assert refusal.startswith("An open transaction in PostgreSQL can still write events")
        assert not path.exists()
        # There is nothing to wait for after the newest event.
        assert exported(hurried, "--after", "2") == ([], "Wrote 0 events. To continue later: --after 2\n")
    patient = CommandLine(make_app(log.app.config["DATABASE_URL"], WAIT_SECONDS=30), log.conn)
    assert exported(patient)[0] == [1, 2]


@pytest.mark.slow
def test_an_export_is_complete_after_a_restore_into_a_new_server(
    log: CommandLine, make_app: Callable[..., Any], tmp_path: Path
) -> None:
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
            assert (
                value(conn, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
                < log.rows("SELECT min(xmin::text::bigint) AS oldest FROM events")[0]["oldest"]
            )
            assert new.run("events", "export").stdout_bytes == log.run("events", "export").stdout_bytes
            # A reader of the old server goes on here.
            assert message == "Wrote 5 events. To continue later: --after 6\n"
            assert exported(new, "--after", "6")[0] == []
            add(new, 2)
            assert exported(new, "--after", "6")[0] == [7, 8]
            with connect(url) as other, other.transaction():
                events.record(other, Event("tag-created", SYSTEM))
                add(new)
                hurried = CommandLine(make_app(url, WAIT_SECONDS=0.1), conn)
                assert hurried.run("events", "export", "--after", "8").exit_code == 1
            assert exported(new, "--after", "8")[0] == [9, 10]


@pytest.mark.slow
def test_a_closed_pipe_is_no_error(log: CommandLine) -> None:
    log.conn.execute(INSERT_MANY, [5000])
    command = f"{shlex.join(FLAGS)} events export | head -n 1; echo ${{PIPESTATUS[0]}}"
    environ = clean({"DATABASE_URL": log.app.config["DATABASE_URL"]})
    done = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, env=environ, capture_output=True, text=True, timeout=PATIENCE
    )
    first, status = done.stdout.splitlines()
    assert (json.loads(first)["id"], status, done.stderr) == (1, "1", "")


@pytest.mark.slow
def test_a_terminal_shows_the_progress(log: CommandLine, tmp_path: Path) -> None:
    log.conn.execute(INSERT_MANY, [3000])
    url = log.app.config["DATABASE_URL"]
    status, screen = run_flags_at_terminal(
        "events", "export", "--output", str(tmp_path / "log"), typed=[], DATABASE_URL=url
    )
    assert (status, "Exporting" in screen, "100%" in screen, "Wrote 3000 events" in screen) == (0, True, True, True)
    status, screen = run_flags_at_terminal("events", "prune", "--days", "30", typed=[], DATABASE_URL=url)
    assert (status, "Deleting" in screen, "100%" in screen) == (0, True, True)
    done = run_flags("events", "export", "--output", str(tmp_path / "other"), DATABASE_URL=url)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("Wrote ")
