"""Instance insights: projectFlagTrends."""

from datetime import UTC, datetime, timedelta

import pytest

from sql.people import groups
from tests.support import fixtures
from tests.support.world import World

# Three weeks: 2024-02-26 to 2024-03-03, to 2024-03-10, to 2024-03-17.
MARCH = "/api/admin/insights?from=2024-02-26&to=2024-03-17"
JANUARY_1 = "2024-01-01T00:00:00Z"
FEBRUARY_1 = "2024-02-01T12:00:00Z"
WITHIN_THE_SECOND_WEEK = "2024-03-06T08:00:00Z"


def entries(caller, project="gemini", path=MARCH):
    """The entries of one project, oldest first."""
    response = caller.get(path)
    assert response.status_code == 200
    return [entry for entry in response.json["projectFlagTrends"] if entry["project"] == project]


def trend(caller, field, project="gemini"):
    """One field of one project in each week."""
    return [entry[field] for entry in entries(caller, project)]


def running_week(caller, field):
    """One field of project gemini in the running week."""
    return entries(caller, path="/api/admin/insights")[-1][field]


@pytest.fixture
def gemini(world: World) -> str:
    """A project as old as 2024."""
    return world.project("gemini", created_at=JANUARY_1)


@pytest.fixture
def users(world: World):
    """Four users as old as 2024."""
    return [world.user(name, created_at=JANUARY_1) for name in ("Anna", "Ben", "Cora", "Dora")]


def test_an_empty_project_is_healthy(alice, gemini):
    zeros = {"timeToProduction": 0, "total": 0, "active": 0, "stale": 0, "potentiallyStale": 0, "users": 0}
    assert entries(alice) == [
        {"week": "2024-09", "project": gemini, "date": "2024-03-03T23:59:59.999Z", "health": 100, **zeros},
        {"week": "2024-10", "project": gemini, "date": "2024-03-10T23:59:59.999Z", "health": 100, **zeros},
        {"week": "2024-11", "project": gemini, "date": "2024-03-17T23:59:59.999Z", "health": 100, **zeros},
    ]


def test_entries_ascend_by_date_then_project(world, alice):
    for project in ("zond", "gemini", "apollo"):
        world.project(project, created_at=JANUARY_1)
    ours = ("apollo", "gemini", "zond")
    found = [(e["date"][:10], e["project"]) for e in alice.get(MARCH).json["projectFlagTrends"] if e["project"] in ours]
    assert found == [(day, project) for day in ("2024-03-03", "2024-03-10", "2024-03-17") for project in ours]


def test_a_project_has_an_entry_for_each_week_at_whose_end_the_project_existed(world, alice):
    world.project("apollo", created_at="2024-03-10T23:59:59.999Z")  # the last instant of the second week
    world.project("vostok", created_at="2024-03-11T00:00:00Z")  # the first of the third
    world.project("zond", created_at=JANUARY_1, archived_at=WITHIN_THE_SECOND_WEEK)
    found = [[entry["week"] for entry in entries(alice, project)] for project in ("apollo", "vostok", "zond")]
    assert found == [["2024-10", "2024-11"], ["2024-11"], ["2024-09"]]


def test_each_project_counts_its_own_flags(world, alice, gemini):
    vostok = world.project("vostok", created_at=JANUARY_1)
    world.flag("a", gemini, created_at="2024-02-20T08:00:00Z")  # active
    world.flag("b", gemini, created_at="2023-12-01T08:00:00Z")  # older than 40 days: potentially stale
    world.flag("c", gemini, type="operational", created_at="2024-02-20T08:00:00Z")  # older than 7: potentially stale
    world.flag(
        "d", gemini, created_at="2024-02-20T08:00:00Z", stale_since="2024-03-05T08:00:00Z"
    )  # stale from the second week
    world.flag("e", gemini, created_at="2024-02-20T08:00:00Z", archived_at="2024-03-12T08:00:00Z")  # out in the third
    world.flag("f", gemini, type="permission", created_at="2024-03-11T08:00:00Z")  # there in the third
    world.flag("z", vostok, created_at="2024-02-20T08:00:00Z")
    found = [
        tuple(e[key] for key in ("total", "active", "stale", "potentiallyStale", "health")) for e in entries(alice)
    ]
    # a d e | b c: 3 of 5 = 60. a e | d | b c: 2 of 5 = 40. a f | d | b c: 2 of 5 = 40.
    assert found == [(5, 3, 0, 2, 60), (5, 2, 1, 2, 40), (5, 2, 1, 2, 40)]
    assert trend(alice, "total", vostok) == [1, 1, 1]


