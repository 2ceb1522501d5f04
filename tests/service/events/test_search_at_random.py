"""Searches at random: each returns the page and the total that a look at every event gives."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from sql import event_search
from sql.database import Connection, value
from tests.support.event_rows import add
from tests.support.event_search import PATH, page
from tests.support.world import Caller, World


class Past:
    """A log of some years with a bit of everything, and what a search of it must say."""

    def __init__(self, conn: Connection, world: World, seed: int) -> None:
        self.conn = conn
        self.random = Random(seed)
        self.now = datetime.now(UTC)
        conn.execute("DELETE FROM events")
        self.projects = [
            world.project(f"past-{letter}", mode=mode)
            for letter, mode in zip("abcd", ("open", "private") * 2, strict=True)
        ]
        self.events: dict[int, dict[str, Any]] = {}

    def grow(self, number: int) -> None:
        """Write events, some of them dated back, and on one day more than a page holds."""
        choice = self.random.choice
        days = [self.now.date() - timedelta(days=self.random.choice([0, 0, 1, 3, 40, 300, 400, 800])) for _ in range(6)]
        for _ in range(number):
            at = datetime.combine(choice(days), datetime.min.time(), UTC) + timedelta(
                minutes=self.random.randrange(1440)
            )
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
        at = self.now - timedelta(days=500)
        self.conn.execute(
            "UPDATE events SET created_at = %(at)s, project = 'past-a' WHERE id = ANY(%(ids)s)",
            {"at": at, "ids": moved},
        )
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
            ("environment", ["development", "production", "nowhere"]),
        ):
            if self.random.random() < (0.2 if name in ("feature", "environment") else 0.5):
                words[name] = "IS_ANY_OF:" + ",".join(self.random.sample(values, self.random.choice([1, 1, 2, 3])))
        for name in ("from", "to"):
            if self.random.random() < 0.3:
                words[name] = (
                    f"IS:{self.now.date() - timedelta(days=self.random.choice([0, 1, 2, 40, 100, 400, 800, 5000]))}"
                )
        if self.random.random() < 0.1:
            words["query"] = "zebra"
        return words | {
            "limit": self.random.choice([1, 5, 50]),
            "offset": self.random.choice([0, 0, 3, 40, 1001, 1100]),
        }

    def answer(self, words: Mapping[str, Any], visible: set[str] | None) -> tuple[list[int], int]:
        """What a look at every event finds."""

        def fits(event: Mapping[str, Any]) -> bool:
            day = event["at"].date().isoformat()
            columns = {"project": "project", "type": "type", "createdBy": "creator"} | {
                name: name for name in ("feature", "environment")
            }
            return (
                (visible is None or event["project"] in visible)
                and all(
                    str(event[column]) in words[name].removeprefix("IS_ANY_OF:").split(",")
                    for name, column in columns.items()
                    if name in words
                )
                and ("query" not in words or "Zebra" in event["data"])
                and words.get("from", "IS:")[3:] <= day <= words.get("to", "IS:9999")[3:]
            )

        found = sorted(
            ((event["at"], event_id) for event_id, event in self.events.items() if fits(event)), reverse=True
        )
        return [event_id for _, event_id in found[words["offset"] :][: words["limit"]]], len(found)


@pytest.mark.parametrize("seed", [0, 1])
def test_search_returns_what_a_look_at_every_event_gives(
    conn: Connection, world: World, alice: Caller, max: Caller, seed: int
) -> None:
    past = Past(conn, world, seed)
    world.member("past-b", max)
    visible = {"past-a", "past-b", "past-c"}
    for _ in range(3):
        past.grow(500)
        past.shrink(20)
        past.move(10)
        for _ in range(30):
            words = past.question()
            assert page(alice.get(PATH, query_string=words)) == past.answer(words, None), words
            assert page(max.get(PATH, query_string=words)) == past.answer(words, visible), words
        assert value(conn, "SELECT count(*) FROM event_weeks WHERE kind = 'all'") > 0


def test_search_for_many_values_of_each_filter_is_answered_soon(conn: Connection, alice: Caller) -> None:
    conn.execute("DELETE FROM events")
    add(conn, 3, project="99", type="tag-created", creator=97)
    conn.execute("SET LOCAL statement_timeout = '5s'")
    # As many as a query string has room for: each alone is little, and together they are hundreds of millions.
    many = ",".join(str(number) for number in range(97, 730))
    assert page(alice.get(f"{PATH}?project=IS:{many}&type=IS:{many},tag-created&createdBy=IS:{many}"))[1] == 3
    same = ",".join(["97"] * 800)
    assert page(alice.get(f"{PATH}?project=IS:{same}&type=IS:{same}&createdBy=IS:{same}"))[1] == 0


def test_events_of_extreme_years_are_listed_and_counted(conn: Connection) -> None:
    conn.execute("DELETE FROM events")
    now = datetime.now(UTC)
    add(conn, at=now, project="a")
    for at in ("0044-03-15 BC", "12000-01-01"):
        conn.execute(
            "INSERT INTO events (created_at, type, created_by, project) VALUES (%s, 'feature-created', 'x', 'b')", [at]
        )
    today = now.date()
    for asked, found in (
        ({}, 3),
        ({"last_day": today}, 2),
        ({"first_day": today}, 2),
        ({"first_day": today, "last_day": today}, 1),
    ):
        for projects in ({}, {"projects": ["a", "b"]}):
            answer = json.loads(event_search.search(conn, asked | projects, None, limit=50, offset=0))
            assert (len(answer["events"]), answer["total"]) == (found, found), (asked, projects)
