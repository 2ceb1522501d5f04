"""flags events prune: what is deleted, in which batches, and at the same time as others."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from rules.access import SYSTEM
from sql import event_retention, events
from sql.database import connect
from sql.events import Event
from tests.support.command_line import CommandLine, run_flags
from tests.support.events_command import INSERT_MANY, add, kept, midnight, noon
from tests.support.instance import ADMIN_KEY


def test_whole_days_are_kept_and_what_is_older_goes(log: CommandLine) -> None:
    moment = timedelta(microseconds=1)
    instants = [
        midnight() - timedelta(days=days) + more for days in (400, 31, 30, 29, 0) for more in (-moment, timedelta(0))
    ]
    for at in instants:
        add(log, created_at=at)
    first_day = f"{midnight() - timedelta(days=30):%F}"
    before = kept(log)
    assert (
        log.does("events", "prune", "--days", "30", "--dry-run") == f"Would delete 5 events before {first_day} (UTC).\n"
    )
    assert kept(log) == before == list(range(1, 11))
    assert log.does("events", "prune", "--days", "30") == f"Deleted 5 events before {first_day} (UTC).\n"
    assert kept(log) == [6, 7, 8, 9, 10]
    assert log.does("events", "prune", "--days", "30") == f"Deleted 0 events before {first_day} (UTC).\n"


def test_an_option_overrides_the_retention_setting(log: CommandLine, make_app: Callable[..., Any]) -> None:
    for days in (5, 15, 25):
        add(log, created_at=noon() - timedelta(days=days))
    set_to_20 = CommandLine(make_app(log.app.config["DATABASE_URL"], EVENT_RETENTION_DAYS=20), log.conn)
    assert "Would delete 2 events " in set_to_20.does("events", "prune", "--days", "10", "--dry-run")
    assert "Would delete 1 event " in set_to_20.does("events", "prune", "--dry-run")
    assert "Deleted 1 event " in set_to_20.does("events", "prune")
    assert kept(log) == [1, 2]


def test_the_default_retention_keeps_events_for_ever(log: CommandLine) -> None:
    add(log, created_at=noon() - timedelta(days=10000))
    for args in ((), ("--dry-run",)):
        advice = "To delete old events, set it or use --days."
        assert log.does("events", "prune", *args) == f"EVENT_RETENTION_DAYS is 0: events are kept for ever. {advice}\n"
    assert kept(log) != []
    assert log.run("events", "prune", "--days", "0").exit_code == 2


def test_a_prune_goes_by_batches_that_are_each_committed(log: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_retention, "BATCH_SIZE", 7)
    log.conn.execute(INSERT_MANY, [2000])
    # Many of one instant, more than a batch holds.
    log.conn.execute("UPDATE events SET created_at = now() - interval '70 days' WHERE id % 10 = 3")
    first_day = f"{midnight() - timedelta(days=30):%F}"
    old = log.rows("SELECT count(*) AS number FROM events WHERE created_at < %s", midnight() - timedelta(days=30))[0][
        "number"
    ]
    log.conn.execute("CREATE TABLE batches (number integer)")
    log.conn.execute(
        "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS "
        "$$BEGIN INSERT INTO batches SELECT count(*) FROM gone; RETURN NULL; END$$; "
        "CREATE TRIGGER note AFTER DELETE ON events REFERENCING OLD TABLE AS gone "
        "FOR EACH STATEMENT EXECUTE FUNCTION note()"
    )
    with log.altered("SELECT 1", "DROP TRIGGER note ON events; DROP FUNCTION note; DROP TABLE batches"):
        assert log.does("events", "prune", "--days", "30") == f"Deleted {old} events before {first_day} (UTC).\n"
        written = [
            row["number"] for row in log.rows("SELECT number, xmin::text FROM batches ORDER BY ctid") if row["number"]
        ]
        assert written == [7] * (old // 7) + ([old % 7] if old % 7 else [])
        transactions = log.rows("SELECT count(DISTINCT xmin::text) AS number, count(*) AS batches FROM batches")[0]
        assert transactions["number"] == transactions["batches"]
    assert len(kept(log)) == 2000 - old


def test_the_totals_of_the_searches_are_right_after_every_batch(
    log: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_retention, "BATCH_SIZE", 97)
    log.conn.execute(INSERT_MANY, [1000])
    client = log.app.test_client()
    day = midnight().date() - timedelta(days=38)
    searches = {
        "": "true",
        "?project=IS:p1": "project = 'p1'",
        "?project=IS:p1&type=IS:tag-created": "project = 'p1'",
        f"?to=IS:{day}": f"(created_at AT TIME ZONE 'UTC')::date <= '{day}'",
        f"?from=IS:{day}&to=IS:{day}": f"(created_at AT TIME ZONE 'UTC')::date = '{day}'",
    }
    work, batches, number = event_retention.Prune(midnight().date() - timedelta(days=30)), 0, None
    while number != 0:
        with log.conn.transaction():
            number = work.delete_some(log.conn)
        batches += 1
        for query, condition in searches.items():
            total = client.get(f"/api/admin/search/events{query}", headers={"Authorization": ADMIN_KEY}).json["total"]
            assert total == log.rows(f"SELECT count(*) AS number FROM events WHERE {condition}")[0]["number"], query
    assert batches > 3


def test_two_prunes_at_once_delete_everything_once(log: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    log.conn.execute(INSERT_MANY, [2000])
    monkeypatch.setattr(event_retention, "BATCH_SIZE", 10)
    first_day = midnight().date() - timedelta(days=30)
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
    add(log, created_at=noon() - timedelta(days=100))
    with connect(log.app.config["DATABASE_URL"]) as other, other.transaction():
        events.record(other, Event("tag-created", SYSTEM))
        assert "Deleted 1 event " in log.does("events", "prune", "--days", "30")
        with log.conn.transaction():
            event_retention.Prune(midnight().date()).delete_some(log.conn)
            other.execute("SET LOCAL lock_timeout = '1s'")
            events.record(other, Event("tag-created", SYSTEM))
    assert kept(log) == [2, 3]


@pytest.mark.parametrize("options", [("--days", "x"), ("--days", "-1"), ("--days", "36501")])
def test_a_number_of_days_that_makes_no_sense_is_refused(line: CommandLine, options: tuple[str, ...]) -> None:
    assert line.run("events", "prune", *options).exit_code == 2


@pytest.mark.slow
def test_export_and_prune_are_commands_of_the_service(log: CommandLine) -> None:
    url = log.app.config["DATABASE_URL"]
    add(log, created_at=noon() - timedelta(days=100))
    assert run_flags("events", "export", DATABASE_URL=url).stdout.count("\n") == 1
    done = run_flags("events", "prune", DATABASE_URL=url)
    assert (done.returncode, done.stdout[:20]) == (0, "EVENT_RETENTION_DAYS")
    assert "Deleted 1 event " in run_flags("events", "prune", DATABASE_URL=url, EVENT_RETENTION_DAYS="99").stdout
