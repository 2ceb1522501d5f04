"""Constraints: edges that the client specification and the comparison with the engine leave out."""

from itertools import pairwise

import pytest
import re2

from evaluation.document import Document


def satisfied(found: str, **constraint: object) -> bool:
    """Return whether a value of the context satisfies a constraint."""
    strategy = {"name": "default", "constraints": [{"contextName": "x", **constraint}]}
    document = Document({"features": [{"name": "flag", "enabled": True, "strategies": [strategy]}]})
    return document.evaluate("flag", {"properties": {"x": found}}).enabled


def test_addresses_have_no_zone():
    assert satisfied("fe80::1", operator="IN_CIDR", values=["fe80::/10"])
    assert not satisfied("fe80::1%eth0", operator="IN_CIDR", values=["fe80::/10"])
    assert not satisfied("fe80::1", operator="IN_CIDR", values=["fe80::1%eth0", "10.0.0.1"])
    assert not satisfied("fe80::1%eth0", operator="IN_CIDR", values=["fe80::1%eth0", "10.0.0.1"])


def test_network_can_be_written_as_one_of_its_addresses():
    assert satisfied("10.1.1.1", operator="IN_CIDR", values=["10.0.0.7/8"])


def test_ipv4_and_ipv6_never_match_each_other():
    assert not satisfied("10.0.0.1", operator="IN_CIDR", values=["::/0"])
    assert not satisfied("::1", operator="IN_CIDR", values=["0.0.0.0/0"])


@pytest.mark.parametrize(
    ("address", "ips", "expected"),
    [
        ("::ffff:10.1.2.3", "10.1.0.0/16", True),
        ("::FFFF:0a01:0203", "10.1.2.3", True),
        ("10.1.2.3", "::ffff:10.1.2.3", True),
        ("10.1.2.3", "::ffff:10.1.0.0/112", True),
        ("::ffff:10.1.2.3", "::ffff:a01:203", True),
        ("::ffff:10.1.2.3", "::/0", True),
        ("::ffff:10.2.2.3", "10.1.0.0/16", False),
        ("10.1.2.3", "::/0", False),
        ("::10.1.2.3", "10.1.0.0/16", False),
    ],
)
def test_mapped_address_is_the_ipv4_address(address: str, ips: str, expected: bool) -> None:
    strategy = {"name": "remoteAddress", "parameters": {"IPs": f"9.9.9.9, {ips}"}}
    document = Document({"features": [{"name": "flag", "enabled": True, "strategies": [strategy]}]})
    assert document.evaluate("flag", {"remoteAddress": address}).enabled is expected


def test_dates_may_be_written_in_lower_case():
    date = {"operator": "DATE_BEFORE", "value": "2024-05-31T00:00:01Z"}
    assert satisfied("2024-05-31t00:00:00z", **date)
    assert satisfied("2024-05-31 00:00:00.123456789Z", **date)
    assert not satisfied("20240531T000000Z", **date)
    assert not satisfied("2024-W22-5T00:00:00Z", **date)
    assert not satisfied("2024-05-31T24:00:00Z", **date)


@pytest.mark.parametrize(
    "found",
    [
        "2024-05-31T02:00:00 +02:00",
        "2024-5-31T2:0:00Z",
        "2024-05-31  00:00:00Z",
        "\u30002024 - 05\x85-\xa031t00 :\t00: 00 UTC\n",
        "2024-05-31T02:00:00+02 00",
        "2024-05-30T22:00:00\u221202: 00",
        "+2024-05-31T00:00:00utc",
    ],
)
def test_dates_are_read_as_by_the_engine(found: str) -> None:
    assert satisfied(found, operator="DATE_AFTER", value="2024-05-30T23:59:59.999Z")
    assert satisfied(found, operator="DATE_BEFORE", value="2024-05-31T02:00:00.001Z")
    for wrong in ("\x1c", "\u200b", "x"):
        assert satisfied(wrong + found, operator="DATE_AFTER", value="2025-01-01T00:00:00Z", inverted=True)
        assert not satisfied(wrong + found, operator="DATE_AFTER", value="1999-01-01T00:00:00Z")


