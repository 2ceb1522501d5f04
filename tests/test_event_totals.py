"""The kept totals of the event log: whatever is counted when, a search says what a count of the events says, and shows the same page."""

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, LiteralString

import psycopg
import pytest

from sql import Connection, connect, event_search, rows, value
from tests.service import wait_until
from tests.test_search_events import PATH, page
from tests.world import Caller, World

ADD = """
    INSERT INTO events (created_at, type, created_by, created_by_user_id, environment, project, feature_name, data)
    SELECT coalesce(%(at)s, now()), %(type)s, 'somebody', %(creator)s, %(environment)s, %(project)s, %(feature)s, %(data)s
      FROM generate_series(1, %(times)s)
 RETURNING id
"""
# The whole log, as the totals have it.
HELD = "SELECT coalesce(sum(total), 0) FROM event_totals WHERE key = event_key(NULL, NULL, NULL, NULL)"
NOW = datetime.now(UTC)


def add(conn: Connection, times: int = 1, at: datetime | None = None, **fields: Any) -> list[int]:
    """Write events that are all alike; their ids."""
    said = {"type": "feature-created", "creator": None, "environment": None, "project": None, "feature": None, "data": "{}"}
    return [row["id"] for row in rows(conn, ADD, said | {"times": times, "at": at} | fields)]


def count(conn: Connection, most: int = 100_000) -> int:
    """Take events into the totals; how many it were."""
    with conn.transaction():
        conn.execute("SELECT lock_event_totals()")
        return value(conn, "SELECT count_events(%(most)s)", {"most": most})


def assert_right(conn: Connection) -> None:
    """Totals and uncounted events say together what the events say: of each year, month and day, for each key."""
    kept = """
        WITH by_day AS (
            SELECT key, make_date(year, 1, 1) + place::integer - 1 AS day, number
              FROM event_totals CROSS JOIN LATERAL unnest(days) WITH ORDINALITY AS counted (number, place)
             WHERE number IS NOT NULL
        ),
        counted AS (
            SELECT event_key(project, type, created_by_user_id, environment) AS key,
                   (created_at AT TIME ZONE 'UTC')::date AS day, count(*) AS number
              FROM events
             WHERE NOT EXISTS (SELECT FROM uncounted_ids WHERE id BETWEEN first_id AND last_id)
             GROUP BY (created_at AT TIME ZONE 'UTC')::date, GROUPING SETS (
                    (), (project), (type), (created_by_user_id), (environment), (project, type), (project, created_by_user_id),
                    (type, created_by_user_id), (project, type, created_by_user_id))
            HAVING (project IS NOT NULL OR grouping(project) = 1)
               AND (created_by_user_id IS NOT NULL OR grouping(created_by_user_id) = 1)
               AND (environment IS NOT NULL OR grouping(environment) = 1)
        )
        SELECT key, day, by_day.number AS kept, counted.number AS counted
          FROM by_day FULL JOIN counted USING (key, day)
         WHERE by_day.number IS DISTINCT FROM counted.number
    """
    sums = """
        SELECT key, year
          FROM event_totals
         WHERE total IS DISTINCT FROM (SELECT sum(number) FROM unnest(days) AS number)
            OR total = 0
            OR EXISTS (SELECT FROM generate_series(1, 12) AS month
                        WHERE coalesce(months[month], 0) IS DISTINCT FROM (
                            SELECT coalesce(sum(number), 0)
                              FROM unnest(days) WITH ORDINALITY AS counted (number, place)
                             WHERE extract(month FROM make_date(year, 1, 1) + place::integer - 1) = month))
    """
    assert rows(conn, kept) == []
    assert rows(conn, sums) == []


