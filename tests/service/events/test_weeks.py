"""Totals of finished weeks: every search returns the count, even while past events are written in any way."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString

import psycopg
import pytest

from rules.access import Actor
from sql import event_search, event_weeks, events
from sql.database import Connection, connect, rows, timing, value
from sql.events import Event
from tests.support.event_rows import add, fill_weeks
from tests.support.lock_waiters import lock_waiters
from tests.support.pool import opened
from tests.support.service import wait_until

LOCK = "SELECT pg_advisory_xact_lock(7225432)"
IS_DUE = "SELECT event_weeks_are_due()"
FILLED = "SELECT monday FROM event_weeks WHERE kind = 'all' ORDER BY monday"
WRONG = """
    SELECT *
      FROM event_weeks
      FULL JOIN (SELECT CASE WHEN grouping(project) = 0 THEN 'project' WHEN grouping(type) = 0 THEN 'type'
                             WHEN grouping(environment) = 0 THEN 'environment' ELSE 'all' END AS kind,
                        coalesce(project, type, environment, '') AS name,
                        date_trunc('week', created_at AT TIME ZONE 'UTC')::date AS monday,
                        count(*) AS number
                   FROM events
                  GROUP BY monday, GROUPING SETS ((), (project), (type), (environment))) AS counted
             USING (kind, name, monday)
     WHERE event_weeks.number IS DISTINCT FROM counted.number
       AND (kind = 'all' OR name <> '')
       AND monday IN (SELECT monday FROM event_weeks)
