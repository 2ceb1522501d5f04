"""Instance insights: days that are refused, and spans of more than five years."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.support.insights import ask
from tests.support.world import refused


def refused_for(response, *fields):
    """Whether this is a 400 with the error body that names these fields."""
    message = refused(response)
    return all(f"{field}:" in message for field in fields)


def test_a_span_of_exactly_five_years_is_accepted(alice):
    # Monday 2019-12-30 to Monday 2024-12-30 are 1827 days = 261 weeks, so 262 entries.
    response = ask(alice, from_="2020-01-01", to="2025-01-01")
    assert response.status_code == 200
    trend = response.json["userTrends"]
    assert (len(trend), trend[0]["date"], trend[-1]["date"]) == (
        262,
        "2020-01-05T23:59:59.999Z",
        "2025-01-05T23:59:59.999Z",
    )
    assert ask(alice, from_="2019-02-28", to="2024-02-28").status_code == 200
    assert ask(alice, from_="2020-02-29", to="2025-02-28").status_code == 200


@pytest.mark.parametrize(
    ("first", "last"),
    [
        ("2019-12-31", "2025-01-01"),
        ("2020-01-01", "2025-01-02"),
        ("2019-02-28", "2024-02-29"),
        ("0001-01-01", "9999-12-31"),
    ],
)
def test_a_span_of_more_than_five_years_is_refused(world, alice, first, last):
    before = world.last_event_id()
    assert refused_for(ask(alice, from_=first, to=last), "from")
    assert world.events(before) == []


def test_a_first_day_more_than_five_years_ago_is_refused(alice):
    today = datetime.now(UTC).date()
    assert refused_for(ask(alice, from_=str(today - timedelta(days=5 * 366 + 1))), "from")


@pytest.mark.parametrize("text", ["2025-02-29", "today"])
@pytest.mark.parametrize("field", ["from", "to"])
def test_an_invalid_day_is_refused(world, alice, field, text):
    before = world.last_event_id()
    assert refused_for(ask(alice, **{field: text}), field)
    assert world.events(before) == []


def test_all_mistakes_are_named_at_once(alice):
    assert refused_for(ask(alice, from_="2025-02-29", to="tomorrow"), "from", "to")


@pytest.mark.parametrize("field", ["from", "to"])
@pytest.mark.parametrize(
    "pair", [("2024-03-01", "2024-03-01"), ("2024-03-01", "2024-03-02"), ("", ""), ("", "2024-03-01")]
)
def test_a_day_given_twice_is_refused(world, alice, field, pair):
    before = world.last_event_id()
    assert refused_for(alice.get(f"/api/admin/insights?{field}={pair[0]}&{field}={pair[1]}"), field)
    assert world.events(before) == []


@pytest.mark.parametrize("query", ["from=%FF", "from=2024-01-01%ED%A0%80", "to=%zz", "from=" + "1" * 200_000])
def test_a_query_string_that_cannot_be_read_is_refused(alice, query):
    response = alice.get(f"/api/admin/insights?{query}")
    assert 400 <= response.status_code < 500
    assert set(response.json) == {"id", "name", "message"}
