"""The arrays of the instance insights, calculated by hand."""

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rules.access import SYSTEM
from rules.passwords import password_hasher
from sql.catalog import environments
from sql.database import value
from sql.people import groups
from tests.support import fixtures
from tests.support.world import PASSWORD, Caller, World

INSIGHTS = "/api/admin/insights"
# Three weeks: 2024-02-26 to 2024-03-03, to 2024-03-10, to 2024-03-17.
MARCH = f"{INSIGHTS}?from=2024-02-26&to=2024-03-17"
WEEKS = [("2024-09", "2024-03-03"), ("2024-10", "2024-03-10"), ("2024-11", "2024-03-17")]
JANUARY_1, FEBRUARY_1 = "2024-01-01T00:00:00Z", "2024-02-01T12:00:00Z"
# Instants in each week, and the last and the first one where the second and the third meet.
FIRST, SECOND, THIRD = "2024-02-28T08:00:00Z", "2024-03-06T08:00:00Z", "2024-03-13T08:00:00Z"
SUNDAY, MONDAY = "2024-03-10T23:59:59.999Z", "2024-03-11T00:00:00Z"


def trend(caller: Caller, name: str, *fields: str, path: str = MARCH, project: str | None = None) -> list[Any]:
    """Fields of the entries of an array, of one project or of all."""
    response = caller.get(path)
    assert response.status_code == 200
    entries = [entry for entry in response.json[name] if project in (None, entry.get("project"))]
    found = [tuple(entry[field] for field in fields) for entry in entries]
    return [first for (first,) in found] if len(fields) == 1 else found


def running_week(caller: Caller, name: str, *fields: str, project: str | None = None) -> Any:
    """Fields of the entry of the running week."""
    return trend(caller, name, *fields, path=INSIGHTS, project=project)[-1]


@pytest.fixture
def gemini(world: World) -> str:
    """A project as old as 2024."""
    return world.project("gemini", created_at=JANUARY_1)


# --- Users ------------------------------------------------------------------------------------------------------------


def test_weeks_without_users_and_flags_have_zeros(alice, gemini):
    found = alice.get(MARCH).json
    assert list(found) == [
        f"{name}Trends" for name in ("user", "flag", "projectFlag", "metricsSummary", "environmentType")
    ]
    flags = {"total": 0, "active": 0, "stale": 0, "potentiallyStale": 0}
    entries = [(week, f"{sunday}T23:59:59.999Z") for week, sunday in WEEKS]
    assert found["userTrends"] == [{"date": date, "total": 0, "active": 0, "inactive": 0} for _, date in entries]
    assert found["flagTrends"] == [{"date": date} | flags for _, date in entries]
    more = flags | {"project": gemini, "health": 100, "timeToProduction": 0, "users": 0}
    ours = [entry for entry in found["projectFlagTrends"] if entry["project"] == gemini]
    assert ours == [{"week": week, "date": date} | more for week, date in entries]
    assert found["metricsSummaryTrends"] == found["environmentTypeTrends"] == []


@pytest.mark.parametrize(
    ("fields", "days", "expected"),
    [
        # In each week: a user is active, inactive or missing.
        ({"created_at": SUNDAY}, [], "-ii"),
        ({"created_at": MONDAY}, [], "--i"),
        ({"deleted_at": SUNDAY}, ["2024-03-01"], "a--"),
        ({"deleted_at": MONDAY}, ["2024-03-01"], "aa-"),
        ({"account_type": "Service Account"}, ["2024-03-01"], "---"),
        # The 90 days before the end of 2024-03-03 begin with the end of 2023-12-04; those of the next weeks seven days
        # later.
        ({}, ["2023-12-04"], "iii"),
        ({}, ["2023-12-05"], "aii"),
        ({}, ["2023-12-12"], "aai"),
        ({}, ["2024-03-03"], "aaa"),
        # Not yet seen at the end of the week before.
        ({}, ["2024-03-04"], "iaa"),
        ({}, ["2024-03-11"], "iia"),
        ({}, ["2024-03-18"], "iii"),
        ({}, ["2024-02-05", "2024-02-28", "2024-02-29", "2024-03-05"], "aaa"),
    ],
)
def test_users_count_at_the_end_of_each_week(world, alice, fields, days, expected):
    user = world.user("Anna")
    fixtures.update(world.conn, "users", user.id or 0, **{"created_at": "2023-01-01T00:00:00Z"} | fields)
    for day in days:
        fixtures.insert(world.conn, "user_seen_days", user_id=user.id, day=day)
    counts = {"a": (1, 1, 0), "i": (1, 0, 1), "-": (0, 0, 0)}
    assert trend(alice, "userTrends", "total", "active", "inactive") == [counts[week] for week in expected]


