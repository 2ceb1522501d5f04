"""Instance insights: userTrends."""

import hashlib
from datetime import timedelta

import pytest

from rules.passwords import password_hasher
from sql.database import value
from tests.support.world import PASSWORD

# Three weeks: 2024-02-26 to 2024-03-03, to 2024-03-10, to 2024-03-17.
MARCH = "/api/admin/insights?from=2024-02-26&to=2024-03-17"
FEBRUARY_1 = "2024-02-01T12:00:00Z"


def trend(caller, path=MARCH):
    """(total, active, inactive) of each week; the cast came in later, so that no one of it counts in March 2024."""
    response = caller.get(path)
    assert response.status_code == 200
    assert all(set(entry) == {"date", "total", "active", "inactive"} for entry in response.json["userTrends"])
    return [(entry["total"], entry["active"], entry["inactive"]) for entry in response.json["userTrends"]]


def running_week(caller):
    """(total, active, inactive) of the running week."""
    return trend(caller, "/api/admin/insights")[-1]


def seen(world, user, *days):
    """Let a user have been seen on these days."""
    for day in days:
        world.conn.execute("INSERT INTO user_seen_days (user_id, day) VALUES (%s, %s)", [user.id, day])


def delete(world, user, at):
    """Let a user have been deleted at an instant."""
    world.conn.execute("UPDATE users SET deleted_at = %s WHERE id = %s", [at, user.id])


def test_weeks_before_the_first_user_count_nobody(alice):
    assert alice.get(MARCH).json["userTrends"] == [
        {"date": "2024-03-03T23:59:59.999Z", "total": 0, "active": 0, "inactive": 0},
        {"date": "2024-03-10T23:59:59.999Z", "total": 0, "active": 0, "inactive": 0},
        {"date": "2024-03-17T23:59:59.999Z", "total": 0, "active": 0, "inactive": 0},
    ]


def test_total_counts_users_at_the_end_of_the_week(world, alice):
    for name, created_at in (
        ("Anna", FEBRUARY_1),
        ("Ben", "2024-03-06T08:00:00Z"),
        ("Cora", "2024-03-10T23:59:59.999Z"),  # the last instant of the second week
        ("Dora", "2024-03-11T00:00:00Z"),  # the first of the third
    ):
        world.user(name, created_at=created_at)
    # Anna; with Ben and Cora 3; with Dora 4.
    assert trend(alice) == [(1, 0, 1), (3, 0, 3), (4, 0, 4)]


def test_service_accounts_are_not_counted(world, alice):
    robot = world.user("Robot", account_type="Service Account", created_at=FEBRUARY_1)
    world.user("Anna", created_at=FEBRUARY_1)
    seen(world, robot, "2024-03-01")
    assert trend(alice) == [(1, 0, 1)] * 3


def test_a_deleted_user_counts_until_the_deletion(world, alice):
    for name, deleted_at in (
        ("Anna", "2024-03-06T08:00:00Z"),  # in the second week
        ("Ben", "2024-03-10T23:59:59Z"),  # just before its end
        ("Cora", "2024-03-11T00:00:00Z"),  # just after
    ):
        user = world.user(name, created_at=FEBRUARY_1)
        seen(world, user, "2024-03-01")
        delete(world, user, deleted_at)
    world.user("Dora", created_at=FEBRUARY_1)
    # All four, three of them seen; then Cora and Dora; then Dora.
    assert trend(alice) == [(4, 3, 1), (2, 1, 1), (1, 0, 1)]


@pytest.mark.parametrize(
    ("day", "active"),
    [
        # The 90 days before the end of 2024-03-03 begin with the end of 2023-12-04; those of the next weeks seven days
        # later.
        ("2023-12-04", [0, 0, 0]),
        ("2023-12-05", [1, 0, 0]),
        ("2023-12-11", [1, 0, 0]),
        ("2023-12-12", [1, 1, 0]),
        ("2023-12-18", [1, 1, 0]),
        ("2023-12-19", [1, 1, 1]),
        ("2024-03-03", [1, 1, 1]),
        # Not yet seen at the end of the week before.
        ("2024-03-04", [0, 1, 1]),
        ("2024-03-10", [0, 1, 1]),
        ("2024-03-11", [0, 0, 1]),
        ("2024-03-18", [0, 0, 0]),
    ],
)
def test_active_users_were_seen_in_the_last_ninety_days(world, alice, day, active):
    anna = world.user("Anna", created_at="2023-01-01T00:00:00Z")
    seen(world, anna, day)
    assert trend(alice) == [(1, count, 1 - count) for count in active]


def test_a_user_seen_on_many_days_is_one_active_user(world, alice):
    anna, ben = (world.user(name, created_at=FEBRUARY_1) for name in ("Anna", "Ben"))
    world.user("Cora", created_at=FEBRUARY_1)
    seen(world, anna, "2024-02-05", "2024-02-28", "2024-02-29", "2024-03-01", "2024-03-05")
    seen(world, ben, "2024-03-05", "2024-03-06")
    # Of Anna, Ben and Cora: Anna; then Anna and Ben.
    assert trend(alice) == [(3, 1, 2), (3, 2, 1), (3, 2, 1)]


def test_the_running_week_counts_present_users(world, alice):
    # The administrator of the bootstrap, Alice, and Anna; only Alice has been here.
    anna = world.user("Anna")
    assert running_week(alice) == (3, 1, 2)
    delete(world, anna, value(world.conn, "SELECT now()"))
    assert running_week(alice) == (2, 1, 1)


@pytest.mark.parametrize(("days", "active"), [(0, 2), (89, 2), (90, 1)])
def test_the_ninety_days_of_the_running_week_end_with_today(world, alice, days, active):
    today = value(world.conn, "SELECT (now() AT TIME ZONE 'UTC')::date")
    seen(world, world.user("Anna"), today - timedelta(days=days))
    # The administrator of the bootstrap was never seen; Alice is, by asking.
    assert running_week(alice) == (3, active, 3 - active)


def test_use_of_a_personal_token_makes_active(alice, victor):
    assert running_week(alice) == (3, 1, 2)
    assert victor.get("/api/admin/insights").status_code == 200
    assert running_week(alice) == (3, 2, 1)


def test_a_login_makes_active(world, app, alice, stranger):
    with app.app_context():
        kept = password_hasher().hash(PASSWORD)
    world.user("Anna", password_hash=kept)
    assert running_week(alice) == (3, 1, 2)
    assert stranger.post("/auth/simple/login", json={"username": "anna", "password": "not the one"}).status_code == 401
    assert running_week(alice) == (3, 1, 2)
    assert stranger.post("/auth/simple/login", json={"username": "anna", "password": PASSWORD}).status_code == 200
    assert running_week(alice) == (3, 2, 1)


def test_use_of_a_session_makes_active(world, alice, stranger):
    anna = world.user("Anna")
    world.conn.execute(
        "INSERT INTO sessions (digest, user_id, expires_at) VALUES (%s, %s, now() + interval '1 hour')",
        [hashlib.sha256(b"session-of-anna").digest(), anna.id],
    )
    assert running_week(alice) == (3, 1, 2)
    response = stranger.get("/api/admin/insights", headers={"Cookie": "session=session-of-anna"})
    assert response.status_code == 200
    assert running_week(alice) == (3, 2, 1)


def test_use_of_an_api_token_makes_no_user_active(world):
    # The administrator of the bootstrap alone.
    assert running_week(world.api_key()) == (1, 0, 1)
