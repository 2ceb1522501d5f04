"""The kept weeks of usage: whatever is written when, by whom, they say what a count of the hours says."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from random import Random
from threading import Barrier
from typing import Any

import psycopg
import pytest

from sql import Connection, connect, rows, usage, value

# As it was an hour ago: a week is kept when it has been over for so long.
TODAY = (datetime.now(UTC) - timedelta(hours=1)).replace(hour=0, minute=0, second=0, microsecond=0)
MONDAY = TODAY - timedelta(days=TODAY.weekday())

KEPT = "SELECT * FROM usage_weeks WHERE monday < (SELECT before FROM usage_weeks_kept) ORDER BY monday, project_id"
COUNTED = """
    SELECT project_id, date_trunc('week', hour AT TIME ZONE 'UTC')::date AS monday, sum(yes) AS yes, sum(no) AS no,
           count(DISTINCT app_name) AS apps, count(DISTINCT flag_name) AS flags, count(DISTINCT environment) AS environments
      FROM usage_metrics
     WHERE date_trunc('week', hour AT TIME ZONE 'UTC') < (SELECT before FROM usage_weeks_kept)
     GROUP BY project_id, monday
     ORDER BY monday, project_id
"""


def report(project: str, at: datetime, **facts: Any) -> dict[str, Any]:
    """What an application reports."""
    return {"project": project, "flag": "f", "environment": "production", "app": "web", "at": at, "yes": 1, "no": 2} | facts


def assert_right(conn: Connection) -> None:
    """Fail unless the kept weeks are those of the hours."""
    assert rows(conn, KEPT) == rows(conn, COUNTED)


def unkeep(conn: Connection, weeks: int) -> None:
    """Let so many weeks be as if they had ended only now."""
    conn.execute("UPDATE usage_weeks_kept SET before = before - 7 * %(weeks)s", {"weeks": weeks})
    conn.execute("DELETE FROM usage_weeks WHERE monday >= (SELECT before FROM usage_weeks_kept)")


def kept_before(conn: Connection) -> datetime:
    """The Monday up to which weeks are kept."""
    return datetime.combine(value(conn, "SELECT before FROM usage_weeks_kept"), datetime.min.time(), UTC)


CHANGES = (
    "UPDATE usage_metrics SET yes = yes + 5 WHERE extract(hour FROM hour) IN (0, 7, 23)",
    "UPDATE usage_metrics SET hour = hour + interval '7 days' WHERE app_name = 'web' AND random() < 0.1",
    "UPDATE usage_metrics SET project_id = 'p3' WHERE project_id = 'p2' AND random() < 0.2",
    "DELETE FROM usage_metrics WHERE random() < 0.3",
    "DELETE FROM usage_metrics WHERE hour < now() - interval '40 days'",
    "DELETE FROM usage_metrics WHERE false",
    "DELETE FROM projects WHERE id IN ('p1', 'p4')",
)


@pytest.mark.parametrize("seed", range(4))
def test_the_kept_weeks_are_those_of_the_hours_whatever_is_done_to_them(conn: Connection, seed: int) -> None:
    random = Random(seed)
    conn.execute("SELECT setseed(%(seed)s)", {"seed": seed / 10})
    kept = 0
    for _ in range(40):
        conn.execute("INSERT INTO projects (id, name) SELECT 'p' || n, 'P' FROM generate_series(1, 4) AS n ON CONFLICT DO NOTHING")
        if random.random() < 0.3:
            unkeep(conn, random.randrange(1, 5))
        usage.add(
            conn,
            [
                report(
                    f"p{random.randrange(1, 5)}",
                    random.choice((MONDAY - timedelta(days=7 * random.randrange(9)), TODAY))
                    + random.choice((timedelta(), timedelta(hours=-1), timedelta(hours=random.randrange(-600, 90)))),
                    flag=random.choice("abc"),
                    app=random.choice(("web", "app")),
                    environment=random.choice(("production", "development")),
                    yes=random.randrange(1, 9),
                )
                for _ in range(random.randrange(1, 12))
            ],
        )
        assert_right(conn)
        change = random.choice(CHANGES)
        with_clash = "hour = hour" in change or "project_id = 'p3'" in change
        try:
            with conn.transaction():
                conn.execute(change.encode())
        except psycopg.errors.UniqueViolation:
            assert with_clash
        assert_right(conn)
        kept += len(rows(conn, KEPT))
    assert kept > 100
    conn.execute("UPDATE usage_weeks SET yes = yes + 1")
    assert value(conn, "SELECT recount_usage_weeks()") == len(rows(conn, KEPT))
    assert_right(conn)
    conn.execute("TRUNCATE usage_metrics")
    assert rows(conn, "SELECT * FROM usage_weeks") == []


def test_a_week_is_kept_by_the_first_report_after_it(conn: Connection) -> None:
    conn.execute("INSERT INTO projects (id, name) VALUES ('p', 'P')")
    unkeep(conn, 3)
    before = kept_before(conn)
    conn.execute("ALTER TABLE usage_metrics DISABLE TRIGGER recount_inserted_usage")
    usage.add(
        conn, [report("p", before), report("p", before + timedelta(days=7), app="a"), report("p", before + timedelta(days=8), app="b")]
    )
    conn.execute("ALTER TABLE usage_metrics ENABLE TRIGGER recount_inserted_usage")
    assert rows(conn, "SELECT * FROM usage_weeks") == []
    usage.add(conn, [report("p", datetime.now(UTC))])
    assert [(row["yes"], row["apps"]) for row in rows(conn, "SELECT * FROM usage_weeks ORDER BY monday")] == [(1, 1), (2, 2)]
    assert kept_before(conn) == MONDAY
    assert_right(conn)


def test_hours_that_are_still_to_come_are_no_matter(conn: Connection) -> None:
    usage.add(conn, [report("default", datetime.now(UTC) + timedelta(days=days)) for days in (0, 7, 30)])
    assert rows(conn, "SELECT * FROM usage_weeks") == []


def test_weeks_that_were_kept_too_soon_because_a_clock_was_ahead_are_counted_all_the_same(conn: Connection) -> None:
    conn.execute("UPDATE usage_weeks_kept SET before = before + 28")
    usage.add(conn, [report("default", datetime.now(UTC)), report("default", MONDAY + timedelta(days=7))])
    assert len(rows(conn, KEPT)) == 2
    assert_right(conn)


def test_the_weeks_of_a_deleted_project_go_with_its_hours(conn: Connection) -> None:
    conn.execute("INSERT INTO projects (id, name) VALUES ('p', 'P'), ('q', 'Q'), ('r', 'R')")
    usage.add(conn, [report(project, MONDAY - timedelta(days=days)) for project in "pqr" for days in (1, 8)])
    assert len(rows(conn, KEPT)) == 6
    conn.execute("DELETE FROM projects WHERE id IN ('p', 'r')")
    assert [row["project_id"] for row in rows(conn, "SELECT project_id FROM usage_weeks")] == ["q", "q"]


@pytest.fixture
def writers(make_database: Callable[..., str]) -> Iterator[list[Connection]]:
    """Two connections that commit, in a database of their own with two projects; what waits there for another is not answered."""
    url = make_database()
    opened = [connect(url) for _ in range(2)]
    opened[0].execute("INSERT INTO projects (id, name) VALUES ('p', 'P'), ('q', 'Q')")
    for conn in opened:
        conn.execute("SET lock_timeout = '200ms'")
    yield opened
    for conn in opened:
        conn.close()


LATE = MONDAY - timedelta(days=3)


def test_writers_of_the_running_week_wait_for_nobody(writers: list[Connection]) -> None:
    late, other = writers
    late.execute("BEGIN")
    usage.add(late, [report("p", LATE)])
    usage.add(other, [report("p", datetime.now(UTC) + timedelta(hours=2)), report("q", datetime.now(UTC) + timedelta(hours=2))])
    late.execute("COMMIT")
    assert_right(other)


def test_two_late_reports_of_a_week_are_both_in_it(writers: list[Connection]) -> None:
    one, other = writers
    one.execute("BEGIN")
    usage.add(one, [report("p", LATE, app="a")])
    with pytest.raises(psycopg.errors.LockNotAvailable):
        usage.add(other, [report("p", LATE, app="b")])
    one.execute("COMMIT")
    usage.add(other, [report("p", LATE, app="b")])
    assert value(one, "SELECT apps FROM usage_weeks") == 2
    assert_right(one)


def test_late_reports_at_once_are_all_in_their_week(writers: list[Connection]) -> None:
    for conn in writers:
        conn.execute("SET lock_timeout = 0")

    both = Barrier(2)

    def write(conn: Connection, name: str) -> None:
        for number in range(100):
            both.wait(20)
            usage.add(conn, [report("p", LATE - timedelta(days=7 * number), app=name)])

    with ThreadPoolExecutor() as threads:
        for done in [threads.submit(write, conn, name) for conn, name in zip(writers, "ab", strict=True)]:
            done.result()
    assert rows(writers[0], "SELECT DISTINCT apps FROM usage_weeks") == [{"apps": 2}]
    assert_right(writers[0])


def test_who_reports_the_same_hours_in_another_order_waits_and_does_not_fail(writers: list[Connection]) -> None:
    for conn in writers:
        conn.execute("SET lock_timeout = 0")
    late = [report("p", LATE - timedelta(days=days)) for days in range(8)]
    running = [report("p", datetime.now(UTC) + timedelta(hours=2), flag=flag) for flag in "abcd"]
    both = Barrier(2)

    def write(conn: Connection, reports: list[dict[str, Any]]) -> None:
        for _ in range(20):
            both.wait(20)
            usage.add(conn, reports)

    orders = (late + running, running[::-1] + late[::-1])
    with ThreadPoolExecutor() as threads:
        for done in [threads.submit(write, conn, order) for conn, order in zip(writers, orders, strict=True)]:
            done.result()
    assert rows(writers[0], "SELECT DISTINCT yes FROM usage_metrics") == [{"yes": 40}]
    assert_right(writers[0])


def test_reports_of_one_hour_that_come_together_are_added_up(conn: Connection) -> None:
    hour = TODAY - timedelta(days=20)
    usage.add(conn, [report("default", hour + timedelta(minutes=minutes), yes=minutes) for minutes in (1, 20, 59)])
    usage.add(conn, [])
    assert rows(conn, "SELECT hour, yes, no FROM usage_metrics") == [{"hour": hour, "yes": 80, "no": 6}]


def test_a_week_is_not_kept_while_somebody_writes_into_it(writers: list[Connection]) -> None:
    late, keeper = writers
    unkeep(late, 2)
    before = kept_before(late)
    late.execute("ALTER TABLE usage_metrics DISABLE TRIGGER recount_inserted_usage")
    usage.add(late, [report("q", LATE)])
    late.execute("ALTER TABLE usage_metrics ENABLE TRIGGER recount_inserted_usage")
    # One who does not keep it himself: he only changes what is there.
    late.execute("BEGIN")
    late.execute("UPDATE usage_metrics SET yes = 100")
    usage.add(keeper, [report("p", datetime.now(UTC))])
    assert kept_before(keeper) == before
    late.execute("COMMIT")
    usage.add(keeper, [report("p", datetime.now(UTC))])
    assert kept_before(keeper) == MONDAY
    assert value(keeper, "SELECT yes FROM usage_weeks") == 100
    assert_right(keeper)


def test_who_writes_into_a_week_that_is_being_kept_waits(writers: list[Connection]) -> None:
    keeper, late = writers
    unkeep(keeper, 2)
    keeper.execute("BEGIN")
    usage.add(keeper, [report("p", datetime.now(UTC))])
    assert kept_before(keeper) == MONDAY
    with pytest.raises(psycopg.errors.LockNotAvailable):
        usage.add(late, [report("p", LATE)])
    keeper.execute("COMMIT")
    usage.add(late, [report("p", LATE)])
    assert len(rows(late, KEPT)) == 1
    assert_right(late)


def test_who_sees_an_older_state_keeps_nothing_and_has_all_kept_anew(writers: list[Connection]) -> None:
    old, other = writers
    unkeep(other, 2)
    old.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    value(old, "SELECT count(*) FROM usage_metrics")
    usage.add(other, [report("p", LATE, app="a")])
    with pytest.raises(psycopg.errors.SerializationFailure):
        usage.add(old, [report("p", LATE, app="b")])
    old.execute("ROLLBACK")
    old.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    value(old, "SELECT count(*) FROM usage_metrics")
    usage.add(other, [report("p", LATE, app="c")])
    usage.add(old, [report("p", LATE, app="b")])
    old.execute("COMMIT")
    assert rows(other, KEPT) == []
    usage.add(other, [report("p", datetime.now(UTC))])
    assert value(other, "SELECT apps FROM usage_weeks") == 3
    assert_right(other)


def test_a_project_is_deleted_while_its_weeks_are_being_kept(writers: list[Connection]) -> None:
    keeper, other = writers
    usage.add(other, [report("p", LATE), report("q", LATE)])
    unkeep(other, 2)
    other.execute("BEGIN")
    other.execute("DELETE FROM projects WHERE id = 'p'")
    usage.add(keeper, [report("q", datetime.now(UTC))])
    assert kept_before(keeper) < MONDAY
    other.execute("COMMIT")
    usage.add(keeper, [report("q", datetime.now(UTC))])
    assert [row["project_id"] for row in rows(keeper, KEPT)] == ["q"]
    assert_right(keeper)
