"""What fields for days and instants take, and what they refuse."""

from datetime import UTC, date, datetime
from typing import Any

import pytest

from tests.support.fields import refuses, takes
from validators.fields import (
    DateTime,
    Day,
)

# Days and instants


def at(*parts: int) -> datetime:
    """An instant in UTC."""
    return datetime(*parts, tzinfo=UTC)  # pyright: ignore


INSTANTS = [
    ("2024-05-31T12:00:00Z", at(2024, 5, 31, 12)),
    ("2024-05-31t12:00:00z", at(2024, 5, 31, 12)),
    ("2024-05-31T12:00:00z", at(2024, 5, 31, 12)),
    ("2024-05-31T12:00:00+00:00", at(2024, 5, 31, 12)),
    ("2024-05-31T12:00:00-00:00", at(2024, 5, 31, 12)),
    ("2024-05-31T12:00:00+02:00", at(2024, 5, 31, 10)),
    ("2024-05-31T12:00:00-05:30", at(2024, 5, 31, 17, 30)),
    ("2024-05-31T12:00:00+23:59", at(2024, 5, 30, 12, 1)),
    ("2024-05-31T12:00:00-23:59", at(2024, 6, 1, 11, 59)),
    ("2024-02-29T23:59:59.9Z", at(2024, 2, 29, 23, 59, 59, 900000)),
    ("2024-05-31T12:00:00.123456Z", at(2024, 5, 31, 12, 0, 0, 123000)),
    ("2024-05-31T12:00:00.1234569Z", at(2024, 5, 31, 12, 0, 0, 123000)),
    ("2024-05-31T12:00:00.0000009z", at(2024, 5, 31, 12)),
    (f"2024-05-31T12:00:00.{'9' * 400}+00:00", at(2024, 5, 31, 12, 0, 0, 999000)),
    ("2024-05-31T12:00:00.12Z", at(2024, 5, 31, 12, 0, 0, 120000)),
    ("0001-01-01T00:00:00Z", at(1, 1, 1)),
    ("9999-12-31T23:59:59.999999Z", at(9999, 12, 31, 23, 59, 59, 999000)),
    ("0001-01-01T00:00:00-23:59", at(1, 1, 1, 23, 59)),
    ("9999-12-31T23:59:59+00:01", at(9999, 12, 31, 23, 58, 59)),
]


@pytest.mark.parametrize(("value", "read"), INSTANTS, ids=lambda value: str(value)[:40])
def test_an_rfc_3339_date_time_is_an_instant_in_utc(value: str, read: datetime) -> None:
    takes(DateTime(), value, read)
    assert DateTime().deserialize(value).tzinfo is UTC


NO_INSTANTS = [
    "",
    "now",
    "2024-05-31",
    "2024-05-31T12:00:00",
    "2024-05-31T12:00Z",
    "2024-05-31T12Z",
    "2024-05-31 12:00:00Z",
    "2024-05-31_12:00:00Z",
    "20240531T120000Z",
    "2024-W22-5T12:00:00Z",
    "2024-152T12:00:00Z",
    "2024-05-31T12:00:00+0200",
    "2024-05-31T12:00:00+02",
    "24-05-31T12:00:00Z",
    "2024-05-31T12:00:00 Z",
    " 2024-05-31T12:00:00Z",
    "2024-05-31T12:00:00Z ",
    "2024-05-31T12:00:00Z\n",
    "2024-05-31T12:00:00.Z",
    "2024-05-31T12:00:00,5Z",
    "2024-05-31T12:00:00UTC",
    "2024-05-31T12:00:00ZZ",
    "2024-05-31T12:00:00[UTC]",
    "2024-05-31T12:00:00−02:00",
    "2023-02-29T12:00:00Z",
    "2024-13-01T12:00:00Z",
    "2024-00-01T12:00:00Z",
    "2024-05-00T12:00:00Z",
    "2024-06-31T12:00:00Z",
    "2024-05-31T24:00:00Z",
    "2024-05-31T25:00:00Z",
    "2024-05-31T12:60:00Z",
    "2024-05-31T12:00:61Z",
    "2016-12-31T23:59:60Z",
    "2024-05-31T12:00:00+24:00",
    "2024-05-31T12:00:00-24:00",
    "2024-05-31T12:00:00+99:99",
    "2024-05-31T12:00:00+02:60",
    "2024-05-31T12:00:00+23:60",
    "2024-05-31T12:00:00+02:00:30",
    "0000-01-01T00:00:00Z",
    "10000-01-01T00:00:00Z",
    "-0001-01-01T00:00:00Z",
    "0001-01-01T00:00:00+00:01",
    "9999-12-31T23:59:59-00:01",
    "0001-01-01T23:00:00+23:59",
    "9999-12-31T23:59:59.999999-23:59",
    "２０２４-05-31T12:00:00Z",
    "2024-05-31T١٢:00:00Z",
    "2024-05-31T12:00:00\0Z",
    "\ud800",
    "1717156800",
    "infinity",
    "2024-05-31T12:00:00z\0",
]