def test_users_are_active_by_token_login_and_session(world, app, alice, victor, stranger):
    def count():
        return running_week(alice, "userTrends", "total", "active", "inactive")

    with app.app_context():
        kept = password_hasher().hash(PASSWORD)
    # The administrator of the bootstrap, Alice, who asks, Victor, Anna and Ben.
    world.user("Anna", password_hash=kept)
    ben = world.user("Ben")
    assert running_week(world.api_key(), "userTrends", "total", "active") == (5, 0)
    assert count() == (5, 1, 4)
    assert victor.get(INSIGHTS).status_code == 200
    assert count() == (5, 2, 3)
    login = {"username": "anna", "password": "not the one"}
    for password, status, active in (("not the one", 401, 2), (PASSWORD, 200, 3)):
        response = stranger.post("/auth/simple/login", json=login | {"password": password})
        assert (response.status_code, count()) == (status, (5, active, 5 - active))
    tomorrow = value(world.conn, "SELECT now() + interval '1 hour'")
    digest = hashlib.sha256(b"session-of-ben").digest()
    fixtures.insert(world.conn, "sessions", digest=digest, user_id=ben.id, expires_at=tomorrow)
    assert stranger.get(INSIGHTS, headers={"Cookie": "session=session-of-ben"}).status_code == 200
    assert count() == (5, 4, 1)
    fixtures.update(world.conn, "users", ben.id, deleted_at="now")
    assert count() == (4, 3, 1)


# --- Flags ------------------------------------------------------------------------------------------------------------

STATES = ("total", "active", "stale", "potentiallyStale")
COUNTS = {"a": (1, 1, 0, 0), "s": (1, 0, 1, 0), "p": (1, 0, 0, 1), "-": (0, 0, 0, 0)}
OLD = {"type": "release", "created_at": "2023-06-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("fields", "past", "expected"),
    [
        # In each week: a flag is active, stale, potentially stale or missing. The past: a state and its time.
        ({"created_at": SUNDAY}, None, "-aa"),
        ({"created_at": MONDAY}, None, "--a"),
        ({"archived_at": SUNDAY}, None, "a--"),
        ({"archived_at": MONDAY}, None, "aa-"),
        ({}, ("archived", SECOND, THIRD), "a-a"),
        ({}, ("archived", SECOND, "2024-03-07T08:00:00Z"), "aaa"),
        ({"archived_at": THIRD}, ("archived", "2024-02-20T08:00:00Z", SECOND), "-a-"),
        ({"stale_since": SUNDAY}, None, "ass"),
        ({"stale_since": MONDAY}, None, "aas"),
        ({}, ("stale", SECOND, THIRD), "asa"),
        # Marked until Tuesday and again from Friday of the second week.
        ({"stale_since": "2024-03-08T08:00:00Z"}, ("stale", "2024-02-20T08:00:00Z", "2024-03-05T08:00:00Z"), "sss"),
        ({"stale_since": "2024-02-20T08:00:00Z", "archived_at": SECOND}, None, "s--"),
        # The end of 2024-03-03 less 40 days is that of 2024-01-23: a flag created then is exactly as old as its
        # lifetime, not older.
        ({"type": "release", "created_at": "2024-01-24T00:00:00Z"}, None, "app"),
        ({"type": "release", "created_at": "2024-01-23T23:59:59.998Z"}, None, "ppp"),
        ({"type": "experiment", "created_at": "2024-01-24T00:00:00Z"}, None, "app"),
        # Less 7 days: that of 2024-02-25.
        ({"type": "operational", "created_at": "2024-02-26T00:00:00Z"}, None, "app"),
        ({"type": "operational", "created_at": "2024-02-25T23:59:59.998Z"}, None, "ppp"),
        ({"type": "permission", "created_at": "2000-01-01T00:00:00Z"}, None, "aaa"),
        # A flag that is marked is not potentially stale.
        (OLD, ("stale", SECOND, THIRD), "psp"),
    ],
)
def test_flags_count_at_the_end_of_each_week(world, alice, gemini, fields, past, expected):
    flag_id = world.flag("a", gemini, **{"type": "kill-switch", "created_at": FEBRUARY_1} | fields)
    if past:
        world.conn.execute("INSERT INTO past_flag_states VALUES (%s, %s, %s, %s)", [flag_id, *past])
    counts = [COUNTS[week] for week in expected]
    assert trend(alice, "flagTrends", *STATES) == trend(alice, "projectFlagTrends", *STATES, project=gemini) == counts


