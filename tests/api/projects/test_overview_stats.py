"""Project overview: stats. The current window is the last 30 days, the past one the 30 days before."""

from datetime import timedelta

import pytest

from rules.access import SYSTEM
from sql.database import value
from sql.people import groups
from tests.support import fixtures
from tests.support.world import World

SECOND = timedelta(seconds=1)
NOTHING = {
    "avgTimeToProdCurrentWindow": 0,
    "createdCurrentWindow": 0,
    "createdPastWindow": 0,
    "archivedCurrentWindow": 0,
    "archivedPastWindow": 0,
    "projectActivityCurrentWindow": 0,
    "projectActivityPastWindow": 0,
    "projectMembersAddedCurrentWindow": 0,
}
# How long ago, and how many in the current and in the past window.
WINDOWS = [
    (timedelta(), (1, 0)),
    (timedelta(days=29), (1, 0)),
    (timedelta(days=30) - SECOND, (1, 0)),
    (timedelta(days=30) + SECOND, (0, 1)),
    (timedelta(days=60) - SECOND, (0, 1)),
    (timedelta(days=60) + SECOND, (0, 0)),
    (timedelta(days=400), (0, 0)),
]


@pytest.fixture
def gemini(world: World) -> str:
    """A project; beside it another one, vostok."""
    world.project("vostok")
    return world.project("gemini")


@pytest.fixture
def stats(alice):
    """stats(project="gemini"): what the overview says."""

    def read(project="gemini"):
        response = alice.get(f"/api/admin/projects/{project}/overview")
        assert response.status_code == 200
        return response.json["stats"]

    return read


@pytest.fixture
def ago(world: World):
    """ago(days): that instant; a timedelta is taken as it is."""
    now = value(world.conn, "SELECT now()")
    return lambda length: now - (length if isinstance(length, timedelta) else timedelta(days=length))


@pytest.fixture
def group(world: World, gemini, ago):
    """group(role_days_ago, [(user, days)]): a group with a role in gemini since then, and its users with the days since
    they joined.
    """

    def make(role_days_ago, users):
        group_id = groups.insert(world.conn, f"group-{role_days_ago}-{len(users)}")
        fixtures.add_project_group(world.conn, gemini, group_id, 5, ago(role_days_ago))
        for user, days in users:
            fixtures.add_group_user(world.conn, group_id, user.id, created_at=ago(days))
        return group_id

    return make


@pytest.mark.usefixtures("gemini")
def test_a_project_in_which_nothing_happened_has_zeros(stats):
    assert stats() == NOTHING


@pytest.mark.parametrize(("length", "expected"), WINDOWS)
def test_a_flag_counts_in_the_window_of_its_creation(world, gemini, stats, ago, length, expected):
    world.flag("a", gemini, created_at=ago(length))
    assert stats() == NOTHING | dict(zip(("createdCurrentWindow", "createdPastWindow"), expected, strict=True))
    assert stats("vostok") == NOTHING


def test_flags_created_are_those_not_archived_now(world, gemini, stats, ago):
    for days, archived in (
        (1, 1),
        (10, 0.5),
        (20, None),
        (29, None),
        (31, None),
        (35, 2),
        (59, None),
        (58, 40),
        (57, None),
        (61, None),
    ):
        world.flag(f"f{days}", gemini, created_at=ago(days), archived_at=None if archived is None else ago(archived))
    # Current: 20 and 29 days. Past: 31, 57 and 59. Archived in the current window: 1, 10 and 35; in the past one: 58.
    assert stats() == NOTHING | {
        "createdCurrentWindow": 2,
        "createdPastWindow": 3,
        "archivedCurrentWindow": 3,
        "archivedPastWindow": 1,
    }


def test_a_revived_flag_was_archived_then_but_is_not_now(world, gemini, stats, ago):
    flag_id = world.flag("a", gemini, created_at=ago(10), archived_at=ago(5))
    assert stats() == NOTHING | {"archivedCurrentWindow": 1}
    world.conn.execute("UPDATE flags SET archived_at = NULL WHERE id = %s", [flag_id])
    assert stats() == NOTHING | {"createdCurrentWindow": 1, "archivedCurrentWindow": 1}


def test_a_flag_archived_twice_in_a_window_is_one_flag(world, gemini, stats, ago):
    flag_id = world.flag("a", gemini, created_at=ago(100), archived_at=ago(2))
    for started, ended in ((5, 4), (9, 8), (50, 40), (55, 52)):
        world.conn.execute(
            "INSERT INTO past_flag_states VALUES (%s, 'archived', %s, %s)", [flag_id, ago(started), ago(ended)]
        )
    # Being marked stale is not being archived.
    world.conn.execute(
        "INSERT INTO past_flag_states VALUES (%s, 'stale', %s, %s)",
        [world.flag("b", gemini, created_at=ago(90)), ago(5), ago(4)],
    )
    assert stats() == NOTHING | {"archivedCurrentWindow": 1, "archivedPastWindow": 1}


@pytest.mark.parametrize(("length", "expected"), WINDOWS)
def test_a_flag_counts_in_the_window_of_its_archiving(world, gemini, stats, ago, length, expected):
    world.flag("a", gemini, created_at=ago(800), archived_at=ago(length))
    assert stats() == NOTHING | dict(zip(("archivedCurrentWindow", "archivedPastWindow"), expected, strict=True))
    assert stats("vostok") == NOTHING