class Past:
    """A log of some years with a bit of everything, and what a search of it must say."""

    def __init__(self, conn: Connection, world: World, seed: int) -> None:
        self.conn = conn
        self.random = Random(seed)
        conn.execute("DELETE FROM events")
        self.projects = [world.project(f"past-{letter}", mode=mode) for letter, mode in zip("abcd", ("open", "private") * 2, strict=True)]
        self.events: dict[int, dict[str, Any]] = {}

    def grow(self, number: int) -> None:
        """Write events, some of them dated back, and on one day more than a page holds."""
        choice = self.random.choice
        days = [NOW.date() - timedelta(days=self.random.choice([0, 0, 1, 3, 40, 300, 400, 800])) for _ in range(6)]
        for _ in range(number):
            at = datetime.combine(choice(days), datetime.min.time(), UTC) + timedelta(minutes=self.random.randrange(1440))
            event = {
                "at": at,
                "project": choice([*self.projects, "gone", None]),
                "type": choice(["feature-created", "feature-archived", "user-created"]),
                "creator": choice([None, 1, 2, 3]),
                "environment": choice([None, "development", "production"]),
                "feature": choice([None, "left", "right"]),
                "data": choice(["{}", '{"word": "Zebra"}']),
            }
            (event_id,) = add(self.conn, **event)
            self.events[event_id] = event

    def shrink(self, number: int) -> None:
        """Delete events."""
        gone = self.random.sample(sorted(self.events), number)
        self.conn.execute("DELETE FROM events WHERE id = ANY(%(ids)s)", {"ids": gone})
        for event_id in gone:
            del self.events[event_id]

    def move(self, number: int) -> None:
        """Move events to another day and project."""
        moved = self.random.sample(sorted(self.events), number)
        at = NOW - timedelta(days=500)
        self.conn.execute("UPDATE events SET created_at = %(at)s, project = 'past-a' WHERE id = ANY(%(ids)s)", {"at": at, "ids": moved})
        for event_id in moved:
            self.events[event_id] |= {"at": at, "project": "past-a"}

    def question(self) -> dict[str, Any]:
        """A search at random."""
        words: dict[str, str] = {}
        for name, values in (
            ("project", [*self.projects, "gone", "nowhere"]),
            ("type", ["feature-created", "feature-archived", "user-created", "user-deleted"]),
            ("createdBy", ["1", "2", "3", "4"]),
            ("feature", ["left", "right", "middle"]),
        ):
            if self.random.random() < (0.2 if name == "feature" else 0.5):
                words[name] = "IS_ANY_OF:" + ",".join(self.random.sample(values, self.random.choice([1, 1, 2, 3])))
        for name in ("from", "to"):
            if self.random.random() < 0.3:
                words[name] = f"IS:{NOW.date() - timedelta(days=self.random.choice([0, 1, 2, 40, 100, 400, 800, 5000]))}"
        if self.random.random() < 0.1:
            words["query"] = "zebra"
        return words | {"limit": self.random.choice([1, 5, 50]), "offset": self.random.choice([0, 0, 3, 40, 1001, 1100])}

    def answer(self, words: Mapping[str, Any], visible: set[str] | None) -> tuple[list[int], int]:
        """What a look at every event finds."""

        def fits(event: Mapping[str, Any]) -> bool:
            day = event["at"].date().isoformat()
            of = ("project", "type", "createdBy", "feature")
            said = {name: words[name].removeprefix("IS_ANY_OF:").split(",") for name in of if name in words}
            return (
                (visible is None or event["project"] in visible)
                and ("project" not in said or event["project"] in said["project"])
                and ("type" not in said or event["type"] in said["type"])
                and ("createdBy" not in said or str(event["creator"]) in said["createdBy"])
                and ("feature" not in said or event["feature"] in said["feature"])
                and ("query" not in words or "Zebra" in event["data"])
                and ("from" not in words or day >= words["from"][3:])
                and ("to" not in words or day <= words["to"][3:])
            )

        found = sorted(((event["at"], event_id) for event_id, event in self.events.items() if fits(event)), reverse=True)
        return [event_id for _, event_id in found[words["offset"] :][: words["limit"]]], len(found)


@pytest.mark.parametrize(("seed", "most_keys"), [(0, 50_000), (1, 50_000), (2, 50_000), (3, 2)])
def test_a_search_says_what_a_look_at_every_event_says(
    monkeypatch: pytest.MonkeyPatch, conn: Connection, world: World, alice: Caller, max: Caller, seed: int, most_keys: int
) -> None:
    monkeypatch.setattr(event_search, "MOST_KEYS", most_keys)
    past = Past(conn, world, seed)
    world.member("past-b", max)
    visible = {"past-a", "past-b", "past-c"}
    # What is counted when, and how much of it, is never the same; the last round has everything counted.
    for most in (0, 400, 100_000):
        past.grow(500)
        if most:
            count(conn, most)
        past.shrink(20)
        past.move(10)
        assert_right(conn)
        for _ in range(40):
            words = past.question()
            assert page(alice.get(PATH, query_string=words)) == past.answer(words, None), words
            assert page(max.get(PATH, query_string=words)) == past.answer(words, visible), words


