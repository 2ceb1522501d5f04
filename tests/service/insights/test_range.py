"""Instance insights: the weeks of a range of days, their labels and their dates, and invalid ranges."""

from datetime import UTC, date, datetime, time, timedelta

import pytest

from rules.access import SYSTEM
from sql.database import value
from tests.support import fixtures
from tests.support.world import World, refused

PATH = "/api/admin/insights"
ARRAYS = ("userTrends", "flagTrends", "projectFlagTrends", "metricsSummaryTrends", "environmentTypeTrends")
EMPTY = {name: [] for name in ARRAYS}


def ask(caller, **days):
    """Return the answer for these query parameters; from_ stands for from."""
    return caller.get(PATH, query_string={name.rstrip("_"): str(text) for name, text in days.items()})


def weeks(caller, **days):
    """(week, date) of project gemini's entries; the days of userTrends and flagTrends must be the same."""
    response = ask(caller, **days)
    assert response.status_code == 200
    entries = response.json["projectFlagTrends"]
    mine = [(entry["week"], entry["date"]) for entry in entries if entry["project"] == "gemini"]
    for name in ("userTrends", "flagTrends"):
        assert [entry["date"] for entry in response.json[name]] == [day for _, day in mine]
    return mine


def ended(sunday):
    """The week that ends with a day, and its date."""
    year, week, _ = sunday.isocalendar()
    return f"{year}-{week:02d}", f"{sunday}T23:59:59.999Z"


def running(now):
    """The week of an instant, dated by it."""
    year, week, _ = now.isocalendar()
    return f"{year}-{week:02d}", f"{now:%Y-%m-%dT%H:%M:%S}.{now.microsecond // 1000:03d}Z"


@pytest.fixture
def now(conn) -> datetime:
    """The present instant of this test, in UTC."""
    return value(conn, "SELECT now()").astimezone(UTC)


@pytest.fixture
def monday(now) -> date:
    """The first day of the running week."""
    return now.date() - timedelta(days=now.weekday())


@pytest.fixture(autouse=True)
def gemini(world: World) -> str:
    """A project older than any week asked for here."""
    return world.project("gemini", created_at="2010-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        # One day, the leap day, a Thursday; its week is Monday 2024-02-26 to Sunday 2024-03-03.
        ("2024-02-29", "2024-02-29", ["2024-09 2024-03-03"]),
        # Both ends of that week, and one day more on either side: a Sunday and a Monday.
        ("2024-02-26", "2024-03-03", ["2024-09 2024-03-03"]),
        ("2024-02-25", "2024-03-04", ["2024-08 2024-02-25", "2024-09 2024-03-03", "2024-10 2024-03-10"]),
        # 2020 and 2015 have a week 53: 2020-12-28 to 2021-01-03, 2015-12-28 to 2016-01-03.
        ("2021-01-03", "2021-01-04", ["2020-53 2021-01-03", "2021-01 2021-01-10"]),
        ("2020-12-28", "2020-12-28", ["2020-53 2021-01-03"]),
        ("2015-12-31", "2015-12-31", ["2015-53 2016-01-03"]),
        # 2022-01-01 is a Saturday of the last week of 2021, which has 52.
        ("2022-01-01", "2022-01-02", ["2021-52 2022-01-02"]),
        # 2024-12-30 is a Monday: its week is the first of 2025.
        ("2024-12-29", "2024-12-30", ["2024-52 2024-12-29", "2025-01 2025-01-05"]),
        # 2024-01-01 is a Monday: no week is shared with 2023.
        ("2023-12-31", "2024-01-01", ["2023-52 2023-12-31", "2024-01 2024-01-07"]),
    ],
)
def test_every_week_that_overlaps_the_range_has_one_entry(alice, first, last, expected):
    found = [f"{week} {day.removesuffix('T23:59:59.999Z')}" for week, day in weeks(alice, from_=first, to=last)]
    assert found == expected


def test_omitted_days_are_today_and_thirteen_weeks_before(alice, now, monday):
    sundays = [monday - timedelta(days=1 + 7 * back) for back in range(12, -1, -1)]
    plain = [*map(ended, sundays), running(now)]
    assert weeks(alice) == weeks(alice, from_="", to="") == plain
    assert weeks(alice, from_=now.date() - timedelta(days=7)) == plain[-2:]
    # 2024-03-03 - 91 days = 2023-12-03, a Sunday: its week is the whole of 2023-48.
    march = weeks(alice, to="2024-03-03")
    assert march == weeks(alice, from_="", to="2024-03-03")
    assert (len(march), march[0], march[-1]) == (14, ended(date(2023, 12, 3)), ended(date(2024, 3, 3)))


