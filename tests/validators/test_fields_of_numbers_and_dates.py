"""What fields for booleans, numbers, days, instants and filters take, and what they refuse: the tables."""

from datetime import UTC, date, datetime
from typing import Any

import pytest

from tests.support.fields import refuses, takes
from validators.fields import (
    BIGINT_MAX,
    Boolean,
    DateTime,
    Day,
    Integer,
    WholeNumber,
)
from validators.query_fields import Filter, IdFilter

# Booleans and numbers


@pytest.mark.parametrize("value", [None, 0, 1, 1.0, "true", "false", "True", "", "on", "yes", "1", [], [True], {}, float("nan")])
def test_only_true_and_false_are_booleans(value: Any) -> None:
    takes(Boolean(), True, True)
    takes(Boolean(), False, False)
    assert refuses(Boolean(), value) in ("must be true or false", "Field may not be null.")


@pytest.mark.parametrize("value", [None, True, False, 5.0, 5.5, -0.0, float("nan"), float("inf"), 1e300, "5", "", "٥", [], [5], {}])
def test_what_is_no_whole_json_number_is_no_integer(value: Any) -> None:
    assert refuses(Integer(min=0), value) in ("must be a whole number", "Field may not be null.")


@pytest.mark.parametrize(
    ("value", "is_taken"), [(0, False), (1, True), (100, True), (101, False), (-1, False), (10**400, False), (-(10**400), False)]
)
def test_an_integer_lies_in_its_range(value: int, is_taken: bool) -> None:
    field = Integer(min=1, max=100)
    if is_taken:
        takes(field, value, value)
    else:
        assert refuses(field, value) == "must be from 1 to 100"


def test_without_a_range_an_integer_ends_where_those_of_the_database_do() -> None:
    takes(Integer(min=0), 2**63 - 1, 2**63 - 1)
    assert refuses(Integer(min=0), 2**63) == f"must be from 0 to {BIGINT_MAX}"
    takes(WholeNumber(min=0), str(2**63 - 1), 2**63 - 1)
    assert refuses(WholeNumber(min=0), str(2**63)) == f"must be from 0 to {BIGINT_MAX}"


NO_DIGITS = ["", " ", "+5", "-5", "-0", " 5", "5 ", "5.0", "5.", ".5", "5e0", "0x5", "5_0", "5,0", "٥", "５", "५", "²", "½", "five"]
NO_DIGITS += ["null", "5\n", "5\0", "NaN", "1_000", "1,000", "Infinity", "true", "IS:5", "--1", "';--", "%5"]


@pytest.mark.parametrize("value", [*NO_DIGITS, "9" * 41, "9" * 5000, "\ud800", "0" * 41])
def test_only_decimal_digits_are_a_whole_number_in_a_query(value: str) -> None:
    assert refuses(WholeNumber(min=0, max=1000), value) == "must be a whole number from 0 to 1000"


@pytest.mark.parametrize(("value", "read"), [("0", 0), ("5", 5), ("1000", 1000), ("0042", 42)])
def test_decimal_digits_are_a_whole_number(value: str, read: int) -> None:
    takes(WholeNumber(min=0, max=1000), value, read)


@pytest.mark.parametrize("value", ["0", "1001", str(2**31), str(2**64), "9" * 40])
def test_a_whole_number_lies_in_its_range(value: str) -> None:
    assert refuses(WholeNumber(min=1, max=1000), value) == "must be from 1 to 1000"


# Days and instants


def at(*parts: int) -> datetime:
    """An instant in UTC."""
    return datetime(*parts, tzinfo=UTC)  # pyright: ignore