"""
# Where the finished weeks end.
BOUNDARY: LiteralString = "date_trunc('week', now() - interval '26 hours')"
PAST_WEEKS: LiteralString = (
    f"SELECT count(DISTINCT date_trunc('week', created_at)) FROM events WHERE created_at < {BOUNDARY}"
)
CHANGES: dict[str, LiteralString] = {
    "a prune": f"DELETE FROM events WHERE created_at < {BOUNDARY} - interval '2 weeks'",
    "a back-dated insert": (
        f"INSERT INTO events (type, created_by, created_at) VALUES ('x', 'x', {BOUNDARY} - interval '2 weeks')"
    ),
    "an update": "UPDATE events SET created_at = created_at - interval '7 days'",
    "a truncation": "TRUNCATE events",
}


@pytest.fixture
def old() -> datetime:
    """The Monday three weeks before the first week that is not finished."""
    day = (datetime.now(UTC) - timedelta(hours=26)).replace(hour=0, minute=0, second=0, microsecond=0)
    return day - timedelta(days=21 + day.weekday())


@pytest.fixture
def connections(empty_log: str, old: datetime) -> Iterator[list[Connection]]:
    """Three connections that commit, to a log of three finished weeks and the running one."""
    opened = [connect(empty_log) for _ in range(3)]
    opened[0].execute("DELETE FROM event_weeks")
    for conn in opened:
        conn.execute("SET lock_timeout = '20s'")
    for week in range(4):
        add(opened[0], 10, at=old + timedelta(days=7 * week), project="default", environment="production")
    yield opened
    for conn in opened:
        conn.close()


def total(conn: Connection, **filters: Any) -> int:
    """The total of a search."""
    return json.loads(event_search.search(conn, filters, None, limit=1, offset=0) or "")["total"]


def filled(conn: Connection) -> int:
    """The number of weeks that are added up; each is what a count gives."""
    assert rows(conn, WRONG) == []
    return len(rows(conn, FILLED))


def test_first_search_adds_up_finished_weeks_and_the_next_uses_them(
    connections: list[Connection], old: datetime
) -> None:
    conn, *_ = connections
    assert (total(conn), filled(conn)) == (40, 3)
    conn.execute("UPDATE event_weeks SET number = number + 100 WHERE kind = 'project'")
    assert [total(conn), total(conn, type="feature-created")] == [40, 40]
    assert [total(conn, project=name) for name in ("default", "other")] == [340, 0]
    # Of a day, the week is counted.
    days = {"first_day": old.date(), "last_day": old.date() + timedelta(days=7)}
    assert total(conn, project="default", **days) == 120


def test_process_checks_once_a_minute_whether_a_week_has_ended(connections: list[Connection], empty_log: str) -> None:
    fill_weeks(connections[0])
    with opened(empty_log) as database, database.connection() as conn:
        assert [total(conn), checks(conn), checks(conn)] == [40, 0, 0]
        event_weeks.checked_at.pop(database, None)
        assert [checks(conn), checks(conn)] == [1, 0]


def checks(conn: Connection) -> int:
    """The number of times that a search asks whether a week has ended."""
    statements: list[tuple[str, float]] = []
    timing.statements.set(statements)
    total(conn)
    return [statement for statement, _ in statements].count(IS_DUE)


@pytest.mark.parametrize("change", CHANGES)
def test_weeks_are_not_counted_while_the_past_changes(connections: list[Connection], change: str) -> None:
    conn, other, _ = connections
    # The lock that the change takes, without that of TRUNCATE on the table, for which every search waits.
    with other.transaction():
        other.execute(LOCK if change == "a truncation" else CHANGES[change])
        assert (total(conn), filled(conn)) == (40, 0)
    assert total(conn) == value(conn, "SELECT count(*) FROM events")
    assert filled(conn) > 0


@pytest.mark.parametrize("change", CHANGES)
def test_change_of_the_past_waits_for_what_is_being_added_up(connections: list[Connection], change: str) -> None:
    conn, other, reader = connections
    with ThreadPoolExecutor(1) as pool:
        with conn.transaction():
            assert (total(conn), filled(conn)) == (40, 3)
            changed = pool.submit(other.execute, CHANGES[change])
            wait_until(lambda: lock_waiters(reader), "it waited")
        changed.result()
    assert filled(reader) == {"a prune": 2, "a back-dated insert": 2, "an update": 0, "a truncation": 0}[change]
    assert total(reader) == value(reader, "SELECT count(*) FROM events")
    assert filled(reader) == value(reader, PAST_WEEKS)


def test_adding_up_gives_way_to_a_truncation(connections: list[Connection]) -> None:
    conn, other, _ = connections
    with other.transaction():
        other.execute("LOCK TABLE events IN ACCESS EXCLUSIVE MODE")
        conn.execute("SET statement_timeout = '5s'")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            conn.execute("SELECT fill_event_weeks()")


# What a session sees in place of the clock. Defaults and triggers keep the real one. An autovacuum worker would delay a
# week that is over by this clock only, so it is not seen.
CLOCK = "CREATE SCHEMA IF NOT EXISTS clock;" + "".join(
    f"CREATE OR REPLACE FUNCTION clock.{name}() RETURNS timestamptz LANGUAGE sql STABLE"
    " AS $$SELECT '{at}'::timestamptz$$;"
    for name in ("clock_timestamp", "now", "statement_timestamp")
)
CLOCK += """
    CREATE OR REPLACE VIEW clock.pg_stat_activity AS
        SELECT datname, pid, backend_xid, xact_start
          FROM pg_catalog.pg_stat_activity
         WHERE backend_type = 'client backend';
    SET search_path = clock, public, pg_catalog
"""
# When all transactions began, as this session sees it.
BEGUN = """
    CREATE OR REPLACE VIEW clock.pg_stat_activity AS
        SELECT datname, pid, backend_xid, '{at}'::timestamptz AS xact_start FROM pg_catalog.pg_stat_activity
