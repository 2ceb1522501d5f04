"""Overview and health report of a project: which callers see it, and every property."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rules.access import SYSTEM
from sql.catalog import environments
from sql.database import value
from sql.flags import favorites as flag_favorites
from sql.people import groups, roles
from tests.support import fixtures
from tests.support.world import Caller, World, refused

PROJECTS = "/api/admin/projects"
APOLLO = f"{PROJECTS}/apollo/overview"
LONG_AGO = "2024-01-01T00:00:00Z"
STRATEGY = {
    "name": "flexibleRollout",
    "title": "Everyone, step by step é",
    "disabled": False,
    "constraints": [
        {"contextName": "region", "operator": "IN", "values": ["eu"], "inverted": True, "caseInsensitive": False}
    ],
    "variants": [],
    "parameters": {"rollout": "50", "stickiness": "default", "groupId": "gemini"},
    "segments": [1, 2],
}


def overview(caller: Caller, project: str = "gemini") -> Any:
    """The overview of a project."""
    response = caller.get(f"{PROJECTS}/{project}/overview")
    assert response.status_code == 200
    return response.json


@pytest.fixture
def gemini(world: World) -> str:
    """A project; beside it another one, vostok."""
    world.project("vostok")
    return world.project("gemini")


@pytest.fixture
def ago(world: World) -> Callable[[Any], datetime]:
    """ago(days): that instant; a timedelta is taken as it is."""
    now = value(world.conn, "SELECT now()")
    return lambda length: now - (length if isinstance(length, timedelta) else timedelta(days=length))


# --- Visibility -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["open", "protected"])
def test_everybody_sees_open_and_protected_projects(world, victor, mode):
    world.project("gemini", mode=mode)
    assert overview(victor)["mode"] == mode


def test_only_roles_in_the_project_itself_show_a_private_project(world, victor, apollo):
    crew, others = groups.insert(world.conn, "crew"), groups.insert(world.conn, "others", root_role=1)
    fixtures.add_group_user(world.conn, crew, victor.id)
    fixtures.add_group_user(world.conn, others, world.user("Nina").id)
    fixtures.add_project_group(world.conn, apollo, others, 4)
    world.member("default", victor, role=roles.insert(world.conn, "Reviewer", type="custom"))
    world.member(world.project("vostok", mode="private"), victor)
    fixtures.add_project_group(world.conn, "vostok", crew, 4)
    assert overview(victor, "vostok")["mode"] == "private"
    refused(victor.get(APOLLO), 404, "NotFoundError")
    fixtures.add_project_group(world.conn, apollo, crew, 5)
    assert overview(victor, "apollo")["name"] == "Apollo"
    fixtures.remove_group_user(world.conn, crew, victor.id)
    refused(victor.get(APOLLO), 404, "NotFoundError")


@pytest.mark.usefixtures("apollo")
@pytest.mark.parametrize(("root_role", "status"), [(1, 200), (2, 200), (3, 404), (None, 404), ("custom", 200)], ids=str)
def test_the_root_role_of_a_group_counts_as_that_of_its_users(world, victor, root_role, status):
    if root_role == "custom":
        root_role = roles.insert(world.conn, "Auditor", type="root-custom")
        assert world.user("Rita", root_role=root_role).get(APOLLO).status_code == status
    fixtures.add_group_user(world.conn, groups.insert(world.conn, "group", root_role=root_role), victor.id)
    assert victor.get(APOLLO).status_code == status


@pytest.mark.parametrize(
    "path",
    [
        *(f"/api/admin/projects/{id}/overview" for id in ("Default", "default%20", "default%00", "defaul", "%25", "*")),
        *("/api/admin/projects/default/overview/", "/api/admin/projects//overview", "/api//admin/projects/default"),
        *("/api/admin/projects/default//overview", "/api/admin/projects/default/Overview"),
    ],
)
def test_other_spellings_of_the_id_and_the_path_are_404(alice, path):
    refused(alice.get(path), 404, "NotFoundError")


# --- The properties ---------------------------------------------------------------------------------------------------

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


def test_a_bare_project_has_all_properties(world, alice):
    world.project("gemini", environments=(), created_at="2024-02-29T12:34:56.789Z")
    assert overview(alice) == {
        "stats": NOTHING,
        "version": 1,
        "name": "Gemini",
        "description": None,
        "defaultStickiness": "default",
        "mode": "open",
        "featureLimit": None,
        "featureNaming": {"pattern": None, "example": None, "description": None},
        "members": 0,
        "health": 100,
        "environments": [],
        "featureTypeCounts": [],
        "updatedAt": None,
        "archivedAt": None,
        "createdAt": "2024-02-29T12:34:56.789Z",
        "favorite": False,
        "onboardingStatus": {"status": "onboarding-started"},
    }


def test_properties_are_returned_as_stored(world, victor):
    world.project(
        "gemini",
        name='Gemini ♊ "8"',
        description="Two\nlines",
        mode="protected",
        default_stickiness="userId",
        feature_limit=0,
        naming_pattern="^[a-z]+\\.[0-9]{2}$",
        naming_example="abc.12",
        naming_description="Team, dot, number",
        created_at="2024-02-29T00:00:00Z",
        updated_at="2024-03-01T23:59:59.999Z",
        archived_at="2024-03-01T10:20:30.405Z",
    )
    record = overview(victor)
    assert record == record | {
        "name": 'Gemini ♊ "8"',
        "description": "Two\nlines",
        "mode": "protected",
        "defaultStickiness": "userId",
        "featureLimit": 0,
        "createdAt": "2024-02-29T00:00:00.000Z",
        "updatedAt": "2024-03-01T23:59:59.999Z",
        "archivedAt": "2024-03-01T10:20:30.405Z",
        "featureNaming": {
            "pattern": "^[a-z]+\\.[0-9]{2}$",
            "example": "abc.12",
            "description": "Team, dot, number",
        },
    }


def test_environments_are_sorted_and_have_their_default_strategy(world, alice):
    # development has the sort order 1, production 2.
    for name, order in (("zeta", 0), ("qa", 1), ("alpha", 1), ("last", 99), ("elsewhere", 1)):
        environments.insert(world.conn, name, "test", sort_order=order)
    world.project("gemini", environments=("last", "qa", "development", "zeta", "alpha"))
    fixtures.add_project_environment(world.conn, "gemini", "production", STRATEGY)
    names = ["zeta", "alpha", "development", "qa", "production", "last"]
    expected: list[dict[str, Any]] = [{"environment": name, "changeRequestsEnabled": False} for name in names]
    expected[4]["defaultStrategy"] = STRATEGY
    assert overview(alice)["environments"] == expected


def test_flag_types_are_counted_without_archived_flags(world, alice, gemini):
    for name, type, archived_at in (
        ("a", "release", None),
        ("b", "release", None),
        ("c", "release", LONG_AGO),
        ("d", "kill-switch", None),
        ("e", "experiment", LONG_AGO),
        ("f", "operational", None),
        ("g", "sunset", None),
    ):
        world.flag(name, gemini, type=type, archived_at=archived_at)
    world.flag("z", "vostok", type="permission")
    assert overview(alice)["featureTypeCounts"] == [
        {"type": "kill-switch", "count": 1},
        {"type": "operational", "count": 1},
        {"type": "release", "count": 2},
        {"type": "sunset", "count": 1},
    ]


@pytest.mark.parametrize(
    ("active", "stale", "health"),
    # 66.67, 33.33, 12.5 and 62.5 per cent: half is rounded up.
    [(2, 1, 67), (1, 2, 33), (1, 7, 13), (5, 3, 63), (0, 2, 0), (3, 0, 100), (0, 0, 100)],
)
def test_health_is_the_share_of_active_flags(world, alice, gemini, active, stale, health):
    for number in range(active + stale):
        world.flag(f"f{number}", gemini, stale_since=None if number < active else LONG_AGO)
    world.flag("archived", gemini, archived_at=LONG_AGO, stale_since=LONG_AGO)
    world.flag("z", "vostok", stale_since=LONG_AGO)
    assert overview(alice)["health"] == health


@pytest.mark.parametrize(
    ("type", "days"),
    [
        ("release", 40),
        ("experiment", 40),
        ("operational", 7),
        ("kill-switch", None),
        ("permission", None),
        ("sunset", 90),
    ],
)
def test_a_flag_older_than_its_lifetime_is_unhealthy(world, alice, gemini, ago, type, days):
    world.flag("a", gemini, type=type, created_at=ago(days or 9999))
    assert overview(alice)["health"] == 100
    if days is not None:
        world.flag("b", gemini, type=type, created_at=ago(timedelta(days=days, milliseconds=1)))
        assert overview(alice)["health"] == 50


def test_members_are_distinct_users_with_a_role_in_the_project(world, alice, gemini):
    anna, ben, cora, dora = (world.user(name, root_role=2) for name in ("Anna", "Ben", "Cora", "Dora"))
    one, two = (groups.insert(world.conn, name, root_role=1) for name in ("one", "two"))
    custom = roles.insert(world.conn, "Reviewer")
    for group_id, user in ((one, anna), (one, ben), (two, ben), (two, cora)):
        fixtures.add_group_user(world.conn, group_id, user.id)
    assert overview(alice)["members"] == 0
    world.member(gemini, anna, role=4)
    world.member(gemini, anna, role=custom)
    assert overview(alice)["members"] == 1
    fixtures.add_project_group(world.conn, gemini, one, 5)
    # Anna by two roles and a group, Ben by the group.
    assert overview(alice)["members"] == 2
    fixtures.add_project_group(world.conn, gemini, one, custom)
    fixtures.add_project_group(world.conn, gemini, two, 4)
    # Ben by both groups, Cora by the second.
    assert overview(alice)["members"] == 3
    world.member("vostok", dora)
    assert overview(alice)["members"] == 3
    fixtures.remove_group_user(world.conn, two, cora.id)
    assert overview(alice)["members"] == 2
    world.conn.execute("DELETE FROM project_user_roles WHERE user_id = %s", [anna.id])
    fixtures.remove_group_user(world.conn, one, anna.id)
    assert overview(alice)["members"] == 1


def test_favorite_is_that_of_the_caller(world, alice, victor, gemini):
    for user, project in ((victor, gemini), (alice, "vostok")):
        fixtures.insert(world.conn, "project_favorites", user_id=user.id, project_id=project)
    callers = (victor, alice, world.api_key())
    assert [overview(caller, gemini)["favorite"] for caller in callers] == [True, False, False]
    assert [overview(caller, "vostok")["favorite"] for caller in callers] == [False, True, False]


# --- stats ------------------------------------------------------------------------------------------------------------

SECOND = timedelta(seconds=1)
# How long ago; whether it is in the current window, the last 30 days, and in the past one, the 30 days before.
WINDOWS = [
    (timedelta(), 1, 0),
    (timedelta(days=30) - SECOND, 1, 0),
    (timedelta(days=30) + SECOND, 0, 1),
    (timedelta(days=60) - SECOND, 0, 1),
    (timedelta(days=60) + SECOND, 0, 0),
    (timedelta(days=400), 0, 0),
]


@pytest.fixture
def stats(alice: Caller) -> Callable[..., Any]:
    """stats(project="gemini"): those of its overview."""
    return lambda project="gemini": overview(alice, project)["stats"]


@pytest.mark.parametrize(("length", "current", "past"), WINDOWS)
def test_everything_counts_in_the_window_of_its_instant(world, gemini, stats, ago, length, current, past):
    at = ago(length)
    world.flag("created", gemini, created_at=at)
    world.flag("archived", gemini, created_at=ago(800), archived_at=at)
    world.flag("in-production", gemini, created_at=at - timedelta(days=700), first_in_production_at=at)
    fixtures.record(world.conn, "feature-created", SYSTEM, project=gemini, created_at=at)
    world.member(gemini, world.user("Anna"), created_at=at)
    assert stats() == {
        "avgTimeToProdCurrentWindow": 700 * current,
        "createdCurrentWindow": current,
        "createdPastWindow": past,
        "archivedCurrentWindow": current,
        "archivedPastWindow": past,
        "projectActivityCurrentWindow": current,
        "projectActivityPastWindow": past,
        "projectMembersAddedCurrentWindow": current,
    }
    assert stats("vostok") == NOTHING


def test_created_flags_are_those_not_archived_now(world, gemini, stats, ago):
    alive = ((20, None), (29, None), (31, None), (59, None), (57, None), (61, None))
    for days, archived in ((1, 1), (10, 0.5), (35, 2), (58, 40), *alive):
        world.flag(f"f{days}", gemini, created_at=ago(days), archived_at=None if archived is None else ago(archived))
    # Created: 20 and 29 days ago; 31, 57 and 59 days ago. Archived: those of 1, 10 and 35 days ago; that of 58.
    numbers = {"createdCurrentWindow": 2, "createdPastWindow": 3, "archivedCurrentWindow": 3, "archivedPastWindow": 1}
    assert stats() == NOTHING | numbers
    # A revived flag is created, and was archived.
    world.conn.execute("UPDATE flags SET archived_at = NULL WHERE name = 'f10'")
    assert stats() == NOTHING | numbers | {"createdCurrentWindow": 3}


def test_a_flag_archived_twice_in_a_window_is_one_flag(world, gemini, stats, ago):
    flag_id = world.flag("a", gemini, created_at=ago(100), archived_at=ago(2))
    # Being marked stale is not being archived.
    stale = world.flag("b", gemini, created_at=ago(90))
    states = [(flag_id, "archived", *days) for days in ((5, 4), (9, 8), (50, 40), (55, 52))]
    for flag, state, started, ended in (*states, (stale, "stale", 5, 4)):
        dates = {"started_at": ago(started), "ended_at": ago(ended)}
        fixtures.insert(world.conn, "past_flag_states", flag_id=flag, state=state, **dates)
    assert stats() == NOTHING | {"archivedCurrentWindow": 1, "archivedPastWindow": 1}


# All over three months, and around every instant at which something begins or ends: a window, a day, and this very
# moment.
FILL = """
    WITH instants AS (
        SELECT now() - make_interval(days => days) AS instant FROM unnest(ARRAY[0, 30, 60]) AS days
    ),
    edges AS (
        SELECT instant FROM instants
     UNION ALL
        SELECT date_trunc('day', instant AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' + make_interval(days => after)
          FROM instants, unnest(ARRAY[0, 1]) AS after
    )
    INSERT INTO events (created_at, type, created_by, project)
    SELECT at, 'feature-updated', 'system', project
      FROM (SELECT now() - number * 7919 % 7776000 * interval '1 second' AS at FROM generate_series(1, 6000) AS number
         UNION ALL
            SELECT instant + microseconds * interval '1 microsecond' FROM edges, unnest(ARRAY[-1, 0, 1]) AS microseconds
             WHERE instant + microseconds * interval '1 microsecond' <= now()
         UNION ALL
            SELECT now() + interval '1 hour') AS instants,
           unnest(ARRAY['gemini', 'vostok', 'Gemini', NULL]) AS project
     WHERE project = 'gemini'
        OR extract(second FROM at)::integer % 3 = 0
"""
COUNT = """
    SELECT count(*)
      FROM events
     WHERE project = 'gemini'
       AND created_at > now() - %(from)s::interval
       AND created_at <= now() - %(to)s::interval
"""


@pytest.mark.usefixtures("gemini")
def test_activity_is_the_number_of_events_of_the_project(conn, stats):
    conn.execute(FILL)
    found = stats()
    assert found["projectActivityCurrentWindow"] == value(conn, COUNT, {"from": "30 days", "to": "0"}) > 1500
    assert found["projectActivityPastWindow"] == value(conn, COUNT, {"from": "60 days", "to": "30 days"})


@pytest.fixture
def group(world: World, gemini: str, ago: Callable[[Any], datetime]) -> Callable[..., None]:
    """group(days, [(user, days)]): add a group with a role in gemini since then, and its users since they joined."""

    def make(role_days_ago: int, users: list[tuple[Caller, int]]) -> None:
        group_id = groups.insert(world.conn, f"group-{role_days_ago}-{len(users)}")
        fixtures.add_project_group(world.conn, gemini, group_id, 5, ago(role_days_ago))
        for user, days in users:
            fixtures.add_group_user(world.conn, group_id, user.id or 0, created_at=ago(days))

    return make


@pytest.mark.parametrize(
    ("role", "joined", "expected"),
    [(40, 40, 0), (40, 5, 1), (5, 40, 1), (5, 5, 1), (29, 31, 1), (31, 29, 1), (31, 31, 0)],
)
def test_users_of_a_group_are_added_by_the_later_of_its_role_and_joining(world, stats, group, role, joined, expected):
    group(role, [(world.user("Anna"), joined)])
    assert stats()["projectMembersAddedCurrentWindow"] == expected


def test_members_added_are_distinct_users(world, gemini, stats, ago, group):
    anna, ben, cora, dora, emil = (world.user(name, root_role=1) for name in ("Anna", "Ben", "Cora", "Dora", "Emil"))
    group(1, [])
    assert stats()["projectMembersAddedCurrentWindow"] == 0
    world.member(gemini, anna, created_at=ago(3))
    world.member(gemini, anna, role=4, created_at=ago(2))
    group(50, [(anna, 4), (ben, 5), (cora, 45)])
    group(10, [(ben, 9), (dora, 60)])
    world.member(gemini, emil, created_at=ago(33))
    # Anna directly, twice, and by a group; Ben by two groups; Dora, whose group came later. Cora and Emil have been
    # there longer.
    assert stats()["projectMembersAddedCurrentWindow"] == 3


@pytest.mark.parametrize(
    ("hours", "expected"),
    [
        # 1.5 and 2.5 days.
        ([36, 60], 2),
        # 1, 1 and 2 days: 1.333; 1, 2 and 2: 1.667.
        ([24, 24, 48], 1.3),
        ([24, 48, 48], 1.7),
        # Never below 0.1.
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


def test_time_to_production_omits_flags_of_the_past_window_and_counts_archived_ones(world, gemini, stats, ago):
    world.flag("a", gemini, created_at=ago(20), first_in_production_at=ago(16), archived_at=ago(1))  # 4 days
    world.flag("b", gemini, created_at=ago(40), first_in_production_at=ago(29))  # 11 days
    world.flag("c", gemini, created_at=ago(131), first_in_production_at=ago(31))  # 100 days, in the past window
    # (4 + 11) / 2
    assert stats()["avgTimeToProdCurrentWindow"] == 7.5


# --- onboardingStatus -------------------------------------------------------------------------------------------------

STARTED = {"status": "onboarding-started"}
ONBOARDED = {"status": "onboarded"}


@pytest.fixture
def status(alice: Caller) -> Callable[..., Any]:
    """status(project="gemini"): the onboardingStatus of its overview."""
    return lambda project="gemini": overview(alice, project)["onboardingStatus"]


def report(world: World, flag: str, project: str, at: str = "2024-03-01T10:00:00Z") -> None:
    """Let usage of a flag have been reported."""
    usage = {"environment": "development", "app": "web", "at": at, "yes": 0, "no": 1}
    fixtures.report_usage(world.conn, [usage | {"project": project, "flag": flag}])


def first(name: str) -> dict[str, str]:
    """The status that names the oldest flag."""
    return {"status": "first-flag-created", "feature": name}


def test_onboarding_begins_without_a_flag_and_ends_with_usage(world, gemini, status):
    assert status() == STARTED
    flag = world.flag("a", gemini, created_at="2019-01-01T00:00:00Z")
    world.flag("b", gemini, created_at="2019-01-02T00:00:00Z")
    world.flag("z", "vostok")
    report(world, "z", "vostok")
    assert status() == first("a")
    report(world, "b", gemini, at="2019-01-03T00:00:00Z")
    assert status() == ONBOARDED
    # Without a live flag, it begins again.
    world.conn.execute("UPDATE flags SET archived_at = now() WHERE project_id = 'gemini'")
    assert status() == STARTED
    world.conn.execute("UPDATE flags SET archived_at = NULL WHERE id = %s", [flag])
    assert status() == ONBOARDED


def test_the_oldest_live_flag_is_named(world, gemini, status):
    old = world.flag("d", gemini, created_at="2024-02-28T00:00:00Z", archived_at="2024-03-02T00:00:00Z")
    assert status() == STARTED
    # Neither by name nor by the order of insertion.
    for name, day in (("b", 2), ("c", 1), ("a", 3)):
        world.flag(name, gemini, created_at=f"2024-03-0{day}T00:00:00Z")
    world.flag("z", "vostok", created_at="2024-02-01T00:00:00Z")
    assert status() == first("c")
    world.conn.execute("UPDATE flags SET archived_at = NULL WHERE id = %s", [old])
    assert status() == first("d")


@pytest.mark.usefixtures("gemini")
def test_a_flag_that_moves_brings_its_usage_and_leaves_what_was_reported(world, status):
    flag_id = world.flag("a", "vostok", created_at="2024-03-01T10:30:00Z")
    report(world, "a", "vostok")
    world.flag("b", "vostok")
    world.conn.execute("UPDATE flags SET project_id = 'gemini' WHERE id = %s", [flag_id])
    assert (status(), status("vostok")) == (ONBOARDED, ONBOARDED)


def test_usage_of_a_former_flag_belongs_to_its_project(world, gemini, status, alice):
    world.flag("a", "vostok", created_at="2024-02-01T00:00:00Z", archived_at="2024-04-01T00:00:00Z")
    report(world, "a", "vostok")
    assert alice.delete("/api/admin/archive/a").status_code == 200
    world.flag("a", gemini)
    world.flag("b", "vostok")
    assert (status(), status("vostok")) == (first("a"), ONBOARDED)


# --- The health report and the deprecated overview --------------------------------------------------------------------


def test_the_health_report_is_the_overview_with_flags_and_counts(conn, world, victor):
    now = datetime.now(UTC)
    world.project("mobile", description="An app", naming_pattern=".+", created_at=now - timedelta(days=99))
    active = world.flag("d-active", "mobile", enabled_in=("production",))
    world.flag("c-old", "mobile", created_at=now - timedelta(days=41))
    world.flag("b-for-good", "mobile", created_at=now - timedelta(days=410), type="permission")
    world.flag("a-stale", "mobile", created_at=now - timedelta(days=41), stale_since="now")
    world.flag("archived", "mobile", archived_at=now)
    world.flag("elsewhere")
    flag_favorites.add(conn, victor.id, active)
    shown = overview(victor, "mobile")
    del shown["onboardingStatus"], shown["featureTypeCounts"]
    report = victor.get(f"{PROJECTS}/mobile/health-report").json
    found = report.pop("features")
    counts = {"activeCount": 3, "staleCount": 1, "potentiallyStaleCount": 1}
    assert report == shown | counts | {"health": 50}
    assert [(flag["name"], flag["stale"], flag["favorite"]) for flag in found] == [
        ("a-stale", True, False),
        ("b-for-good", False, False),
        ("c-old", False, False),
        ("d-active", False, True),
    ]
    states = [(place["name"], place["enabled"]) for place in found[3]["environments"]]
    assert states == [("development", False), ("production", True)]
    # The deprecated overview has no counts.
    response = victor.get(f"{PROJECTS}/mobile")
    assert response.json == shown | {"features": found}
    assert response.headers["Deprecation"] == "true"
    link = f'<http://localhost{PROJECTS}/mobile/overview>; rel="successor-version"'
    assert response.headers["Link"] == link
    # API tokens have no favourites.
    report = world.api_key().get(f"{PROJECTS}/mobile/health-report").json
    assert (report["favorite"], report["features"][3]["favorite"]) == (False, False)


def test_a_health_report_without_flags(victor):
    report = victor.get(f"{PROJECTS}/default/health-report").json
    names = ("features", "health", "activeCount", "staleCount", "potentiallyStaleCount")
    assert [report[name] for name in names] == [[], 100, 0, 0, 0]


def test_the_link_to_the_successor_is_a_valid_address(victor):
    link = victor.get(f"{PROJECTS}/a%2F%3E%20b").headers["Link"]
    assert link == f'<http://localhost{PROJECTS}/a%2F%3E%20b/overview>; rel="successor-version"'