@pytest.mark.parametrize(("length", "expected"), WINDOWS)
def test_an_event_counts_in_the_window_of_its_instant(world, gemini, stats, ago, length, expected):
    fixtures.record(world.conn, "feature-created", SYSTEM, project=gemini, created_at=ago(length))
    assert stats() == NOTHING | dict(
        zip(("projectActivityCurrentWindow", "projectActivityPastWindow"), expected, strict=True)
    )
    assert stats("vostok") == NOTHING


def test_activity_is_all_events_of_the_project_and_no_others(world, gemini, stats, ago):
    for days, project, environment in (
        (1, gemini, "production"),
        (2, gemini, None),
        (2, gemini, None),
        (3, "vostok", "production"),
        (4, None, "production"),
        (5, "Gemini", None),
        (40, gemini, None),
        (41, "vostok", None),
        (45, None, None),
    ):
        fixtures.record(
            world.conn, "project-updated", SYSTEM, project=project, environment=environment, created_at=ago(days)
        )
    assert stats() == NOTHING | {"projectActivityCurrentWindow": 3, "projectActivityPastWindow": 1}


@pytest.mark.parametrize(("length", "expected"), WINDOWS)
def test_members_added_in_the_current_window_count(world, gemini, stats, ago, length, expected):
    world.member(gemini, world.user("Anna"), created_at=ago(length))
    assert stats() == NOTHING | {"projectMembersAddedCurrentWindow": expected[0]}
    assert stats("vostok") == NOTHING


@pytest.mark.parametrize(
    ("role", "joined", "expected"),
    [(40, 40, 0), (40, 5, 1), (5, 40, 1), (5, 5, 1), (29, 31, 1), (31, 29, 1), (31, 31, 0)],
)
def test_through_a_group_the_later_of_its_role_and_of_joining_counts(world, stats, group, role, joined, expected):
    group(role, [(world.user("Anna"), joined)])
    assert stats()["projectMembersAddedCurrentWindow"] == expected


def test_members_added_are_distinct_users(world, gemini, stats, ago, group):
    anna, ben, cora, dora, emil = (world.user(name) for name in ("Anna", "Ben", "Cora", "Dora", "Emil"))
    world.member(gemini, anna, created_at=ago(3))
    world.member(gemini, anna, role=4, created_at=ago(2))
    group(50, [(anna, 4), (ben, 5), (cora, 45)])
    group(10, [(ben, 9), (dora, 60)])
    world.member(gemini, emil, created_at=ago(33))
    # Anna directly, twice, and by a group; Ben by two groups; Dora, whose group came later. Cora and Emil have been
    # there longer.
    assert stats()["projectMembersAddedCurrentWindow"] == 3


def test_root_roles_and_groups_without_users_add_no_members(world, stats, group):
    world.user("Anna", root_role=1)
    fixtures.add_group_user(world.conn, groups.insert(world.conn, "editors", root_role=2), world.user("Ben").id)
    group(1, [])
    assert stats()["projectMembersAddedCurrentWindow"] == 0


@pytest.mark.parametrize(
    ("hours", "expected"),
    [
        ([24], 1),
        # 1.5 and 2.5 days.
        ([36, 60], 2),
        # 1, 1 and 2 days: 1.333; 1, 2 and 2: 1.667.
        ([24, 24, 48], 1.3),
        ([24, 48, 48], 1.7),
        # Five minutes are 0.003 days, a moment is none: never below 0.1.
        ([1 / 12], 0.1),
        ([0], 0.1),
        # 0.003, 0.003 and 0.5 days: 0.169.
        ([1 / 12, 1 / 12, 12], 0.2),
        # A hundred days, begun long before the window.
        ([2400], 100),
    ],
)
def test_time_to_production_is_the_mean_in_days_with_one_decimal(world, gemini, stats, ago, hours, expected):
    first = ago(2)
    for number, taken in enumerate(hours):
        world.flag(f"f{number}", gemini, created_at=first - timedelta(hours=taken), first_in_production_at=first)
    world.flag("never", gemini, created_at=ago(500))
    assert stats()["avgTimeToProdCurrentWindow"] == expected
    assert stats("vostok") == NOTHING


@pytest.mark.parametrize(("length", "expected"), WINDOWS)
def test_time_to_production_counts_flags_live_since_the_window(world, gemini, stats, ago, length, expected):
    world.flag("a", gemini, created_at=ago(length) - timedelta(days=7), first_in_production_at=ago(length))
    assert stats()["avgTimeToProdCurrentWindow"] == 7 * expected[0]


def test_time_to_production_omits_flags_live_before(world, gemini, stats, ago):
    world.flag("a", gemini, created_at=ago(20), first_in_production_at=ago(16))  # 4 days
    world.flag("b", gemini, created_at=ago(40), first_in_production_at=ago(29))  # 11 days
    world.flag("c", gemini, created_at=ago(131), first_in_production_at=ago(31))  # 100 days, in the past window
    # (4 + 11) / 2
    assert stats()["avgTimeToProdCurrentWindow"] == 7.5


def test_an_archived_flag_that_got_there_still_counts(world, gemini, stats, ago):
    world.flag("a", gemini, created_at=ago(20), first_in_production_at=ago(16), archived_at=ago(1))
    assert stats()["avgTimeToProdCurrentWindow"] == 4