def test_the_deprecated_search_has_the_same_totals(conn: Connection, world: World, alice: Caller) -> None:
    past = Past(conn, world, 7)
    past.grow(100)
    count(conn, 60)
    for asked in ({}, {"project": "past-a"}, {"type": "user-created"}, {"project": "past-b", "type": "user-created"}):
        answer = alice.post("/api/admin/events/search", json=asked).json
        wanted = [event_id for event_id, event in past.events.items() if asked.items() <= event.items()]
        assert (answer["totalEvents"], [event["id"] for event in answer["events"]]) == (len(wanted), sorted(wanted, reverse=True))


def test_a_name_is_not_taken_for_another_key(conn: Connection, alice: Caller) -> None:
    conn.execute("DELETE FROM events")
    add(conn, 3, project='a", "feature-created')
    add(conn, 2, project="null", creator=1)
    count(conn)
    for words, total in (({"project": "IS:null"}, 2), ({"project": "IS:a", "type": "IS:feature-created"}, 0), ({"type": "IS:null"}, 0)):
        assert page(alice.get(PATH, query_string=words))[1] == total


def test_a_search_for_a_great_many_of_everything_at_once_is_answered_soon(conn: Connection, alice: Caller) -> None:
    conn.execute("DELETE FROM events")
    add(conn, 3, project="99", type="tag-created", creator=97)
    count(conn)
    conn.execute("SET LOCAL statement_timeout = '5s'")
    # As many as a query string has room for: each alone is little, and together they are hundreds of millions.
    many = ",".join(str(number) for number in range(97, 730))
    assert page(alice.get(f"{PATH}?project=IS:{many}&type=IS:{many},tag-created&createdBy=IS:{many}"))[1] == 3
    same = ",".join(["97"] * 800)
    assert page(alice.get(f"{PATH}?project=IS:{same}&type=IS:{same}&createdBy=IS:{same}"))[1] == 0


def test_events_before_the_year_1_and_after_9999_are_on_the_page_that_counts_them(conn: Connection) -> None:
    conn.execute("DELETE FROM events")
    add(conn, at=NOW, project="a")
    for at in ("0044-03-15 BC", "12000-01-01"):
        conn.execute("INSERT INTO events (created_at, type, created_by, project) VALUES (%s, 'feature-created', 'x', 'b')", [at])
    today = NOW.date()
    for number in (0, 3):
        assert count(conn, number) == number
        for asked, found in (({}, 3), ({"last_day": today}, 2), ({"first_day": today}, 2), ({"first_day": today, "last_day": today}, 1)):
            for projects in ({}, {"projects": ["a", "b"]}):
                answer = json.loads(event_search.search(conn, asked | projects, None, limit=50, offset=0))
                assert (len(answer["events"]), answer["total"]) == (found, found), (asked, projects)


def test_deleting_all_forgets_all(conn: Connection) -> None:
    add(conn, 5, project="default", at=NOW - timedelta(days=400))
    count(conn)
    add(conn, 5)
    conn.execute("DELETE FROM events")
    assert rows(conn, "SELECT * FROM event_totals") == []
    add(conn, 5)
    count(conn)
    conn.execute("TRUNCATE events RESTART IDENTITY")
    assert rows(conn, "SELECT * FROM event_totals") == []
    add(conn, 2)
    assert value(conn, "SELECT count(*) FROM uncounted_events") == 2


def test_totals_that_are_off_can_be_counted_anew(conn: Connection) -> None:
    conn.execute("DELETE FROM events")
    add(conn, 30, project="default", at=NOW - timedelta(days=400))
    add(conn, 30, project="default")
    count(conn, 40)
    conn.execute("UPDATE event_totals SET total = total + 1, months = '{7}', days = '{8}'")
    assert value(conn, "SELECT recount_events()") == 60
    assert_right(conn)
    assert value(conn, HELD) == 60


