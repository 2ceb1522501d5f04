"""Instance insights: flagTrends."""

from datetime import timedelta

import pytest

from sql.database import value

# Three weeks: 2024-02-26 to 2024-03-03, to 2024-03-10, to 2024-03-17.
from tests.support import fixtures

MARCH = "/api/admin/insights?from=2024-02-26&to=2024-03-17"
FEBRUARY_1 = "2024-02-01T12:00:00Z"
KEYS = {"date", "total", "active", "stale", "potentiallyStale"}


def trend(caller, path=MARCH):
    """(total, active, stale, potentiallyStale) of each week."""
    response = caller.get(path)
    assert response.status_code == 200
    found = response.json["flagTrends"]
    assert all(set(entry) == KEYS for entry in found)
    assert all(entry["total"] == entry["active"] + entry["stale"] + entry["potentiallyStale"] for entry in found)
    return [(entry["total"], entry["active"], entry["stale"], entry["potentiallyStale"]) for entry in found]


def running_week(caller):
    """(total, active, stale, potentiallyStale) of the running week."""
    return trend(caller, "/api/admin/insights")[-1]


def lasting(world, name, **fields):
    """The id of a flag that is never potentially stale, made in February 2024 unless fields say otherwise."""
    return world.flag(name, **{"type": "kill-switch", "created_at": FEBRUARY_1} | fields)


def was(world, flag_id, state, started_at, ended_at):
    """Let a flag have been stale or archived for a while."""
    world.conn.execute("INSERT INTO past_flag_states VALUES (%s, %s, %s, %s)", [flag_id, state, started_at, ended_at])


def test_an_instance_without_flags_has_weeks_of_zeros(alice):
    zeros = {"total": 0, "active": 0, "stale": 0, "potentiallyStale": 0}
    assert alice.get(MARCH).json["flagTrends"] == [
        {"date": "2024-03-03T23:59:59.999Z", **zeros},
        {"date": "2024-03-10T23:59:59.999Z", **zeros},
        {"date": "2024-03-17T23:59:59.999Z", **zeros},
    ]


def test_a_flag_counts_from_the_week_of_its_creation(world, alice):
    for name, created_at in (
        ("old", FEBRUARY_1),
        ("in-time", "2024-03-03T23:59:59.999Z"),  # the last instant of the first week
        ("late", "2024-03-04T00:00:00Z"),  # the first of the second
        ("later", "2024-03-13T09:00:00Z"),
    ):
        lasting(world, name, created_at=created_at)
    assert trend(alice) == [(2, 2, 0, 0), (3, 3, 0, 0), (4, 4, 0, 0)]


def test_an_archived_flag_counts_until_its_archiving(world, alice):
    lasting(world, "a", archived_at="2024-03-06T08:00:00Z")
    lasting(world, "b", archived_at="2024-03-10T23:59:59Z")
    lasting(world, "c", archived_at="2024-03-11T00:00:00Z")
    # All three; only c is left at the end of the second week; none.
    assert trend(alice) == [(3, 3, 0, 0), (1, 1, 0, 0), (0, 0, 0, 0)]


def test_a_revived_flag_is_out_for_the_weeks_between(world, alice):
    was(world, lasting(world, "a"), "archived", "2024-03-06T08:00:00Z", "2024-03-13T08:00:00Z")
    assert trend(alice) == [(1, 1, 0, 0), (0, 0, 0, 0), (1, 1, 0, 0)]


def test_a_flag_archived_and_revived_within_a_week_is_never_out(world, alice):
    was(world, lasting(world, "a"), "archived", "2024-03-06T08:00:00Z", "2024-03-07T08:00:00Z")
    assert trend(alice) == [(1, 1, 0, 0)] * 3


def test_a_flag_revived_and_archived_again_is_out_both_times(world, alice):
    flag_id = lasting(world, "a", archived_at="2024-03-14T08:00:00Z")
    was(world, flag_id, "archived", "2024-02-20T08:00:00Z", "2024-03-05T08:00:00Z")
    assert trend(alice) == [(0, 0, 0, 0), (1, 1, 0, 0), (0, 0, 0, 0)]


def test_reviving_keeps_the_past(world, alice):
    flag_id = lasting(world, "a", archived_at="2024-03-06T08:00:00Z")
    assert running_week(alice) == (0, 0, 0, 0)
    world.conn.execute("UPDATE flags SET archived_at = NULL WHERE id = %s", [flag_id])
    assert trend(alice) == [(1, 1, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0)]
    assert running_week(alice) == (1, 1, 0, 0)


def test_a_flag_is_stale_from_the_week_of_the_mark(world, alice):
    for name, instant in (("a", "2024-03-06T08:00:00Z"), ("b", "2024-03-10T23:59:59Z"), ("c", "2024-03-11T00:00:00Z")):
        fixtures.mark_stale(world.conn, lasting(world, name), instant)
    assert trend(alice) == [(3, 3, 0, 0), (3, 1, 2, 0), (3, 0, 3, 0)]


def test_a_flag_that_was_stale_for_a_while_is_stale_in_those_weeks_only(world, alice):
    was(world, lasting(world, "a"), "stale", "2024-03-06T08:00:00Z", "2024-03-13T08:00:00Z")
    assert trend(alice) == [(1, 1, 0, 0), (1, 0, 1, 0), (1, 1, 0, 0)]


