"""Instance insights: metricsSummaryTrends and environmentTypeTrends."""

import pytest

from rules.access import SYSTEM
from sql.database import value
from sql.vocabulary import environments
from tests.support import fixtures
from tests.support.world import World

# Three weeks: 2024-02-26 to 2024-03-03, to 2024-03-10, to 2024-03-17.
MARCH = "/api/admin/insights?from=2024-02-26&to=2024-03-17"
JANUARY_1 = "2024-01-01T00:00:00Z"


def trend(caller, name, path=MARCH):
    """One of the arrays."""
    response = caller.get(path)
    assert response.status_code == 200
    return response.json[name]


@pytest.fixture
def gemini(world: World) -> str:
    """A project as old as 2024."""
    return world.project("gemini", created_at=JANUARY_1)


@pytest.fixture
def report(world: World, gemini):
    """report(at, yes, no, ...): usage of a flag, by default of flag a of gemini in development, by app web."""

    def add(at, yes=0, no=0, *, project=gemini, flag="a", environment="development", app="web"):
        fixtures.report_usage(
            world.conn, [dict(project=project, flag=flag, environment=environment, app=app, at=at, yes=yes, no=no)]
        )

    return add


@pytest.fixture
def happen(world: World):
    """happen(at, environment, project=None): an event."""

    def record(at, environment, project=None):
        kind = "feature-environment-enabled"
        fixtures.record(world.conn, kind, SYSTEM, environment=environment, project=project, created_at=at)

    return record


def test_traffic_of_a_week_is_summed_up(alice, gemini, report):
    report("2024-02-26T09:15:00Z", 10, 5)
    report("2024-02-26T09:45:00Z", 100, 50)
    report("2024-03-01T09:00:00Z", 1, 0, environment="production")
    report("2024-03-02T09:00:00Z", 0, 7, flag="b", app="phone")
    report("2024-03-02T09:00:00Z", 2, 2, flag="b", app="batch")
    assert trend(alice, "metricsSummaryTrends") == [
        {
            "week": "2024-09",
            "date": "2024-03-03T23:59:59.999Z",
            "project": gemini,
            "totalYes": 113,  # 10 + 100 + 1 + 0 + 2
            "totalNo": 64,  # 5 + 50 + 0 + 7 + 2
            "totalRequests": 177,
            "totalApps": 3,  # web, phone, batch
            "totalFlags": 2,  # a, b
            "totalEnvironments": 2,  # development, production
        }
    ]


def test_traffic_belongs_to_the_week_of_its_hour(alice, report):
    for at, yes in (
        ("2024-02-25T23:59:59Z", 1),  # Sunday before: not asked for
        ("2024-02-26T00:00:00Z", 2),
        ("2024-03-03T23:59:59.999Z", 4),
        ("2024-03-04T00:00:00Z", 8),
        ("2024-03-17T23:00:00Z", 16),
        ("2024-03-18T00:00:00Z", 32),  # Monday after: not asked for
    ):
        report(at, yes)
    found = [(entry["week"], entry["date"], entry["totalYes"]) for entry in trend(alice, "metricsSummaryTrends")]
    # 2 + 4; 8; 16.
    assert found == [
        ("2024-09", "2024-03-03T23:59:59.999Z", 6),
        ("2024-10", "2024-03-10T23:59:59.999Z", 8),
        ("2024-11", "2024-03-17T23:59:59.999Z", 16),
    ]


def test_the_whole_of_a_week_counts_when_one_of_its_days_is_asked_for(alice, report):
    report("2024-02-26T00:00:00Z", 1)
    report("2024-03-03T23:00:00Z", 2)
    [entry] = trend(alice, "metricsSummaryTrends", "/api/admin/insights?from=2024-02-29&to=2024-02-29")
    assert (entry["week"], entry["totalYes"]) == ("2024-09", 3)


def test_weeks_and_projects_without_traffic_have_no_row(world, alice, report):
    world.project("vostok", created_at=JANUARY_1)
    report("2024-02-27T10:00:00Z", 1, 1)
    report("2024-03-12T10:00:00Z", 1, 1)
    found = [(entry["week"], entry["project"]) for entry in trend(alice, "metricsSummaryTrends")]
    assert found == [("2024-09", "gemini"), ("2024-11", "gemini")]


def test_traffic_is_counted_by_project_in_order(world, alice, gemini, report):
    for project in ("zond", "apollo"):
        world.project(project, created_at=JANUARY_1)
    for at in ("2024-03-05T10:00:00Z", "2024-02-27T10:00:00Z"):
        report(at, 1, 1, project="zond")
        report(at, 2, 2, project=gemini)
        report(at, 3, 3, project="apollo", app="phone")
    found = [
        (e["week"], e["project"], e["totalRequests"], e["totalApps"]) for e in trend(alice, "metricsSummaryTrends")
    ]
    assert found == [
        ("2024-09", "apollo", 6, 1),
        ("2024-09", "gemini", 4, 1),
        ("2024-09", "zond", 2, 1),
        ("2024-10", "apollo", 6, 1),
        ("2024-10", "gemini", 4, 1),
        ("2024-10", "zond", 2, 1),
    ]


