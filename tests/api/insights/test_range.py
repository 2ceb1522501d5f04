"""Instance insights: the weeks of a range of days, their labels and their dates."""

from datetime import UTC, datetime, time, timedelta

import pytest

from sql.database import value
from tests.support import fixtures
from tests.support.insights import ask
from tests.support.world import World

ARRAYS = ("userTrends", "flagTrends", "projectFlagTrends", "metricsSummaryTrends", "environmentTypeTrends")
EMPTY = {name: [] for name in ARRAYS}


def weeks(caller, **days):
    """(week, date) of project gemini's entries; the days of userTrends and flagTrends must be the same."""
    response = ask(caller, **days)
    assert response.status_code == 200
    mine = [
        (entry["week"], entry["date"]) for entry in response.json["projectFlagTrends"] if entry["project"] == "gemini"
    ]
    dates = [day for _, day in mine]
    assert [entry["date"] for entry in response.json["userTrends"]] == dates
    assert [entry["date"] for entry in response.json["flagTrends"]] == dates
    return mine


def milliseconds(instant):
    """An instant as the service writes it."""
    return f"{instant:%Y-%m-%dT%H:%M:%S}.{instant.microsecond // 1000:03d}Z"


def end_of(sunday):
    """The date of an ended week."""
    return f"{sunday}T23:59:59.999Z"


def label(day):
    """The week of a day: ISO YYYY-WW."""
    year, week, _ = day.isocalendar()
    return f"{year}-{week:02d}"


@pytest.fixture
def now(conn) -> datetime:
    """The present instant of this test, in UTC."""
    return value(conn, "SELECT now()").astimezone(UTC)


@pytest.fixture
def gemini(world: World) -> str:
    """A project older than any week asked for here."""
    return world.project("gemini", created_at="2010-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        # One day, the leap day, a Thursday; its week is Monday 2024-02-26 to Sunday 2024-03-03.
        ("2024-02-29", "2024-02-29", [("2024-09", "2024-03-03T23:59:59.999Z")]),
        # Both ends of that week, and one day more on either side: a Sunday and a Monday.
        ("2024-02-26", "2024-03-03", [("2024-09", "2024-03-03T23:59:59.999Z")]),
        (
            "2024-02-25",
            "2024-03-03",
            [("2024-08", "2024-02-25T23:59:59.999Z"), ("2024-09", "2024-03-03T23:59:59.999Z")],
        ),
        (
            "2024-02-26",
            "2024-03-04",
            [("2024-09", "2024-03-03T23:59:59.999Z"), ("2024-10", "2024-03-10T23:59:59.999Z")],
        ),
        (
            "2024-02-25",
            "2024-03-04",
            [
                ("2024-08", "2024-02-25T23:59:59.999Z"),
                ("2024-09", "2024-03-03T23:59:59.999Z"),
                ("2024-10", "2024-03-10T23:59:59.999Z"),
            ],
        ),
        # 2020 and 2015 have a week 53: 2020-12-28 to 2021-01-03, 2015-12-28 to 2016-01-03.
        (
            "2021-01-03",
            "2021-01-04",
            [("2020-53", "2021-01-03T23:59:59.999Z"), ("2021-01", "2021-01-10T23:59:59.999Z")],
        ),
        ("2020-12-28", "2020-12-28", [("2020-53", "2021-01-03T23:59:59.999Z")]),
        ("2015-12-31", "2015-12-31", [("2015-53", "2016-01-03T23:59:59.999Z")]),
        # 2022-01-01 is a Saturday of the last week of 2021, which has 52.
        ("2022-01-01", "2022-01-02", [("2021-52", "2022-01-02T23:59:59.999Z")]),
        # 2024-12-30 is a Monday: its week is the first of 2025.
        (
            "2024-12-29",
            "2024-12-30",
            [("2024-52", "2024-12-29T23:59:59.999Z"), ("2025-01", "2025-01-05T23:59:59.999Z")],
        ),
        # 2024-01-01 is a Monday: no week is shared with 2023.
        (
            "2023-12-31",
            "2024-01-01",
            [("2023-52", "2023-12-31T23:59:59.999Z"), ("2024-01", "2024-01-07T23:59:59.999Z")],
        ),
    ],
)
@pytest.mark.usefixtures("gemini")
def test_every_week_that_overlaps_the_range_has_one_entry(alice, first, last, expected):
    assert weeks(alice, from_=first, to=last) == expected


@pytest.mark.usefixtures("gemini")
def test_a_request_without_days_gets_thirteen_ended_weeks_and_the_running_one(alice, now):
    monday = now.date() - timedelta(days=now.weekday())
    expected = []
    for back in range(13, 0, -1):
        sunday = monday - timedelta(weeks=back) + timedelta(days=6)
        expected.append((label(sunday), end_of(sunday)))
    expected.append((label(now), milliseconds(now)))
    assert weeks(alice) == expected