def test_a_change_of_a_flag_keeps_the_past(world, alice, gemini):
    kept = {"type": "kill-switch", "created_at": FEBRUARY_1}
    archived, stale = world.flag("a", gemini, archived_at=SECOND, **kept), world.flag("b", gemini, **kept)
    fixtures.mark_stale(world.conn, stale, SECOND)
    assert running_week(alice, "flagTrends", *STATES) == (1, 0, 1, 0)
    fixtures.update(world.conn, "flags", archived, archived_at=None)
    fixtures.mark_stale(world.conn, stale, None)
    # In the second and the third week b alone, stale: 0 of 1.
    ended = [(2, 2, 0, 0, 100), (1, 0, 1, 0, 0), (1, 0, 1, 0, 0)]
    assert trend(alice, "projectFlagTrends", *STATES, "health", project=gemini) == ended
    assert running_week(alice, "flagTrends", *STATES) == (2, 2, 0, 0)


# --- Projects ---------------------------------------------------------------------------------------------------------


def test_a_project_has_an_entry_for_each_week_at_whose_end_it_existed(world, alice):
    world.project("apollo", created_at=SUNDAY)
    world.project("vostok", created_at=MONDAY)
    world.project("zond", created_at=JANUARY_1, archived_at=SECOND)
    ours = ("apollo", "vostok", "zond")
    found = [entry for entry in trend(alice, "projectFlagTrends", "week", "project") if entry[1] in ours]
    # By date, then by project.
    expected = [("2024-09", "zond"), ("2024-10", "apollo"), ("2024-11", "apollo"), ("2024-11", "vostok")]
    assert found == expected


@pytest.mark.parametrize(
    ("active", "total", "health"),
    # 66.67, 33.33, 12.5, 62.5, 0.5 and 99.5 per cent: half is rounded up.
    [(2, 3, 67), (1, 3, 33), (1, 8, 13), (5, 8, 63), (1, 200, 1), (199, 200, 100), (0, 2, 0), (0, 0, 100)],
)
def test_health_is_the_share_of_active_flags_as_a_whole_number(world, alice, gemini, active, total, health):
    for number in range(total):
        stale_since = None if number < active else FEBRUARY_1
        world.flag(f"f{number}", gemini, type="kill-switch", created_at=JANUARY_1, stale_since=stale_since)
    world.flag("theirs", stale_since=FEBRUARY_1)
    assert trend(alice, "projectFlagTrends", "health", project=gemini) == [health] * 3