"""


def test_transaction_that_is_open_across_the_end_of_a_week_is_waited_for(
    connections: list[Connection], old: datetime
) -> None:
    conn, other, _ = connections
    # By this clock, the week of the transaction's start is over.
    conn.execute(CLOCK.format(at=old + timedelta(days=42)))  # pyright: ignore
    with other.transaction():
        # Of the running week, so no past is changed.
        add(other)
        assert (total(conn), filled(conn)) == (40, 0)
    assert (total(conn), filled(conn)) == (41, value(conn, PAST_WEEKS))


@pytest.mark.parametrize(("now", "begun", "weeks"), [(25, None, 2), (27, None, 3), (3 * 24, 24, 0), (3 * 24, 26, 3)])
def test_week_is_added_up_a_day_after_its_end_and_after_older_transactions(
    connections: list[Connection], old: datetime, now: int, begun: int | None, weeks: int
) -> None:
    conn, *_ = connections
    end = old + timedelta(days=21)
    # In hours after the end.
    conn.execute(CLOCK.format(at=end + timedelta(hours=now)))  # pyright: ignore
    if begun is not None:
        conn.execute(BEGUN.format(at=end + timedelta(hours=begun)))  # pyright: ignore
    assert (total(conn), filled(conn)) == (40, weeks)


def test_weeks_that_were_added_up_while_the_clock_was_ahead_are_counted(
    connections: list[Connection], old: datetime
) -> None:
    conn, other, _ = connections
    conn.execute(CLOCK.format(at=old + timedelta(days=35)))  # pyright: ignore
    assert (total(conn), filled(conn)) == (40, 4)
    # Of the running week by the right clock, so no past is changed.
    add(other)
    assert total(other) == 41
    assert filled(other) == 3


def test_read_only_server_counts(connections: list[Connection]) -> None:
    conn, other, _ = connections
    other.execute("SET default_transaction_read_only = on")
    assert (total(other), filled(other), value(other, IS_DUE)) == (40, 0, False)
    conn.execute(
        "CREATE ROLE weeks_reader; GRANT SELECT ON ALL TABLES IN SCHEMA public TO weeks_reader; SET ROLE weeks_reader"
    )
    try:
        assert (total(conn), filled(conn), value(conn, IS_DUE)) == (40, 0, False)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            conn.execute("SELECT fill_event_weeks()")
    finally:
        conn.execute("RESET ROLE; DROP OWNED BY weeks_reader; DROP ROLE weeks_reader")
    # What was added up is read.
    assert (total(conn), filled(other)) == (40, 3)
    assert total(other) == 40


def test_search_is_answered_when_adding_up_fails(connections: list[Connection]) -> None:
    conn, *_ = connections
    with conn.transaction(force_rollback=True):
        conn.execute("ALTER TABLE event_weeks ADD CONSTRAINT none_fits CHECK (number < 0)")
        assert (total(conn), filled(conn)) == (40, 0)


def test_past_cannot_be_changed_where_the_weeks_of_others_are_not_seen(connections: list[Connection]) -> None:
    conn, other, _ = connections
    conn.execute("SET default_transaction_isolation = 'repeatable read'")
    with pytest.raises(psycopg.errors.RaiseException, match="read committed"):
        conn.execute(CHANGES["a prune"])
    assert total(other) == 40


def test_writers_of_new_events_never_wait(connections: list[Connection]) -> None:
    conn, other, _ = connections
    total(conn)
    with other.transaction():
        other.execute(LOCK)
        conn.execute("SET lock_timeout = '1s'")
        events.record(conn, Event("tag-created", Actor("somebody")))
    assert (total(conn), filled(conn)) == (41, 3)


def test_every_search_returns_the_count_while_others_write(
    connections: list[Connection], empty_log: str, old: datetime
) -> None:
    is_over, numbers = threading.Event(), set[int]()

    def change(conn: Connection, name: str) -> None:
        while not is_over.is_set():
            with conn.transaction():
                conn.execute(CHANGES[name])
                add(conn, 5, at=old + timedelta(days=8))
            add(conn, 3, at=old)

    def read(conn: Connection) -> None:
        for _ in range(100):
            total(conn)
            with conn.transaction():
                conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                assert total(conn) == value(conn, "SELECT count(*) FROM events")
                numbers.add(filled(conn))

    with ThreadPoolExecutor(3) as pool, connect(empty_log) as other:
        writers = [pool.submit(change, other, "a prune"), pool.submit(change, connections[1], "a back-dated insert")]
        try:
            read(connections[0])
        finally:
            is_over.set()
        for writer in writers:
            writer.result()
    # Of all that is there, some was added up at times, and not at others.
    assert len(numbers) > 1