def test_a_flag_that_was_out_or_stale_for_a_while_shows_in_those_weeks(world, alice, gemini):
    archived, stale = (world.flag(name, gemini, type="kill-switch", created_at=FEBRUARY_1) for name in ("a", "b"))
    for flag_id, state in ((archived, "archived"), (stale, "stale")):
        world.conn.execute(
            "INSERT INTO past_flag_states VALUES (%s, %s, %s, '2024-03-13T08:00:00Z')",
            [flag_id, state, WITHIN_THE_SECOND_WEEK],
        )
    found = [tuple(e[key] for key in ("total", "active", "stale", "health")) for e in entries(alice)]
    # In the second week b alone, stale: 0 of 1.
    assert found == [(2, 2, 0, 100), (1, 0, 1, 0), (2, 2, 0, 100)]


@pytest.mark.parametrize(
    ("active", "total", "health"),
    # 66.67, 33.33, 12.5, 62.5, 0.5 and 99.5 per cent: half is rounded up.
    [(2, 3, 67), (1, 3, 33), (1, 8, 13), (5, 8, 63), (1, 200, 1), (199, 200, 100), (0, 2, 0), (3, 3, 100), (0, 0, 100)],
)
def test_health_is_the_share_of_active_flags_as_a_whole_number(world, alice, gemini, active, total, health):
    for number in range(total):
        stale_since = None if number < active else FEBRUARY_1
        world.flag(f"f{number}", gemini, type="kill-switch", created_at=JANUARY_1, stale_since=stale_since)
    assert trend(alice, "health") == [health] * 3


@pytest.mark.parametrize(
    ("hours", "expected"),
    [
        ([], 0),
        ([24], 1),
        # 1.5 and 2.5 days.
        ([36, 60], 2),
        # 1, 1 and 2 days: 1.333; 1, 2 and 2: 1.667.
        ([24, 24, 48], 1.3),
        ([24, 48, 48], 1.7),
        # Five minutes are 0.003 days, a moment is none: never below 0.1, because 0 says that there is none.
        ([1 / 12], 0.1),
        ([0], 0.1),
        # 0.003, 0.003 and 0.5 days: 0.169.
        ([1 / 12, 1 / 12, 12], 0.2),
    ],
)
def test_time_to_production_is_the_mean_in_days_with_one_decimal(world, alice, gemini, hours, expected):
    created_at = datetime(2024, 2, 1, 12, tzinfo=UTC)
    for number, taken in enumerate(hours):
        first = created_at + timedelta(hours=taken)
        world.flag(f"f{number}", gemini, created_at=created_at, first_in_production_at=first)
    world.flag("never", gemini, created_at=created_at)
    assert trend(alice, "timeToProduction") == [expected] * 3


def test_time_to_production_counts_flags_that_were_live_by_then(world, alice, gemini):
    vostok = world.project("vostok", created_at=JANUARY_1)
    for name, project, created_at, first in (
        ("a", gemini, "2024-02-20T00:00:00Z", "2024-02-22T00:00:00Z"),  # 2 days
        ("b", gemini, "2024-02-26T00:00:00Z", "2024-03-10T23:59:59Z"),  # 14 days, at the end of the second week
        ("c", gemini, "2024-03-10T00:00:00Z", "2024-03-11T00:00:00Z"),  # 1 day, at the beginning of the third
        ("d", gemini, "2024-03-10T00:00:00Z", "2024-04-11T00:00:00Z"),  # later than all
        ("z", vostok, "2024-02-01T00:00:00Z", "2024-03-02T00:00:00Z"),  # 30 days
    ):
        world.flag(name, project, created_at=created_at, first_in_production_at=first)
    # 2; (2 + 14) / 2 = 8; (2 + 14 + 1) / 3 = 5.667.
    assert trend(alice, "timeToProduction") == [2, 8, 5.7]
    assert trend(alice, "timeToProduction", vostok) == [30, 30, 30]


def test_a_flag_that_reached_production_still_counts_after_archiving(world, alice, gemini):
    there = {"created_at": "2024-02-20T00:00:00Z", "first_in_production_at": "2024-02-22T00:00:00Z"}
    world.flag("a", gemini, archived_at=WITHIN_THE_SECOND_WEEK, **there)
    assert trend(alice, "total") == [1, 0, 0]
    assert trend(alice, "timeToProduction") == [2, 2, 2]