INSTANTS = [("2024-05-31T12:00:00Z", at(2024, 5, 31, 12)), ("2024-05-31t12:00:00z", at(2024, 5, 31, 12))]
INSTANTS += [("2024-05-31T12:00:00z", at(2024, 5, 31, 12)), ("2024-05-31T12:00:00+00:00", at(2024, 5, 31, 12))]
INSTANTS += [("2024-05-31T12:00:00-00:00", at(2024, 5, 31, 12)), ("2024-05-31T12:00:00+02:00", at(2024, 5, 31, 10))]
INSTANTS += [("2024-05-31T12:00:00-05:30", at(2024, 5, 31, 17, 30)), ("2024-05-31T12:00:00+23:59", at(2024, 5, 30, 12, 1))]
INSTANTS += [("2024-05-31T12:00:00-23:59", at(2024, 6, 1, 11, 59)), ("2024-02-29T23:59:59.9Z", at(2024, 2, 29, 23, 59, 59, 900000))]
INSTANTS += [("2024-05-31T12:00:00.123456Z", at(2024, 5, 31, 12, 0, 0, 123000))]
INSTANTS += [("2024-05-31T12:00:00.1234569Z", at(2024, 5, 31, 12, 0, 0, 123000)), ("2024-05-31T12:00:00.0000009z", at(2024, 5, 31, 12))]
INSTANTS += [(f"2024-05-31T12:00:00.{'9' * 400}+00:00", at(2024, 5, 31, 12, 0, 0, 999000))]
INSTANTS += [("2024-05-31T12:00:00.12Z", at(2024, 5, 31, 12, 0, 0, 120000)), ("0001-01-01T00:00:00Z", at(1, 1, 1))]
INSTANTS += [("9999-12-31T23:59:59.999999Z", at(9999, 12, 31, 23, 59, 59, 999000)), ("0001-01-01T00:00:00-23:59", at(1, 1, 1, 23, 59))]
INSTANTS += [("9999-12-31T23:59:59+00:01", at(9999, 12, 31, 23, 58, 59))]


@pytest.mark.parametrize(("value", "read"), INSTANTS, ids=lambda value: str(value)[:40])
def test_an_rfc_3339_date_time_is_an_instant_in_utc(value: str, read: datetime) -> None:
    takes(DateTime(), value, read)
    assert DateTime().deserialize(value).tzinfo is UTC


NO_INSTANTS = ["", "now", "2024-05-31", "2024-05-31T12:00:00", "2024-05-31T12:00Z", "2024-05-31T12Z", "2024-05-31 12:00:00Z"]
NO_INSTANTS += ["2024-05-31_12:00:00Z", "20240531T120000Z", "2024-W22-5T12:00:00Z", "2024-152T12:00:00Z", "2024-05-31T12:00:00+0200"]
NO_INSTANTS += ["2024-05-31T12:00:00+02", "24-05-31T12:00:00Z", "2024-05-31T12:00:00 Z", " 2024-05-31T12:00:00Z", "2024-05-31T12:00:00Z "]
NO_INSTANTS += ["2024-05-31T12:00:00Z\n", "2024-05-31T12:00:00.Z", "2024-05-31T12:00:00,5Z", "2024-05-31T12:00:00UTC"]
NO_INSTANTS += ["2024-05-31T12:00:00ZZ", "2024-05-31T12:00:00[UTC]", "2024-05-31T12:00:00−02:00", "2023-02-29T12:00:00Z"]
NO_INSTANTS += ["2024-13-01T12:00:00Z", "2024-00-01T12:00:00Z", "2024-05-00T12:00:00Z", "2024-06-31T12:00:00Z", "2024-05-31T24:00:00Z"]
NO_INSTANTS += ["2024-05-31T25:00:00Z", "2024-05-31T12:60:00Z", "2024-05-31T12:00:61Z", "2016-12-31T23:59:60Z"]
NO_INSTANTS += ["2024-05-31T12:00:00+24:00", "2024-05-31T12:00:00-24:00", "2024-05-31T12:00:00+99:99", "2024-05-31T12:00:00+02:60"]
NO_INSTANTS += ["2024-05-31T12:00:00+23:60", "2024-05-31T12:00:00+02:00:30", "0000-01-01T00:00:00Z", "10000-01-01T00:00:00Z"]
NO_INSTANTS += ["-0001-01-01T00:00:00Z", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "0001-01-01T23:00:00+23:59"]
NO_INSTANTS += ["9999-12-31T23:59:59.999999-23:59", "２０２４-05-31T12:00:00Z", "2024-05-31T١٢:00:00Z", "2024-05-31T12:00:00\0Z"]
NO_INSTANTS += ["\ud800", "1717156800", "infinity", "2024-05-31T12:00:00z\0"]


@pytest.mark.parametrize(
    "value", [*NO_INSTANTS, None, True, 0, 1717156800, 1717156800.5, 10**400, [], {}, ["2024-05-31T12:00:00Z"]], ids=ascii
)
def test_what_is_no_date_time_with_an_offset_is_refused(value: Any) -> None:
    assert refuses(DateTime(), value) in ("must be a date-time with an offset such as 2024-05-31T12:00:00Z", "Field may not be null.")