def test_the_running_week_is_dated_now_and_later_ones_have_no_entry(alice, now, monday):
    in_a_month = now.date() + timedelta(days=30)
    for first, last in ((monday, monday), (monday + timedelta(days=6),) * 2, (now.date(), in_a_month)):
        assert weeks(alice, from_=first, to=last) == [running(now)]
    assert ask(alice, from_=monday + timedelta(days=7), to=in_a_month).json == EMPTY
    # Thirteen weeks before the last day of all lie ahead, too.
    assert ask(alice, to="9999-12-31").json == EMPTY


def test_the_first_day_of_all_can_be_asked_for(alice):
    # 0001-01-01 is a Monday.
    last = {"date": "0001-01-07T23:59:59.999Z", "total": 0, "active": 0, "inactive": 0}
    assert ask(alice, to="0001-01-01").json["userTrends"][-1] == last


def test_from_after_to_gives_five_empty_arrays(alice, now):
    for days in (
        {"from_": "2024-03-04", "to": "2024-03-03"},
        # Both in the week 2024-09.
        {"from_": "2024-02-29", "to": "2024-02-28"},
        {"from_": "9999-12-31", "to": "0001-01-01"},
        {"from_": now.date() + timedelta(days=2)},
    ):
        response = ask(alice, **days)
        assert (response.status_code, response.json) == (200, EMPTY)


def test_unknown_parameters_are_ignored_even_twice(alice):
    # from_ is what Python calls it.
    response = alice.get(f"{PATH}?from=2024-02-29&week=1&week=2&From=x&to=2024-02-29&from_=1&from_=2&from%20=")
    assert response.status_code == 200
    assert response.json == ask(alice, from_="2024-02-29", to="2024-02-29").json
    assert len(response.json["userTrends"]) == 1


def test_all_entries_of_a_week_share_one_date_and_dates_ascend(world, alice, gemini, now, monday):
    last_monday = datetime.combine(monday - timedelta(days=7), time(), UTC)
    for instant in (last_monday, now):
        usage = {"project": gemini, "flag": "a", "environment": "production", "app": "web", "yes": 1, "no": 0}
        fixtures.report_usage(world.conn, [usage | {"at": instant}])
        fixtures.record(world.conn, "feature-environment-enabled", SYSTEM, environment="production", created_at=instant)
    body = ask(alice, from_=last_monday.date(), to=now.date()).json
    expected = [ended(monday - timedelta(days=1)), running(now)]
    assert set(body) == set(ARRAYS)
    for name in ARRAYS:
        found = [entry["date"] for entry in body[name]]
        assert (found, sorted(set(found))) == (sorted(found), [day for _, day in expected]), name
    for name in ("projectFlagTrends", "metricsSummaryTrends", "environmentTypeTrends"):
        assert {(entry["week"], entry["date"]) for entry in body[name]} == set(expected), name


# --- Refusals ---------------------------------------------------------------------------------------------------------


def test_a_range_of_exactly_five_years_is_accepted(alice):
    # Monday 2019-12-30 to Monday 2024-12-30 are 1827 days = 261 weeks, so 262 entries.
    trend = ask(alice, from_="2020-01-01", to="2025-01-01").json["userTrends"]
    ends = (trend[0]["date"], trend[-1]["date"])
    assert (len(trend), *ends) == (262, "2020-01-05T23:59:59.999Z", "2025-01-05T23:59:59.999Z")
    for first, last in (("2019-02-28", "2024-02-28"), ("2020-02-29", "2025-02-28")):
        assert ask(alice, from_=first, to=last).status_code == 200


def test_a_longer_range_is_refused(alice, now):
    for first, last in (
        ("2019-12-31", "2025-01-01"),
        ("2020-01-01", "2025-01-02"),
        ("2019-02-28", "2024-02-29"),
        ("0001-01-01", "9999-12-31"),
        (now.date() - timedelta(days=5 * 366 + 1), ""),
    ):
        message = refused(ask(alice, from_=first, to=last))
        assert message == "from: must not be more than 5 years before to"


@pytest.mark.parametrize("field", ["from", "to"])
def test_an_invalid_or_repeated_day_is_refused(world, alice, field):
    before = world.last_event_id()
    for query in ("2025-02-29", "today", f"2024-03-01&{field}=2024-03-01", f"&{field}=", f"&{field}=2024-03-01"):
        assert refused(alice.get(f"{PATH}?{field}={query}")).startswith(f"{field}:")
    assert world.events(before) == []
    message = refused(ask(alice, from_="2025-02-29", to="tomorrow"))
    assert "from:" in message
    assert "to:" in message


@pytest.mark.parametrize("query", ["from=%FF", "from=2024-01-01%ED%A0%80", "to=%zz", "from=" + "1" * 200_000])
def test_a_query_string_that_cannot_be_read_is_refused(alice, query):
    response = alice.get(f"{PATH}?{query}")
    assert 400 <= response.status_code < 500
    assert set(response.json) == {"id", "name", "message"}