@pytest.mark.usefixtures("gemini")
def test_from_defaults_to_thirteen_weeks_before_to(alice):
    # 2024-03-03 - 91 days = 2023-12-03, a Sunday: its week is the whole of 2023-48.
    found = weeks(alice, to="2024-03-03")
    assert len(found) == 14
    assert found[0] == ("2023-48", "2023-12-03T23:59:59.999Z")
    assert found[-1] == ("2024-09", "2024-03-03T23:59:59.999Z")


@pytest.mark.usefixtures("gemini")
def test_to_defaults_to_today(alice, now):
    last_week = now.date() - timedelta(days=7)
    sunday = last_week + timedelta(days=6 - last_week.weekday())
    expected = [(label(last_week), end_of(sunday)), (label(now), milliseconds(now))]
    assert weeks(alice, from_=str(last_week)) == expected


@pytest.mark.usefixtures("gemini")
def test_an_empty_day_is_an_absent_day(alice):
    plain, march = weeks(alice), weeks(alice, to="2024-03-03")
    assert len(plain) == len(march) == 14
    assert plain != march
    assert weeks(alice, from_="", to="") == plain
    assert weeks(alice, from_="", to="2024-03-03") == march


@pytest.mark.usefixtures("gemini")
def test_weeks_that_have_not_begun_have_no_entry(alice, now):
    in_a_month = now.date() + timedelta(days=30)
    assert weeks(alice, from_=str(now.date()), to=str(in_a_month)) == [(label(now), milliseconds(now))]
    next_monday = now.date() + timedelta(days=7 - now.weekday())
    assert ask(alice, from_=str(next_monday), to=str(in_a_month)).json == EMPTY
    # Thirteen weeks before the last day of all lie ahead, too.
    assert ask(alice, to="9999-12-31").json == EMPTY


@pytest.mark.usefixtures("gemini")
def test_the_running_week_is_dated_now(alice, now):
    monday = now.date() - timedelta(days=now.weekday())
    for day in (monday, monday + timedelta(days=6)):
        assert weeks(alice, from_=str(day), to=str(day)) == [(label(now), milliseconds(now))]


def test_the_first_day_of_all_can_be_asked_for(alice):
    response = ask(alice, to="0001-01-01")
    assert response.status_code == 200
    # 0001-01-01 is a Monday.
    assert response.json["userTrends"][-1] == {
        "date": "0001-01-07T23:59:59.999Z",
        "total": 0,
        "active": 0,
        "inactive": 0,
    }


@pytest.mark.parametrize(
    ("first", "last"),
    [
        ("2024-03-04", "2024-03-03"),
        # Both in the week 2024-09.
        ("2024-02-29", "2024-02-28"),
        # However far.
        ("2025-01-01", "2015-01-01"),
        ("9999-12-31", "0001-01-01"),
    ],
)
@pytest.mark.usefixtures("gemini")
def test_from_after_to_gives_five_empty_arrays(alice, first, last):
    response = ask(alice, from_=first, to=last)
    assert response.status_code == 200
    assert response.json == EMPTY


@pytest.mark.usefixtures("gemini")
def test_from_in_the_future_without_to_gives_five_empty_arrays(alice, now):
    response = ask(alice, from_=str(now.date() + timedelta(days=2)))
    assert response.status_code == 200
    assert response.json == EMPTY


@pytest.mark.usefixtures("gemini")
def test_unknown_parameters_are_ignored_even_twice(alice):
    # from_ is what Python calls it.
    response = alice.get(
        "/api/admin/insights?from=2024-02-29&week=1&week=2&From=x&to=2024-02-29&from_=1&from_=2&from%20="
    )
    assert response.status_code == 200
    assert response.json == ask(alice, from_="2024-02-29", to="2024-02-29").json
    assert len(response.json["userTrends"]) == 1


def test_all_entries_of_a_week_share_one_date_and_dates_ascend(world, alice, gemini, now):
    a_week_ago = datetime.combine(now.date() - timedelta(days=now.weekday() + 7), time(), UTC)
    for instant in (a_week_ago, now):
        fixtures.report_usage(
            world.conn, [dict(project=gemini, flag="a", environment="production", app="web", at=instant, yes=1, no=0)]
        )
        author = type("Author", (), {"name": "system", "user_id": None, "token_id": None})
        fixtures.record(world.conn, "feature-environment-enabled", author, environment="production", created_at=instant)
    body = ask(alice, from_=str(a_week_ago.date()), to=str(now.date())).json
    expected = [end_of(a_week_ago.date() + timedelta(days=6)), milliseconds(now)]
    assert set(body) == set(ARRAYS)
    for name in ARRAYS:
        found = [entry["date"] for entry in body[name]]
        assert sorted(set(found)) == expected, name
        assert found == sorted(found), name
    labels = {a_week_ago.date(): expected[0], now.date(): expected[1]}
    for name in ("projectFlagTrends", "metricsSummaryTrends", "environmentTypeTrends"):
        assert {(e["week"], e["date"]) for e in body[name]} == {(label(day), text) for day, text in labels.items()}, (
            name
        )
