"""What the filters of the event search take, and what they refuse."""

import pytest

from tests.support.fields import refuses, takes
from validators.fields import (
    BIGINT_MAX,
)
from validators.query_fields import Filter, IdFilter

# Filters of the event search

FILTERS = [
    ("IS:a", ["a"]),
    ("IS_ANY_OF:a", ["a"]),
    ("IS:a,b", ["a", "b"]),
    ("IS_ANY_OF:a,b,c", ["a", "b", "c"]),
    ("IS:", [""]),
    ("IS_ANY_OF:,", ["", ""]),
    ("IS:IS:a", ["IS:a"]),
    ("IS: a ", [" a "]),
    ("IS:a b,ü", ["a b", "ü"]),
    ("IS:%_\\", ["%_\\"]),
    ("IS:" + "a" * 10**5, ["a" * 10**5]),
]


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
def test_an_invalid_filter_is_refused(value: str) -> None:
    assert refuses(Filter(), value).startswith("must ")


IDS = [
    ("IS:7", [7]),
    ("IS:7,8", [7, 8]),
    ("IS_ANY_OF:7,-8,0", [7, -8, 0]),
    ("IS:", []),
    ("IS_ANY_OF:", []),
    (f"IS:{BIGINT_MAX}", [BIGINT_MAX]),
    ("IS:007", [7]),
]


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