def test_a_flag_that_is_used_in_two_weeks_counts_once_in_each(alice, report):
    report("2024-02-27T10:00:00Z", 1, flag="a")
    report("2024-02-28T10:00:00Z", 1, flag="a")
    report("2024-03-05T10:00:00Z", 1, flag="a")
    report("2024-03-05T10:00:00Z", 1, flag="b", environment="production")
    found = [(e["totalApps"], e["totalFlags"], e["totalEnvironments"]) for e in trend(alice, "metricsSummaryTrends")]
    assert found == [(1, 1, 1), (1, 2, 2)]


def test_traffic_beyond_32_bits_is_summed_up_exactly(alice, report):
    report("2024-02-27T10:00:00Z", 3_000_000_000, 4_000_000_001)
    report("2024-02-28T10:00:00Z", 3_000_000_000, 4_000_000_000)
    [entry] = trend(alice, "metricsSummaryTrends")
    assert (entry["totalYes"], entry["totalNo"], entry["totalRequests"]) == (
        6_000_000_000,
        8_000_000_001,
        14_000_000_001,
    )


def test_a_week_of_2020_53_holds_traffic_of_both_years(alice, world, report):
    world.project("vostok", created_at="2020-01-01T00:00:00Z")
    report("2020-12-28T00:00:00Z", 1, project="vostok")
    report("2021-01-03T23:00:00Z", 2, project="vostok")
    report("2021-01-04T00:00:00Z", 4, project="vostok")
    found = trend(alice, "metricsSummaryTrends", "/api/admin/insights?from=2020-12-01&to=2021-01-31")
    assert [(entry["week"], entry["totalYes"]) for entry in found] == [("2020-53", 3), ("2021-01", 4)]


def test_the_running_week_has_its_traffic(world, alice, report):
    report(value(world.conn, "SELECT now()"), 5, 6)
    entry = trend(alice, "metricsSummaryTrends", "/api/admin/insights")[-1]
    assert (entry["project"], entry["totalYes"], entry["totalNo"], entry["totalRequests"]) == ("gemini", 5, 6, 11)


def test_events_are_counted_by_type_of_environment(world, alice, gemini, happen):
    environments.insert(world.conn, "preprod", "production")
    environments.insert(world.conn, "qa", "test")
    happen("2024-02-27T10:00:00Z", "development")
    happen("2024-02-28T10:00:00Z", "development", gemini)
    happen("2024-02-27T10:00:00Z", "production", gemini)
    happen("2024-02-27T10:00:00Z", "preprod", gemini)
    happen("2024-02-27T10:00:00Z", "preprod")
    happen("2024-02-27T10:00:00Z", None, gemini)
    happen("2024-02-27T10:00:00Z", "gone", gemini)
    happen("2024-03-12T10:00:00Z", "qa")
    happen("2024-03-13T10:00:00Z", "development")
    first, third = (
        {"week": f"2024-{n}", "date": f"2024-03-{day}T23:59:59.999Z"} for n, day in (("09", "03"), ("11", "17"))
    )
    # development 2; production and preprod 1 + 2; nothing in the second week; qa is of type test.
    assert trend(alice, "environmentTypeTrends") == [
        {**first, "environmentType": "development", "totalUpdates": 2},
        {**first, "environmentType": "production", "totalUpdates": 3},
        {**third, "environmentType": "development", "totalUpdates": 1},
        {**third, "environmentType": "test", "totalUpdates": 1},
    ]


def test_events_of_every_kind_count(world, alice):
    for kind in (
        "feature-environment-disabled",
        "feature-strategy-remove",
        "feature-strategy-update",
        "environment-created",
    ):
        fixtures.record(world.conn, kind, SYSTEM, environment="production", created_at="2024-02-27T10:00:00Z")
    assert [entry["totalUpdates"] for entry in trend(alice, "environmentTypeTrends")] == [4]


def test_an_event_belongs_to_the_week_of_its_instant(alice, happen):
    for at in (
        "2024-02-25T23:59:59.999999Z",  # Sunday before: not asked for
        "2024-02-26T00:00:00Z",
        "2024-03-03T23:59:59.9995Z",  # after the written date of the week, which ends with the day all the same
        "2024-03-04T00:00:00Z",
        "2024-03-17T23:59:59.999Z",
        "2024-03-18T00:00:00Z",  # Monday after: not asked for
    ):
        happen(at, "production")
    found = [(entry["week"], entry["totalUpdates"]) for entry in trend(alice, "environmentTypeTrends")]
    assert found == [("2024-09", 2), ("2024-10", 1), ("2024-11", 1)]


def test_the_running_week_has_its_events(world, alice, happen):
    happen(value(world.conn, "SELECT now()"), "production")
    entry = trend(alice, "environmentTypeTrends", "/api/admin/insights")[-1]
    assert (entry["environmentType"], entry["totalUpdates"]) == ("production", 1)