def test_dates_have_years_beyond_those_of_python_and_leap_seconds():
    moments = [
        "-262143-01-02T00:00:00Z",
        "-0001-12-31T23:59:59Z",
        "0-1-1T00:00:00Z",
        "24-05-31T00:00:00Z",
        "2024-12-31T23:59:59.999Z",
        "2024-12-31T23:59:60Z",
        "2024-12-31T23:59:60.5Z",
        "2025-01-01T00:00:00Z",
        "+12024-12-31T23:00:00-02:00",
        "+12025-01-01T01:00:01Z",
    ]
    for earlier, later in pairwise(moments):
        assert satisfied(earlier, operator="DATE_BEFORE", value=later)
        assert satisfied(later, operator="DATE_AFTER", value=earlier)
    for found in ("12024-01-01T00:00:00Z", "+262143-01-01T00:00:00Z", f"+{'9' * 5000}-01-01T00:00:00Z"):
        assert not satisfied(found, operator="DATE_AFTER", value="1999-01-01T00:00:00Z")
    for found in ("2024-02-30T00:00:00Z", "2024-01-01T00:00:61Z", "2024-01-01T00:00:00+24:00"):
        assert not satisfied(found, operator="DATE_AFTER", value="1999-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("found", "operator"),
    [
        ("2024-05-31T12:00:00.1Z", "DATE_AFTER"),
        ("2024-05-31T12:00:00.000000001Z", "DATE_AFTER"),
        ("2024-05-31T11:59:59.999999999Z", "DATE_BEFORE"),
        ("2024-05-31T14:00:00+02:01", "DATE_BEFORE"),
        ("2024-12-31T23:59:59.9-23:59", "DATE_AFTER"),
        ("2024-05-31T12:00:00-00:00", None),
    ],
)
def test_dates_have_offsets_and_fractions_of_any_length(found: str, operator: str | None) -> None:
    noon = "2024-05-31T12:00:00.000Z"
    for name in ("DATE_AFTER", "DATE_BEFORE"):
        assert satisfied(found, operator=name, value=noon) is (name == operator)


def test_versions_have_numbers_of_64_bits():
    assert satisfied(f"{2**64 - 1}.0.0", operator="SEMVER_GT", value="1.0.0")
    assert not satisfied(f"{2**64}.0.0", operator="SEMVER_GT", value="1.0.0")
    assert not satisfied("9" * 5000 + ".0.0", operator="SEMVER_GT", value="1.0.0")
    assert satisfied("1.0.0-" + "9" * 5000, operator="SEMVER_LT", value="1.0.0")


def test_patterns_take_linear_time_and_are_not_kept():
    assert not satisfied("a" * 5000, operator="REGEX", value="^(a+)+$b")
    assert satisfied("ABC", operator="REGEX", value="b", caseInsensitive=True)
    assert re2._Regexp._make.cache_info().currsize == 0  # pyright: ignore


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        (r"\\<a", r"\<a"),
        (r"[[:alpha:]-]+$", "a-"),
        (r"^[]a]$", "]"),
        (r"^[^]a]$", "b"),
        (r"^[\[\-\-&~]+$", "[-&~"),
        (r"\Q\<[a&&b]\E", r"\<[a&&b]"),
        (r"a&&b--c~~\[", "a&&b--c~~["),
        (r"\bgold\b{1}", "gold"),
    ],
)
def test_pattern_can_have_such_texts_where_the_engine_does_not_read_more_into_them(pattern: str, found: str) -> None:
    assert satisfied(found, operator="REGEX", value=pattern)


def test_lone_surrogate_in_a_pattern_counts_as_a_question_mark():
    assert satisfied("?", operator="REGEX", value="[\ud800]")


def test_numbers_are_written_as_in_json():
    for found in ("1", "1.0", "1e0", "+1"):
        assert satisfied(found, operator="NUM_EQ", value="1")
    for found in ("١", " 1", "1 ", "0_1", "0x1", "", "one"):
        assert not satisfied(found, operator="NUM_EQ", value="1")


def test_identifiers_of_versions_compare_as_numbers_before_words():
    order = [
        "0.9.0",
        "1.0.0-1",
        "1.0.0-9",
        "1.0.0-10",
        "1.0.0-a",
        "1.0.0-a.1",
        "1.0.0-a.b",
        "1.0.0-b",
        "1.0.0",
        "1.0.1-a",
    ]
    for lower, higher in pairwise(order):
        assert satisfied(lower, operator="SEMVER_LT", value=higher)
        assert satisfied(higher, operator="SEMVER_GT", value=lower)
        assert not satisfied(lower, operator="SEMVER_GTE", value=higher)