def test_users_are_members_directly_or_through_a_group_counted_once(world, alice, gemini, users):
    anna, ben, cora, dora = users
    group_id = groups.insert(world.conn, "team")
    fixtures.add_project_group(world.conn, gemini, group_id, 5, FEBRUARY_1)
    world.member(gemini, anna, created_at=FEBRUARY_1)
    world.member(gemini, anna, role=4, created_at=FEBRUARY_1)
    fixtures.add_group_user(world.conn, group_id, ben.id, created_at=FEBRUARY_1)
    fixtures.add_group_user(world.conn, group_id, cora.id, created_at=FEBRUARY_1)
    world.member(gemini, cora, created_at=FEBRUARY_1)
    world.member(gemini, dora, created_at=WITHIN_THE_SECOND_WEEK)
    # Anna with two roles, Ben in the group, Cora both ways; then Dora. Alice administers: a root role is no membership.
    assert trend(alice, "users") == [3, 4, 4]


def test_group_members_count_from_the_later_of_role_and_joining(world, alice, gemini, users):
    anna, ben, *_ = users
    early, late = (groups.insert(world.conn, name) for name in ("early", "late"))
    fixtures.add_project_group(world.conn, gemini, early, 5, FEBRUARY_1)
    fixtures.add_group_user(world.conn, early, anna.id, created_at=WITHIN_THE_SECOND_WEEK)
    fixtures.add_project_group(world.conn, gemini, late, 5, "2024-03-11T00:00:00Z")
    fixtures.add_group_user(world.conn, late, ben.id, created_at=FEBRUARY_1)
    assert trend(alice, "users") == [0, 1, 2]


def test_membership_counts_from_its_instant(world, alice, gemini, users):
    anna, ben, *_ = users
    world.member(gemini, anna, created_at="2024-03-03T23:59:59.999Z")
    world.member(gemini, ben, created_at="2024-03-04T00:00:00Z")
    assert trend(alice, "users") == [1, 2, 2]


@pytest.mark.usefixtures("gemini")
def test_membership_in_another_project_does_not_count(world, alice, users):
    world.member(world.project("vostok", created_at=JANUARY_1), users[0], created_at=FEBRUARY_1)
    assert trend(alice, "users") == [0, 0, 0]
    assert trend(alice, "users", "vostok") == [1, 1, 1]


@pytest.mark.parametrize("table", ["past_project_user_roles", "past_project_group_roles", "past_group_users"])
def test_a_membership_that_ended_counts_for_the_weeks_before(world, alice, gemini, users, table):
    anna, *_ = users
    group_id = groups.insert(world.conn, "team")
    ended = [FEBRUARY_1, WITHIN_THE_SECOND_WEEK]
    if table == "past_project_user_roles":
        world.conn.execute("INSERT INTO past_project_user_roles VALUES (%s, %s, 5, %s, %s)", [gemini, anna.id, *ended])
    elif table == "past_project_group_roles":
        fixtures.add_group_user(world.conn, group_id, anna.id, created_at=FEBRUARY_1)
        world.conn.execute(
            "INSERT INTO past_project_group_roles VALUES (%s, %s, 5, %s, %s)", [gemini, group_id, *ended]
        )
    else:
        fixtures.add_project_group(world.conn, gemini, group_id, 5, FEBRUARY_1)
        world.conn.execute("INSERT INTO past_group_users VALUES (%s, %s, %s, %s)", [group_id, anna.id, *ended])
    assert trend(alice, "users") == [1, 0, 0]


@pytest.mark.parametrize(
    "removal",
    [
        "DELETE FROM project_user_roles WHERE project_id = 'gemini'",
        "DELETE FROM project_group_roles WHERE project_id = 'gemini'",
        "DELETE FROM group_users",
        "DELETE FROM groups WHERE name = 'team'",
    ],
)
def test_removing_a_member_keeps_the_past(world, alice, gemini, users, removal):
    anna, *_ = users
    if "user_roles" in removal:
        world.member(gemini, anna, created_at=FEBRUARY_1)
    else:
        group_id = groups.insert(world.conn, "team")
        fixtures.add_project_group(world.conn, gemini, group_id, 5, FEBRUARY_1)
        fixtures.add_group_user(world.conn, group_id, anna.id, created_at=FEBRUARY_1)
    assert running_week(alice, "users") == 1
    world.conn.execute(removal)
    assert trend(alice, "users") == [1, 1, 1]
    assert running_week(alice, "users") == 0


def test_a_project_created_in_the_running_week_is_in_that_week(world, alice, apollo):
    world.flag("a", apollo)
    found = entries(alice, apollo, "/api/admin/insights")[-1]
    assert {key: found[key] for key in ("total", "active", "health", "users")} == {
        "total": 1,
        "active": 1,
        "health": 100,
        "users": 0,
    }