@pytest.fixture
def writers(empty_log: str) -> Iterator[list[Connection]]:
    """Three connections that commit; none waits for another."""
    opened = [connect(empty_log) for _ in range(3)]
    for conn in opened:
        conn.execute("SET statement_timeout = '5s'")
    yield opened
    for conn in opened:
        conn.close()


def seen(conn: Connection) -> int:
    """How many events there are: as the totals and the uncounted say, and as all of them say."""
    said = value(conn, f"SELECT ({HELD}) + (SELECT count(*) FROM uncounted_events)")
    assert said == value(conn, "SELECT count(*) FROM events")
    return said


def test_every_1024th_event_brings_the_totals_up_to_date(writers: list[Connection]) -> None:
    conn, *_ = writers
    add(conn, 1023)
    assert value(conn, HELD) == 0
    add(conn)
    assert value(conn, HELD) == 1024
    # So soon again it is worth it for many alone.
    add(conn, 3 * 1024)
    assert value(conn, HELD) == 1024
    conn.execute("UPDATE uncounted_ids SET noted_at = noted_at - interval '11 seconds'")
    add(conn, 1024)
    assert value(conn, HELD) == 5 * 1024
    add(conn, 17 * 1024)
    assert value(conn, HELD) == 22 * 1024
    assert_right(conn)


def test_an_event_whose_transaction_ends_later_is_counted_then(writers: list[Connection]) -> None:
    conn, slow, undone = writers
    slow.execute("BEGIN")
    add(slow, 3, project="default")
    undone.execute("BEGIN")
    add(undone, 2)
    add(conn, 10)
    assert count(conn) == 10
    assert rows(conn, "SELECT first_id, last_id FROM uncounted_ids WHERE last_id < 100") == [{"first_id": 1, "last_id": 5}]
    assert seen(conn) == 10
    slow.execute("COMMIT")
    undone.execute("ROLLBACK")
    assert seen(conn) == 13
    add(conn, 4)
    assert count(conn) == 7
    assert seen(conn) == 17
    assert value(conn, HELD) == 17
    assert_right(conn)


def test_an_id_that_nobody_can_have_any_more_is_forgotten_in_time(writers: list[Connection]) -> None:
    conn, slow, undone = writers
    slow.execute("BEGIN")
    add(slow, 3)
    undone.execute("BEGIN")
    add(undone, 2)
    undone.execute("ROLLBACK")
    add(conn, 10)
    count(conn)
    conn.execute("UPDATE uncounted_ids SET noted_at = noted_at - interval '2 hours'")
    add(conn, 1)
    count(conn)
    # One transaction is as old as what it left out, so nothing is forgotten yet.
    assert value(conn, "SELECT count(*) FROM uncounted_ids") == 2
    slow.execute("COMMIT")
    assert seen(conn) == 14

    def is_forgotten() -> bool:
        add(conn, 1)
        count(conn)
        return value(conn, "SELECT count(*) FROM uncounted_ids") == 1

    # On a server of several databases, transactions of the others are old for a moment too.
    wait_until(is_forgotten, "it was forgotten")
    seen(conn)
    # What has been missing for less than an hour stays, whoever has ended.
    undone.execute("BEGIN")
    add(undone, 2)
    undone.execute("ROLLBACK")
    for _ in range(2):
        add(conn, 1)
        count(conn)
    assert value(conn, "SELECT count(*) FROM uncounted_ids") == 2


def test_writers_do_not_wait_for_him_who_counts(writers: list[Connection]) -> None:
    conn, other, reader = writers
    conn.execute("BEGIN")
    add(conn, 2048)
    assert value(conn, HELD) == 2048
    add(other, 2048)
    assert value(other, HELD) == 0
    assert seen(reader) == 2048
    conn.execute("COMMIT")
    assert seen(reader) == 4096
    assert_right(reader)


def test_who_counts_and_then_undoes_it_has_counted_nothing(writers: list[Connection]) -> None:
    conn, other, _ = writers
    conn.execute("BEGIN")
    add(conn, 1024)
    conn.execute("ROLLBACK")
    assert seen(conn) == 0
    add(other, 1024)
    assert seen(conn) == 1024
    assert_right(conn)