@pytest.mark.parametrize(
    "value",
    [*NO_INSTANTS, None, True, 0, 1717156800, 1717156800.5, 10**400, [], {}, ["2024-05-31T12:00:00Z"]],
    ids=ascii,
)
def test_a_text_that_is_not_a_date_time_with_an_offset_is_refused(value: Any) -> None:
    assert refuses(DateTime(), value) in (
        "must be a date-time with an offset such as 2024-05-31T12:00:00Z",
        "Field may not be null.",
    )


@pytest.mark.parametrize("value", ["2024-05-31", "2024-02-29", "0001-01-01", "9999-12-31", "2000-02-29"])
def test_a_day_that_exists_is_taken(value: str) -> None:
    takes(Day(), value, date.fromisoformat(value))
    takes(Day(prefix="IS:"), f"IS:{value}", date.fromisoformat(value))
    assert refuses(Day(prefix="IS:"), value) == "must look like IS:2024-05-31"
    assert refuses(Day(), f"IS:{value}") == "must look like 2024-05-31"


@pytest.mark.parametrize(
    "value",
    [
        "0000-01-01",
        "2023-02-29",
        "1900-02-29",
        "2024-02-30",
        "2024-13-01",
        "2024-00-01",
        "2024-05-00",
        "2024-05-32",
        "9999-99-99",
    ],
)
def test_a_day_that_does_not_exist_is_refused(value: str) -> None:
    assert refuses(Day(), value) == refuses(Day(prefix="IS:"), f"IS:{value}") == "must be a valid date"


NO_DAYS = [
    "2024/05/31",
    "+024-05-31",
    "12024-05-31",
    "٢٠٢٤-٠٥-٣١",
    "２０２４-05-31",
    "2024-152",
    "today",
    "infinity",
    "2024-05-31,2024-06-01",
    "-2024-05-31",
    "01-05-2024",
    "2024-05-31\0",
    "9" * 5000,
]


@pytest.mark.parametrize(
    "value",
    [
        "24-05-31",
        "2024-5-31",
        "20240531",
        "2024-W22-5",
        "2024-05-31 ",
        " 2024-05-31",
        "2024-05-31\n",
        "2024-05-31T00:00:00Z",
        *NO_DAYS,
    ],
)
def test_a_text_that_does_not_look_like_a_day_is_refused(value: str) -> None:
    assert refuses(Day(), value) == "must look like 2024-05-31"
    assert refuses(Day(prefix="IS:"), f"IS:{value}") == "must look like IS:2024-05-31"


def test_an_empty_day_is_accepted_only_where_declared() -> None:
    assert refuses(Day(), "") == "must look like 2024-05-31"
    assert refuses(Day(prefix="IS:"), "") == refuses(Day(prefix="IS:"), "IS:") == "must look like IS:2024-05-31"
    assert Day(empty_is_absent=True).deserialize("") is None
    assert refuses(Day(empty_is_absent=True), " ") == "must look like 2024-05-31"
