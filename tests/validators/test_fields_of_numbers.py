"""What fields for booleans and numbers take, and what they refuse."""

from typing import Any

import pytest

from tests.support.fields import refuses, takes
from validators.fields import (
    BIGINT_MAX,
    Boolean,
    Integer,
)
from validators.query_fields import WholeNumber


@pytest.mark.parametrize(
    "value", [None, 0, 1, 1.0, "true", "false", "True", "", "on", "yes", "1", [], [True], {}, float("nan")]
)
def test_only_true_and_false_are_booleans(value: Any) -> None:
    takes(Boolean(), True, True)
    takes(Boolean(), False, False)
    assert refuses(Boolean(), value) in ("must be true or false", "Field may not be null.")


@pytest.mark.parametrize(
    "value", [None, True, False, 5.0, 5.5, -0.0, float("nan"), float("inf"), 1e300, "5", "", "٥", [], [5], {}]
)
def test_a_value_that_is_not_a_whole_json_number_is_refused(value: Any) -> None:
    assert refuses(Integer(min=0), value) in (
        *("must be a whole number", "must be a whole number, without quotes", "Field may not be null."),
    )


@pytest.mark.parametrize(
    ("value", "is_taken"),
    [(0, False), (1, True), (100, True), (101, False), (-1, False), (10**400, False), (-(10**400), False)],
)
def test_an_integer_lies_in_its_range(value: int, is_taken: bool) -> None:
    field = Integer(min=1, max=100)
    if is_taken:
        takes(field, value, value)
    else:
        assert refuses(field, value) == "must be from 1 to 100"


def test_an_integer_without_a_range_has_the_range_of_the_database() -> None:
    takes(Integer(min=0), 2**63 - 1, 2**63 - 1)
    assert refuses(Integer(min=0), 2**63) == f"must be from 0 to {BIGINT_MAX}"
    takes(WholeNumber(min=0), str(2**63 - 1), 2**63 - 1)
    assert refuses(WholeNumber(min=0), str(2**63)) == f"must be from 0 to {BIGINT_MAX}"


NO_DIGITS = [
    "",
    " ",
    "+5",
    "-5",
    "-0",
    " 5",
    "5 ",
    "5.0",
    "5.",
    ".5",
    "5e0",
    "0x5",
    "5_0",
    "5,0",
    "٥",
    "５",
    "५",
    "²",
    "½",
    "five",
    "null",
    "5\n",
    "5\0",
    "NaN",
    "1_000",
    "1,000",
    "Infinity",
    "true",
    "IS:5",
    "--1",
    "';--",
    "%5",
]


@pytest.mark.parametrize("value", [*NO_DIGITS, "9" * 41, "9" * 5000, "\ud800", "0" * 41])
def test_only_decimal_digits_are_a_whole_number_in_a_query(value: str) -> None:
    assert refuses(WholeNumber(min=0, max=1000), value) == "must be a whole number from 0 to 1000"


@pytest.mark.parametrize(("value", "read"), [("0", 0), ("5", 5), ("1000", 1000), ("0042", 42)])
def test_decimal_digits_are_a_whole_number(value: str, read: int) -> None:
    takes(WholeNumber(min=0, max=1000), value, read)


@pytest.mark.parametrize("value", ["0", "1001", str(2**31), str(2**64), "9" * 40])
def test_a_whole_number_lies_in_its_range(value: str) -> None:
    assert refuses(WholeNumber(min=1, max=1000), value) == "must be from 1 to 1000"
