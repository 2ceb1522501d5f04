"""flask events: export."""

import gzip
import json
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sql import connect, event_stream, events
from sql.bootstrap import System
from tests.command_line import FLASK, PATIENCE, ROOT, CommandLine, clean, flask, flask_at_terminal
from tests.conftest import ADMIN_KEY

NOON = datetime.now(UTC).replace(hour=12, minute=0)
INSERT_MANY = """
    INSERT INTO events (created_at, type, created_by, project)
    SELECT now() - number * interval '1 hour', 'tag-created', 'system', 'p' || number %% 3 FROM generate_series(1, %s) AS number
"""


@pytest.fixture(scope="module")
def line(make_database: Callable[..., str], make_app: Callable[..., Any]) -> Iterator[CommandLine]:
    """The command line on a database of these tests."""
    url = make_database()
    with connect(url) as conn:
        yield CommandLine(make_app(url), conn)


@pytest.fixture
def log(line: CommandLine) -> CommandLine:
    """The same, with an empty log."""
    line.conn.execute("TRUNCATE events RESTART IDENTITY")
    return line


def add(line: CommandLine, count: int = 1, **fields: Any) -> None:
    """Write events."""
    for _ in range(count):
        events.record(line.conn, fields.pop("type", "tag-created"), fields.pop("by", System()), **fields)


def exported(line: CommandLine, *args: str) -> tuple[list[int], str]:
    """The ids that an export writes, and what it says on stderr."""
    result = line.run("events", "export", *args)
    assert result.exit_code == 0, result.output
    return [json.loads(text)["id"] for text in result.stdout_bytes.splitlines()], result.stderr


# Export


def test_the_lines_are_those_of_the_search(log: CommandLine) -> None:
    add(log, 3, data={"é": "漢字 🎉"}, project="default")
    headers = {"Authorization": ADMIN_KEY, "Accept": "application/x-ndjson"}
    streamed = log.app.test_client().get("/api/admin/search/events", headers=headers).get_data()
    result = log.run("events", "export")
    assert (result.exit_code, result.stdout_bytes) == (0, streamed)
    assert streamed.count(b"\n") == 3
    assert result.stderr == "Wrote 3 events. To go on later: --after 3\n"


def test_each_filter_is_that_of_the_search(log: CommandLine) -> None:
    for number, day in enumerate((3, 2, 1, 0), 1):
        data = {"word": f"Needle-{number}"}
        events.record(
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
        (("--from", "2024-02-30"), "from: must be a day that exists"),
        (("--to", "IS:2024-02-03"), "to: must look like 2024-05-31"),
        (("--query", "x" * 1001), "query: must be at most 1000 characters long"),
        (("--output", "/nowhere/file"), "The file /nowhere/file cannot be made: No such file or directory."),
    ],
)
def test_what_makes_no_sense_is_one_line(line: CommandLine, args: tuple[str, ...], says: str) -> None:
    assert line.refuses("events", "export", *args) == says


def test_an_export_can_be_gone_on_with(log: CommandLine) -> None:
    log.conn.execute(INSERT_MANY, [2500])
    assert exported(log) == (list(range(1, 2501)), "Wrote 2500 events. To go on later: --after 2500\n")
    assert exported(log, "--after", "2500") == ([], "Wrote 0 events. To go on later: --after 2500\n")
    add(log)
    assert exported(log, "--after", "2500") == ([2501], "Wrote 1 events. To go on later: --after 2501\n")
    # What does not match need not be looked at again.
    assert exported(log, "--project", "nowhere") == ([], "Wrote 0 events. To go on later: --after 2501\n")


def test_a_file_is_made_and_never_overwritten(log: CommandLine, tmp_path: Path) -> None:
    log.conn.execute(INSERT_MANY, [3])
    plain, packed = tmp_path / "log.ndjson", tmp_path / "log.ndjson.gz"
    for path in (plain, packed):
        assert exported(log, "--output", str(path)) == ([], "Wrote 3 events. To go on later: --after 3\n")
        assert "it is there already" in log.refuses("events", "export", "--output", str(path))
    assert plain.read_bytes() == gzip.decompress(packed.read_bytes()) == log.run("events", "export").stdout_bytes


def test_an_open_transaction_stops_an_export_in_front_of_what_it_holds(log: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "PATIENCE", 0.0)
    add(log, 2)
    with connect(log.app.config["DATABASE_URL"]) as other, other.transaction():
        events.record(other, "tag-created", System())
        add(log, 2)
        result = log.run("events", "export")
        assert result.exit_code == 1
        assert result.stdout.count("\n") == 2
        far, error = result.stderr.splitlines()
        assert far == "Wrote 2 events. To go on later: --after 2"
        assert error.startswith("Error: A transaction that does not end may still write the next event after 2.")
    assert exported(log, "--after", "2")[0] == [3, 4, 5]


@pytest.mark.slow
def test_a_reader_who_goes_leaves_no_complaint(log: CommandLine) -> None:
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
    done = flask("events", "export", "--output", str(tmp_path / "other"), DATABASE_URL=url)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("Wrote ")