@pytest.mark.parametrize(
    "change", ["DELETE FROM events WHERE id = 5", "UPDATE events SET project = 'other' WHERE id = 5", "TRUNCATE events"]
)
def test_an_event_that_changes_while_it_is_counted_is_counted_right(writers: list[Connection], change: LiteralString) -> None:
    conn, other, reader = writers
    add(conn, 10, project="default")
    conn.execute("BEGIN")
    assert count(conn) == 10
    with ThreadPoolExecutor(1) as pool:
        changed = pool.submit(other.execute, change)
        wait_until(lambda: changed.done() or value(reader, "SELECT count(*) FROM pg_locks WHERE NOT granted") == 1, "it waited")
        conn.execute("COMMIT")
        changed.result()
    seen(reader)
    assert_right(reader)


def test_a_transaction_that_sees_an_older_state_counts_nothing(writers: list[Connection]) -> None:
    conn, other, third = writers
    conn.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    add(conn, 1)
    add(other, 3000)
    third.execute("UPDATE uncounted_ids SET noted_at = noted_at - interval '11 seconds'")
    add(conn, 1024)
    conn.execute("COMMIT")
    assert value(conn, HELD) == 3000
    assert seen(conn) == 4025


@pytest.mark.parametrize("change", ["DELETE FROM events WHERE id <= 3", "UPDATE events SET project = 'other' WHERE id <= 3"])
def test_a_transaction_that_sees_an_older_state_changes_nothing_that_was_counted_since(
    writers: list[Connection], change: LiteralString
) -> None:
    conn, old, reader = writers
    add(conn, 10, project="default")
    old.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    value(old, "SELECT count(*) FROM events")
    assert count(conn) == 10
    with pytest.raises(psycopg.errors.SerializationFailure):
        old.execute(change)
    old.execute("ROLLBACK")
    old.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    old.execute(change)
    old.execute("COMMIT")
    seen(reader)
    assert_right(reader)


def test_ids_that_are_missing_for_good_are_not_looked_for_after_all_was_counted_anew(writers: list[Connection]) -> None:
    conn, open_one, _ = writers
    add(conn, 100)
    conn.execute("DELETE FROM events WHERE id % 2 = 0")
    open_one.execute("BEGIN")
    add(open_one, 1)
    add(conn, 5)
    with ThreadPoolExecutor(1) as pool:
        recounted = pool.submit(value, conn, "SELECT recount_events()")
        wait_until(lambda: value(open_one, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == 1, "it had begun")
        open_one.execute("COMMIT")
        assert recounted.result() == 56
    assert rows(conn, "SELECT first_id FROM uncounted_ids") == [{"first_id": 107}]
    assert seen(conn) == 56
    assert_right(conn)


@pytest.mark.slow
def test_a_transaction_that_does_not_end_keeps_its_ids_when_all_is_counted_anew(writers: list[Connection]) -> None:
    conn, open_one, _ = writers
    open_one.execute("BEGIN")
    add(open_one, 1)
    add(conn, 5)
    conn.execute("SET statement_timeout = '30s'")
    assert value(conn, "SELECT recount_events()") == 5
    open_one.execute("COMMIT")
    assert seen(conn) == 6


def test_the_activity_of_a_project_is_that_of_its_windows_to_the_instant(conn: Connection, world: World, alice: Caller) -> None:
    world.project("busy")
    now = value(conn, "SELECT now()")
    ages = [timedelta(days=days, seconds=seconds) for days in (0, 1, 15, 29, 30, 31, 45, 59, 60, 61) for seconds in (-1, 0, 1)]
    for number, age in enumerate(ages * 2):
        add(conn, project="busy", at=now - age)
        if number == len(ages):
            count(conn)
    stats = alice.get("/api/admin/projects/busy/overview").json["stats"]
    this = sum(timedelta() <= age < timedelta(days=30) for age in ages) * 2
    last = sum(timedelta(days=30) <= age < timedelta(days=60) for age in ages) * 2
    assert (stats["projectActivityCurrentWindow"], stats["projectActivityPastWindow"]) == (this, last)