@pytest.mark.parametrize("value", ["2024-05-31", "2024-02-29", "0001-01-01", "9999-12-31", "2000-02-29"])
def test_a_day_that_exists_is_taken(value: str) -> None:
    takes(Day(), value, date.fromisoformat(value))
    takes(Day(prefix="IS:"), f"IS:{value}", date.fromisoformat(value))
    assert refuses(Day(prefix="IS:"), value) == "must look like IS:2024-05-31"
    assert refuses(Day(), f"IS:{value}") == "must look like 2024-05-31"


@pytest.mark.parametrize(
    "value", ["0000-01-01", "2023-02-29", "1900-02-29", "2024-02-30", "2024-13-01", "2024-00-01", "2024-05-00", "2024-05-32", "9999-99-99"]
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
]
NO_DAYS += ["-2024-05-31", "01-05-2024", "2024-05-31\0", "9" * 5000]


@pytest.mark.parametrize(
    "value",
    ["24-05-31", "2024-5-31", "20240531", "2024-W22-5", "2024-05-31 ", " 2024-05-31", "2024-05-31\n", "2024-05-31T00:00:00Z", *NO_DAYS],
)
def test_what_does_not_look_like_a_day_is_refused(value: str) -> None:
    assert refuses(Day(), value) == "must look like 2024-05-31"
    assert refuses(Day(prefix="IS:"), f"IS:{value}") == "must look like IS:2024-05-31"


def test_an_empty_day_is_accepted_only_where_declared() -> None:
    assert refuses(Day(), "") == "must look like 2024-05-31"
    assert refuses(Day(prefix="IS:"), "") == refuses(Day(prefix="IS:"), "IS:") == "must look like IS:2024-05-31"
    assert Day(empty_is_absent=True).deserialize("") is None
    assert refuses(Day(empty_is_absent=True), " ") == "must look like 2024-05-31"


# Filters of the event search

FILTERS = [("IS:a", ["a"]), ("IS_ANY_OF:a", ["a"]), ("IS:a,b", ["a", "b"]), ("IS_ANY_OF:a,b,c", ["a", "b", "c"]), ("IS:", [""])]
FILTERS += [("IS_ANY_OF:,", ["", ""]), ("IS:IS:a", ["IS:a"]), ("IS: a ", [" a "]), ("IS:a b,ü", ["a b", "ü"]), ("IS:%_\\", ["%_\\"])]
FILTERS += [("IS:" + "a" * 10**5, ["a" * 10**5])]


@pytest.mark.parametrize(("value", "read"), FILTERS, ids=lambda value: str(value)[:20])
def test_a_filter_is_the_list_of_its_values(value: str, read: list[str]) -> None:
    takes(Filter(), value, read)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "a",
        ":a",
        "is:a",
        "IS",
        "IS a",
        "ISNT:a",
        "IS_NOT:a",
        " IS:a",
        "IS:a\n",
        "IS:a\nb",
        "IS:\r",
        "IS:\u2028",
        "IS:a\0b",
        "=:1",
        "Is:1",
        "IS_ANY:1",
        "xIS:1",
        "IS:\n",
    ],
)
def test_what_is_no_filter_is_refused(value: str) -> None:
    assert refuses(Filter(), value).startswith("must ")


IDS = [("IS:7", [7]), ("IS:7,8", [7, 8]), ("IS_ANY_OF:7,-8,0", [7, -8, 0]), ("IS:", []), ("IS_ANY_OF:", [])]
IDS += [(f"IS:{BIGINT_MAX}", [BIGINT_MAX]), ("IS:007", [7])]


@pytest.mark.parametrize(("value", "read"), IDS)
def test_a_filter_of_ids_is_a_list_of_integers(value: str, read: list[int]) -> None:
    takes(IdFilter(), value, read)


@pytest.mark.parametrize(
    "ids",
    [
        "a",
        "7,a",
        "7,",
        ",7",
        ",",
        "7.0",
        "+7",
        " 7",
        "7 ",
        "٧",
        "７",
        "7e0",
        "7.",
        "0x7",
        "7_0",
        "true",
        "7;8",
        "7 8",
        "NaN",
        "7,,70",
        "IS:7",
        "{7}",
        f"7,{10**30}",
        "--7",
        "-",
        str(2**63),
        str(-(2**64)),
        "9" * 5000,
    ],
)
def test_an_id_that_is_no_integer_of_64_bits_is_refused(ids: str) -> None:
    assert refuses(IdFilter(), f"IS:{ids}") == "must be user ids, which are integers"