@pytest.mark.parametrize(
    ("hours", "expected"),
    [
        ([], 0),
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
    assert trend(alice, "projectFlagTrends", "timeToProduction", project=gemini) == [expected] * 3


def test_members_count_once_from_the_later_of_role_and_joining(world, alice, gemini):
    anna, ben, cora, dora = (world.user(name, created_at=JANUARY_1) for name in ("Anna", "Ben", "Cora", "Dora"))
    early, late = (groups.insert(world.conn, name) for name in ("early", "late"))
    fixtures.add_project_group(world.conn, gemini, early, 5, FEBRUARY_1)
    fixtures.add_project_group(world.conn, gemini, late, 5, MONDAY)
    world.member(gemini, anna, created_at="2024-03-03T23:59:59.999Z")
    world.member(gemini, anna, role=4, created_at=FEBRUARY_1)
    fixtures.add_group_user(world.conn, early, anna.id, created_at=FEBRUARY_1)
    world.member(gemini, ben, created_at="2024-03-04T00:00:00Z")
    fixtures.add_group_user(world.conn, early, cora.id, created_at=SECOND)
    fixtures.add_group_user(world.conn, late, dora.id, created_at=FEBRUARY_1)
    world.member(world.project("vostok", created_at=JANUARY_1), dora, created_at=FEBRUARY_1)
    # Memberships that have ended: of a user, of a group, and in a group.
    ed, fay, gus = (world.user(name, created_at=JANUARY_1).id for name in ("Ed", "Fay", "Gus"))
    ended = {"started_at": FEBRUARY_1, "ended_at": SECOND}
    role, gone = {"project_id": gemini, "role_id": 5}, groups.insert(world.conn, "gone")
    fixtures.insert(world.conn, "past_project_user_roles", user_id=ed, **role, **ended)
    fixtures.insert(world.conn, "past_project_group_roles", group_id=gone, **role, **ended)
    fixtures.add_group_user(world.conn, gone, fay, created_at=FEBRUARY_1)
    fixtures.insert(world.conn, "past_group_users", group_id=early, user_id=gus, **ended)
    # Anna, with two roles and a group, Ed, Fay and Gus; Anna, Ben and Cora; Dora. Alice administers, which is no
    # membership.
    assert trend(alice, "projectFlagTrends", "users", project=gemini) == [4, 3, 4]
    assert trend(alice, "projectFlagTrends", "users", project="vostok") == [1, 1, 1]


@pytest.mark.parametrize(
    "removal",
    [
        "DELETE FROM project_user_roles WHERE project_id = 'gemini'",
        "DELETE FROM project_group_roles WHERE project_id = 'gemini'",
        "DELETE FROM group_users",
        "DELETE FROM groups WHERE name = 'team'",
    ],
)
def test_removing_a_member_keeps_the_past(world, alice, gemini, removal):
    anna = world.user("Anna", created_at=JANUARY_1)
    if "user_roles" in removal:
        world.member(gemini, anna, created_at=FEBRUARY_1)
    else:
        group_id = groups.insert(world.conn, "team")
        fixtures.add_project_group(world.conn, gemini, group_id, 5, FEBRUARY_1)
        fixtures.add_group_user(world.conn, group_id, anna.id, created_at=FEBRUARY_1)
    assert running_week(alice, "projectFlagTrends", "users", project=gemini) == 1
    world.conn.execute(removal)
    assert trend(alice, "projectFlagTrends", "users", project=gemini) == [1, 1, 1]
    assert running_week(alice, "projectFlagTrends", "users", project=gemini) == 0


# --- Usage ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def report(world: World, gemini):
    """report(at, yes, no, ...): usage of a flag, by default of flag a of gemini in development, by app web."""

    def add(at, yes=0, no=0, *, project=gemini, flag="a", environment="development", app="web"):
        place = {"project": project, "flag": flag, "environment": environment, "app": app}
        fixtures.report_usage(world.conn, [place | {"at": at, "yes": yes, "no": no}])

    return add


def test_usage_is_summed_up_by_week_and_project(world, alice, gemini, report):
    world.project("apollo", created_at=JANUARY_1)
    report("2024-02-25T23:59:59Z", 100)  # Sunday before: not asked for
    report("2024-02-26T00:00:00Z", 10, 5)
    report("2024-02-26T00:45:00Z", 100, 50)
    report("2024-03-01T09:00:00Z", 1, 0, environment="production")
    report("2024-03-02T09:00:00Z", 0, 7, flag="b", app="phone")
    report("2024-03-03T23:59:59.999Z", 2, 2, flag="b", app="batch")
    report("2024-03-03T23:00:00Z", 3_000_000_000, 4_000_000_001, project="apollo", app="phone")
    report("2024-02-28T10:00:00Z", 3_000_000_000, 4_000_000_000, project="apollo")
    report("2024-03-17T23:00:00Z", 16)
    report("2024-03-18T00:00:00Z", 32)  # Monday after: not asked for
    date = "2024-03-03T23:59:59.999Z"
    first = {
        "week": "2024-09",
        "date": date,
        "project": gemini,
        "totalYes": 113,  # 10 + 100 + 1 + 0 + 2
        "totalNo": 64,  # 5 + 50 + 0 + 7 + 2
        "totalRequests": 177,
        "totalApps": 3,  # web, phone, batch
        "totalFlags": 2,  # a, b
        "totalEnvironments": 2,  # development, production
    }
    found = alice.get(MARCH).json["metricsSummaryTrends"]
    assert [(entry["week"], entry["project"]) for entry in found] == [
        ("2024-09", "apollo"),
        ("2024-09", gemini),
        ("2024-11", gemini),
    ]
    yes, no = 6_000_000_000, 8_000_000_001
    counts = {"totalApps": 2, "totalFlags": 1, "totalEnvironments": 1}
    assert found[0] == first | {"project": "apollo", "totalYes": yes, "totalNo": no, "totalRequests": yes + no} | counts
    assert found[1] == first
    assert found[2]["totalYes"] == 16
    # The whole of a week counts when one of its days is asked for.
    day = f"{INSIGHTS}?from=2024-02-29&to=2024-02-29"
    assert trend(alice, "metricsSummaryTrends", "totalYes", path=day, project=gemini) == [113]


def test_the_running_week_has_its_usage_and_events(world, alice, report):
    now = value(world.conn, "SELECT now()")
    report(now, 5, 6)
    fixtures.record(world.conn, "environment-created", SYSTEM, environment="production", created_at=now)
    usage = running_week(alice, "metricsSummaryTrends", "project", "totalYes", "totalNo", "totalRequests")
    assert usage == ("gemini", 5, 6, 11)
    assert running_week(alice, "environmentTypeTrends", "environmentType", "totalUpdates") == ("production", 1)


def test_events_are_counted_by_week_and_type_of_environment(world, alice, gemini):
    environments.insert(world.conn, "preprod", "production")
    environments.insert(world.conn, "qa", "test")
    for at, type, environment, project in (
        ("2024-02-25T23:59:59.999999Z", "feature-strategy-remove", "production", None),  # Sunday before: not asked for
        ("2024-02-26T00:00:00Z", "feature-environment-enabled", "development", None),
        (FIRST, "feature-environment-disabled", "development", gemini),
        (FIRST, "feature-strategy-update", "production", gemini),
        (FIRST, "environment-created", "preprod", None),
        # After the written date of the week, which ends with the day all the same.
        ("2024-03-03T23:59:59.9995Z", "feature-strategy-remove", "preprod", gemini),
        (FIRST, "feature-created", None, gemini),
        (FIRST, "feature-environment-enabled", "gone", gemini),
        ("2024-03-11T00:00:00Z", "feature-environment-enabled", "qa", None),
        # Proposals do not count, also in a week without other events.
        (FIRST, "change-request-created", "production", gemini),
        ("2024-03-06T00:00:00Z", "change-added", "production", gemini),
        ("2024-03-17T23:59:59.999Z", "feature-environment-enabled", "development", None),
        ("2024-03-18T00:00:00Z", "feature-environment-enabled", "production", None),  # Monday after: not asked for
    ):
        fixtures.record(world.conn, type, SYSTEM, environment=environment, project=project, created_at=at)
    first = {"week": "2024-09", "date": "2024-03-03T23:59:59.999Z"}
    third = {"week": "2024-11", "date": "2024-03-17T23:59:59.999Z"}
    # development 2; production and preprod 1 + 2; nothing in the second week; qa is of type test.
    counted = [
        {**first, "environmentType": "development", "totalUpdates": 2},
        {**first, "environmentType": "production", "totalUpdates": 3},
        {**third, "environmentType": "development", "totalUpdates": 1},
        {**third, "environmentType": "test", "totalUpdates": 1},
    ]
    assert alice.get(MARCH).json["environmentTypeTrends"] == counted
    # The weeks are added up now.
    assert value(world.conn, "SELECT count(*) FROM finished_weeks WHERE monday = '2024-03-04'") > 0
    assert alice.get(MARCH).json["environmentTypeTrends"] == counted