def test_taking_the_mark_away_keeps_the_past(world, alice):
    flag_id = lasting(world, "a")
    fixtures.mark_stale(world.conn, flag_id, "2024-03-06T08:00:00Z")
    assert running_week(alice) == (1, 0, 1, 0)
    fixtures.mark_stale(world.conn, flag_id, None)
    assert trend(alice) == [(1, 1, 0, 0), (1, 0, 1, 0), (1, 0, 1, 0)]
    assert running_week(alice) == (1, 1, 0, 0)


def test_a_flag_that_was_marked_twice_counts_once(world, alice):
    flag_id = lasting(world, "a", stale_since="2024-03-08T08:00:00Z")
    was(world, flag_id, "stale", "2024-02-20T08:00:00Z", "2024-03-05T08:00:00Z")
    # Marked until Tuesday and again from Friday of the second week.
    assert trend(alice) == [(1, 0, 1, 0)] * 3


def test_a_stale_flag_that_is_archived_counts_in_neither(world, alice):
    lasting(world, "a", stale_since="2024-02-20T08:00:00Z", archived_at="2024-03-06T08:00:00Z")
    assert trend(alice) == [(1, 0, 1, 0), (0, 0, 0, 0), (0, 0, 0, 0)]


@pytest.mark.parametrize(
    ("type", "created_at", "expected"),
    [
        # The end of 2024-03-03 less 40 days is that of 2024-01-23: a flag created then is exactly as old as its
        # lifetime, not older.
        ("release", "2024-01-24T00:00:00Z", [0, 1, 1]),
        ("release", "2024-01-23T23:59:59.998Z", [1, 1, 1]),
        ("experiment", "2024-01-24T00:00:00Z", [0, 1, 1]),
        ("experiment", "2024-01-23T23:59:59.998Z", [1, 1, 1]),
        # Less 7 days: that of 2024-02-25.
        ("operational", "2024-02-26T00:00:00Z", [0, 1, 1]),
        ("operational", "2024-02-25T23:59:59.998Z", [1, 1, 1]),
        ("kill-switch", "2000-01-01T00:00:00Z", [0, 0, 0]),
        ("permission", "2000-01-01T00:00:00Z", [0, 0, 0]),
    ],
)
def test_a_flag_older_than_its_lifetime_is_potentially_stale(world, alice, type, created_at, expected):
    world.flag("a", type=type, created_at=created_at)
    assert trend(alice) == [(1, 1 - count, 0, count) for count in expected]


@pytest.mark.parametrize(("type", "days"), [("release", 40), ("experiment", 40), ("operational", 7)])
def test_the_lifetime_ends_to_the_millisecond_in_the_running_week(world, alice, type, days):
    age = timedelta(days=days)
    now = value(world.conn, "SELECT now()")
    world.flag("at-its-end", type=type, created_at=now - age)
    assert running_week(alice) == (1, 1, 0, 0)
    world.flag("older", type=type, created_at=now - age - timedelta(milliseconds=1))
    assert running_week(alice) == (2, 1, 0, 1)


def test_a_flag_that_is_marked_is_not_potentially_stale(world, alice):
    # Older than 40 days all the time; marked from the second week to the third.
    flag_id = world.flag("a", type="release", created_at="2023-06-01T00:00:00Z")
    was(world, flag_id, "stale", "2024-03-06T08:00:00Z", "2024-03-13T08:00:00Z")
    assert trend(alice) == [(1, 0, 0, 1), (1, 0, 1, 0), (1, 0, 0, 1)]


def test_every_flag_counts_in_exactly_one_way(world, alice):
    world.project("apollo", mode="private")
    world.flag("a", created_at="2024-02-20T08:00:00Z")  # 12 days old: active
    world.flag("b", "apollo", created_at="2023-12-01T08:00:00Z")  # three months: potentially stale
    world.flag("c", created_at="2023-12-01T08:00:00Z", stale_since="2024-01-15T08:00:00Z")  # stale
    world.flag("d", type="operational", created_at="2024-02-20T08:00:00Z")  # 12 of 7 days: potentially stale
    world.flag("e", "apollo", type="kill-switch", created_at="2020-01-01T08:00:00Z")  # active
    world.flag("f", type="permission", created_at="2020-01-01T08:00:00Z")  # active
    world.flag(
        "g", created_at="2023-12-01T08:00:00Z", stale_since="2024-01-15T08:00:00Z", archived_at="2024-02-01T08:00:00Z"
    )
    world.flag("h", type="experiment", created_at="2024-03-04T08:00:00Z")  # not yet
    path = "/api/admin/insights?from=2024-03-01&to=2024-03-01"
    expected = {"date": "2024-03-03T23:59:59.999Z", "total": 6, "active": 3, "stale": 1, "potentiallyStale": 2}
    assert alice.get(path).json["flagTrends"] == [expected]


def test_the_running_week_counts_what_is_there_now(world, alice):
    world.flag("new")
    world.flag("old", created_at=FEBRUARY_1)
    world.flag("marked", stale_since=FEBRUARY_1, created_at=FEBRUARY_1)
    world.flag("archived", archived_at=FEBRUARY_1, created_at=FEBRUARY_1)
    fixtures.mark_stale(world.conn, world.flag("marked-now"))
    # new; marked and marked-now; old, a release of 2024.
    assert running_week(alice) == (4, 1, 2, 1)
