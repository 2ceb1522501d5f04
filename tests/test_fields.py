"""What each field of a request takes, and what it refuses: the tables."""

from datetime import UTC, date, datetime
from typing import Any

import pytest
from marshmallow import ValidationError, fields

from validators import MOST_ITEMS, Body
from validators.fields import (
    BIGINT_MAX,
    MOST_KEYS,
    MOST_LEVELS,
    Anything,
    Boolean,
    DateTime,
    Day,
    Email,
    Filter,
    IdFilter,
    Integer,
    ListOf,
    Name,
    Nested,
    ObjectOf,
    OneOf,
    Text,
    Trimmed,
    Username,
    WholeNumber,
)
from validators.users import Password


def takes(field: fields.Field, value: Any, read: Any) -> None:
    """The field must read this value as that, and as the very same type."""
    found = field.deserialize(value)
    assert (type(found), found) == (type(read), read)


def refuses(field: fields.Field, value: Any) -> str:
    """The one sentence with which the field refuses this value."""
    with pytest.raises(ValidationError) as refusal:
        field.deserialize(value)
    [message] = refusal.value.messages
    return message


NO_TEXT = [None, True, False, 0, 5, 5.0, float("nan"), float("inf"), 10**400, [], ["a"], {}, {"a": "b"}, b"a"]
BROKEN_TEXT = ["\0", "a\0", "\0a", "\ud800", "a\udfffb", "\udbff", "\udc00\ud800", "\ud83d \ude00"]
ODD_TEXT = ["\ufffd", "\uffff", "\U0010ffff", "\u202e", "\u200b", "\ufeff", "\x01", "\x7f", "\n", "\ud7ff", "\ue000", "'; --", "%s"]
ODD_TEXT += ["\\u0000", "🎉"]


# Text

TEXTS = [Text(), Username(), Email(), OneOf(frozenset({"a"}), "an a"), Password(min=1), Trimmed(), Name()]


@pytest.mark.parametrize("value", NO_TEXT)
@pytest.mark.parametrize("field", TEXTS, ids=lambda field: type(field).__name__)
def test_what_is_no_string_is_no_text(field: Text, value: Any) -> None:
    assert refuses(field, value) in ("must be a string", "Field may not be null.")


@pytest.mark.parametrize("value", BROKEN_TEXT)
@pytest.mark.parametrize("field", TEXTS, ids=lambda field: type(field).__name__)
def test_text_that_cannot_be_stored_is_refused(field: Text, value: str) -> None:
    assert refuses(field, value) in ("must not contain the character NUL", "must not contain lone surrogates")


@pytest.mark.parametrize("value", ["", "a", " ", " a ", "a" * 10**6, "é 漢字 Ж ไทย", *ODD_TEXT])
def test_any_other_text_is_taken_as_it_is(value: str) -> None:
    takes(Text(), value, value)


@pytest.mark.parametrize(("text", "is_taken"), [("", False), ("a", False), ("ab", True), ("🎉🎉", True), ("abc", True), ("abcd", False)])
def test_length_is_counted_in_characters(text: str, is_taken: bool) -> None:
    field = Text(min=2, max=3)
    if is_taken:
        takes(field, text, text)
    else:
        assert refuses(field, text) in ("must be at least 2 characters long", "must be at most 3 characters long")


def test_one_character_at_least_means_not_empty() -> None:
    assert refuses(Text(min=1), "") == "must not be empty"
    takes(Text(min=1, max=255), "é" * 255, "é" * 255)
    assert refuses(Text(min=1, max=255), "é" * 256) == "must be at most 255 characters long"


@pytest.mark.parametrize("value", ["", "A", "aa", "a ", " a", "b", "ａ"])
def test_one_of_a_list_is_exact(value: str) -> None:
    field = OneOf(frozenset({"a", "c"}), "a or c")
    takes(field, "a", "a")
    assert refuses(field, value) == "must be a or c"


@pytest.mark.parametrize(
    ("value", "read"),
    [("a b", "a b"), (" ab\n", "ab"), ("\u00a0\u3000ab\u2028\t\x1f", "ab"), (" " * 10**5 + "abc", "abc"), ("\u200b ", None)],
)
def test_white_space_around_a_trimmed_text_does_not_count(value: str, read: str | None) -> None:
    field = Trimmed(min=2, max=3)
    if read is None:
        assert refuses(field, value) == "must be at least 2 characters long"
    else:
        takes(field, value, read)


@pytest.mark.parametrize("value", ["", " ", "\t\n", "\u3000", " " * 10**5])
def test_a_trimmed_text_of_white_space_is_empty(value: str) -> None:
    assert refuses(Trimmed(min=1), value) == "must not be empty"
    takes(Trimmed(), value, "")
    assert refuses(Trimmed(max=2), f"{value}abc{value}") == "must be at most 2 characters long"


@pytest.mark.parametrize("value", ["a", "Z", "0", "-", "_", "~", "...", ".a", "a.", "new-checkout_2.0~x", "a" * 100])
def test_a_name_is_taken_as_it_is(value: str) -> None:
    takes(Name(), value, value)


NO_NAMES = [
    "",
    ".",
    "..",
    " ",
    " a",
    "a ",
    "a b",
    "a\n",
    "a/b",
    "/",
    "a?",
    "a#",
    "a%20",
    "a+b",
    "a:b",
    "a@b",
    "a*",
    "a,b",
    "a;b",
    "a=b",
    "$a",
]
NO_NAMES += [
    "a" * 101,
    "é",
    "ａ",
    "漢字",
    "🎉",
    "٥",
    "a\u200b",
    "\\",
    "'",
    '"',
    "(a)",
    "[a]",
    "<a>",
    "a|b",
    "^",
    "`",
    "{a}",
    "!",
    "&",
    "\x7f",
]


@pytest.mark.parametrize("value", NO_NAMES, ids=lambda value: ascii(value[:20]))
def test_what_cannot_stand_in_a_url_as_it_is_is_no_name(value: str) -> None:
    assert refuses(Name(), value).startswith("must ")


def test_a_name_has_its_own_longest_length() -> None:
    takes(Name(max=3), "abc", "abc")
    assert refuses(Name(max=3), "abcd") == "must be at most 3 characters long"
    assert refuses(Name(), "a/b") == "must contain nothing but A-Z, a-z, 0-9, -, _, . and ~"
    assert refuses(Name(), "..") == "must not be one or two dots alone"


# User names, e-mail addresses, passwords


@pytest.mark.parametrize(
    "value", ["a", "ada", "Ada", "ada lovelace", "ada.lovelace", "é", "漢字", "🎉", "1", "-", "a" * 255, "é" * 255, "a\u200bb"]
)
def test_a_user_name_is_taken_as_it_is(value: str) -> None:
    takes(Username(), value, value)


@pytest.mark.parametrize("value", ["", "@", "a@b", "@a", "a@", " a", "a ", " ", "\ta", "a\n", "\u00a0a", "a\u3000", "a" * 256, "a\u2028"])
def test_a_user_name_is_not_empty_nor_an_address_nor_padded(value: str) -> None:
    assert refuses(Username(), value).startswith("must ")


EMAILS = [("ada@example.org", "ada@example.org"), ("ADA@Example.ORG", "ada@example.org"), ("a@b", "a@b")]
EMAILS += [("ada@host.local", "ada@host.local"), ("ada@site.test", "ada@site.test"), ("ada+tag@example.org", "ada+tag@example.org")]
EMAILS += [("o'neil@example.org", "o'neil@example.org"), ("ÄDA@EXÄMPLE.org", "äda@exämple.org"), ("用户@例子.公司", "用户@例子.公司")]
EMAILS += [("İ@b", "i̇@b"), ("a..b@c", "a..b@c"), ("1@[127.0.0.1]", "1@[127.0.0.1]"), ("a" * 252 + "@b", "a" * 252 + "@b")]
EMAILS += [("İ" * 126 + "@b", "i̇" * 126 + "@b"), ("%_\\@b", "%_\\@b"), ("Σ@B", "σ@b")]


@pytest.mark.parametrize(("value", "read"), EMAILS)
def test_an_address_is_kept_in_lower_case(value: str, read: str) -> None:
    takes(Email(), value, read)


NO_EMAILS = ["", "@", "a", "a@", "@b", "a@b@c", "a@@b", "@a@b", "a@b@", "example.org", "a b@c", "a@b c", " a@b", "a@b ", "a @b", "a@ b"]
NO_EMAILS += ["a@b\n", "\na@b", "a\t@b", "a@b\r\nBcc: c@d", "a\x01@b", "a@\x1fb", "a\x7f@b", "a@b\x85", "a\x9f@b", "a\u00a0@b"]
NO_EMAILS += ["a@b\u2028c", "a\u3000@b", "a" * 253 + "@b", "İ" * 127 + "@b", "a@" + "b" * 253, "a" * 10**6 + "@b", "a\x1c@b", "a\u1680@b"]


@pytest.mark.parametrize("value", NO_EMAILS, ids=lambda value: ascii(value[:20]))
def test_what_is_no_address_of_at_most_254_characters_is_refused(value: str) -> None:
    assert refuses(Email(), value) in ("must be an e-mail address such as ada@example.org", "must be at most 254 characters long")


@pytest.mark.parametrize(
    "value", ["12345678", "        ", "é" * 8, "🎉" * 8, "🎉" * 18, "é" * 36, "a" * 72, "pass word\t\n", "\u202e\u200b" * 4, "a" * 8]
)
def test_a_password_of_8_characters_to_72_bytes_is_taken_as_it_is(value: str) -> None:
    takes(Password(min=8), value, value)


@pytest.mark.parametrize("value", ["", "1234567", "🎉" * 7, "é" * 7, "a" * 73, "é" * 37, "🎉" * 19, "a" * 71 + "é", "漢" * 25, "a" * 10**6])
def test_a_password_that_is_too_short_or_too_long_is_refused(value: str) -> None:
    assert refuses(Password(min=8), value) in ("must be at least 8 characters long", "must be at most 72 bytes long")


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
        assert refuses(field, value) == "must be between 1 and 100"


def test_without_a_range_an_integer_ends_where_those_of_the_database_do() -> None:
    takes(Integer(min=0), 2**63 - 1, 2**63 - 1)
    assert refuses(Integer(min=0), 2**63) == f"must be between 0 and {BIGINT_MAX}"
    takes(WholeNumber(min=0), str(2**63 - 1), 2**63 - 1)
    assert refuses(WholeNumber(min=0), str(2**63)) == f"must be between 0 and {BIGINT_MAX}"


NO_DIGITS = ["", " ", "+5", "-5", "-0", " 5", "5 ", "5.0", "5.", ".5", "5e0", "0x5", "5_0", "5,0", "٥", "５", "५", "²", "½", "five"]
NO_DIGITS += ["null", "5\n", "5\0", "NaN"]


@pytest.mark.parametrize("value", [*NO_DIGITS, "9" * 41, "9" * 5000, "\ud800", "0" * 41])
def test_only_decimal_digits_are_a_whole_number_in_a_query(value: str) -> None:
    assert refuses(WholeNumber(min=0, max=1000), value) == "must be a whole number between 0 and 1000"


@pytest.mark.parametrize(("value", "read"), [("0", 0), ("5", 5), ("1000", 1000), ("0042", 42)])
def test_decimal_digits_are_a_whole_number(value: str, read: int) -> None:
    takes(WholeNumber(min=0, max=1000), value, read)


@pytest.mark.parametrize("value", ["0", "1001", str(2**31), str(2**64), "9" * 40])
def test_a_whole_number_lies_in_its_range(value: str) -> None:
    assert refuses(WholeNumber(min=1, max=1000), value) == "must be between 1 and 1000"


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
    assert refuses(Day(), value) == refuses(Day(prefix="IS:"), f"IS:{value}") == "must be a day that exists"


@pytest.mark.parametrize(
    "value", ["24-05-31", "2024-5-31", "20240531", "2024-W22-5", "2024-05-31 ", " 2024-05-31", "2024-05-31\n", "2024-05-31T00:00:00Z"]
)
def test_what_does_not_look_like_a_day_is_refused(value: str) -> None:
    assert refuses(Day(), value) == "must look like 2024-05-31"
    assert refuses(Day(prefix="IS:"), f"IS:{value}") == "must look like IS:2024-05-31"


def test_no_day_is_one_only_where_that_is_said() -> None:
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
    "value", ["", "a", ":a", "is:a", "IS", "IS a", "ISNT:a", "IS_NOT:a", " IS:a", "IS:a\n", "IS:a\nb", "IS:\r", "IS:\u2028", "IS:a\0b"]
)
def test_what_is_no_filter_is_refused(value: str) -> None:
    assert refuses(Filter(), value).startswith("must ")


IDS = [("IS:7", [7]), ("IS:7,8", [7, 8]), ("IS_ANY_OF:7,-8,0", [7, -8, 0]), ("IS:", []), ("IS_ANY_OF:", [])]
IDS += [(f"IS:{BIGINT_MAX}", [BIGINT_MAX]), ("IS:007", [7])]


@pytest.mark.parametrize(("value", "read"), IDS)
def test_a_filter_of_ids_is_a_list_of_integers(value: str, read: list[int]) -> None:
    takes(IdFilter(), value, read)


@pytest.mark.parametrize(
    "ids", ["a", "7,a", "7,", ",7", ",", "7.0", "+7", " 7", "7 ", "٧", "７", "7e0", "--7", "-", str(2**63), str(-(2**64)), "9" * 5000]
)
def test_an_id_that_is_no_integer_of_64_bits_is_refused(ids: str) -> None:
    assert refuses(IdFilter(), f"IS:{ids}") == "must name user ids, which are integers"


# Lists, objects, and what may be anything


class Leaf(Body):
    """One of a list."""

    operator = Text(required=True)
    weight = Integer(min=0, allow_none=True, load_default=None)


class Open(Body):
    """One that lets pass what it does not know."""

    class Meta(Body.Meta):
        unknown = "exclude"


def problems(field: fields.Field, value: Any) -> Any:
    """What a field that holds others says of the places inside it."""
    with pytest.raises(ValidationError) as refusal:
        field.deserialize(value)
    return refusal.value.messages


NULLABLE = [Text, Trimmed, Name, Username, Email, Boolean, DateTime, Day, Filter, Anything]


@pytest.mark.parametrize("kind", NULLABLE, ids=lambda kind: kind.__name__)
def test_null_is_taken_only_where_that_is_said(kind: Any) -> None:
    takes(kind(allow_none=True), None, None)
    assert refuses(kind(allow_none=False), None) == "Field may not be null."


@pytest.mark.parametrize("value", [True, 0, 5.5, "", "a", "[]", {}, {"0": "a"}, ("a",), {"a"}])
def test_what_is_no_json_array_is_no_list(value: Any) -> None:
    assert refuses(ListOf(Text()), value) == "must be a list"


def test_a_list_is_what_its_field_makes_of_each() -> None:
    takes(ListOf(Email()), [], [])
    takes(ListOf(Email()), ["A@b", "c@d"], ["a@b", "c@d"])
    takes(ListOf(Integer(min=0, allow_none=True), allow_none=True), [1, None], [1, None])
    assert problems(ListOf(Text()), ["a", "b", "c", 5, "d", None]) == {3: ["must be a string"], 5: ["Field may not be null."]}
    assert problems(ListOf(ListOf(Text())), [["a"], ["b", 5], 7]) == {1: {1: ["must be a string"]}, 2: ["must be a list"]}


def test_a_list_is_bounded() -> None:
    takes(ListOf(Boolean()), [True] * MOST_ITEMS, [True] * MOST_ITEMS)
    assert refuses(ListOf(Boolean()), [5] * (MOST_ITEMS + 1)) == f"must hold at most {MOST_ITEMS} items"
    assert refuses(ListOf(Boolean(), max=1, what="answers"), [True, True]) == "must hold at most 1 answers"


NO_OBJECTS = [True, 0, 5.5, "", "a", "{}", [], ["a"], [{}]]


@pytest.mark.parametrize("value", NO_OBJECTS)
def test_what_is_no_json_object_is_none_of_a_body_nor_of_free_keys(value: Any) -> None:
    assert problems(Nested(Leaf), value) == {"_schema": ["must be a JSON object"]}
    assert refuses(ObjectOf(Text()), value) == "must be a JSON object"


def test_a_nested_body_is_read_like_one_that_is_not() -> None:
    field = ListOf(Nested(Leaf))
    takes(field, [{"operator": "IN"}], [{"operator": "IN", "weight": None}])
    wrong = [{}, {"operator": "IN", "weight": -1}, {"operator": "IN", "other": 1}]
    assert problems(field, wrong) == {
        0: {"operator": ["Missing data for required field."]},
        1: {"weight": [f"must be between 0 and {BIGINT_MAX}"]},
        2: {"other": ["is not known here"]},
    }
    takes(Nested(Leaf, allow_none=True), None, None)


def test_unknown_properties_of_a_nested_body_are_counted_once_they_are_many() -> None:
    many = {f"property-{count}": 1 for count in range(21)}
    assert refuses(Nested(Leaf), many) == "must not hold 21 properties that are not known here"
    takes(Nested(Open), many, {})


def test_an_object_of_free_keys_is_what_its_field_makes_of_each_value() -> None:
    takes(ObjectOf(Email()), {}, {})
    takes(ObjectOf(Email()), {"": "A@b", "ключ": "c@d"}, {"": "a@b", "ключ": "c@d"})
    assert problems(ObjectOf(Text()), {"a": "a", "b": 5}) == {"b": ["must be a string"]}
    takes(ObjectOf(Boolean()), dict.fromkeys(map(str, range(MOST_KEYS)), True), dict.fromkeys(map(str, range(MOST_KEYS)), True))
    assert refuses(ObjectOf(Text()), dict.fromkeys(map(str, range(MOST_KEYS + 1)), 5)) == f"must hold at most {MOST_KEYS} properties"


@pytest.mark.parametrize("text", BROKEN_TEXT)
def test_a_key_that_cannot_be_stored_is_refused(text: str) -> None:
    assert refuses(ObjectOf(Text()), {"a": "a", text: "a"}).startswith("the name of a property must not contain ")


ANYTHING = [None, True, 0, -1, 5.5, 10**400, "", "a", [], {}, [None, [1, {"a": [True]}]], {"": {"ключ": "значение"}}, *ODD_TEXT]


@pytest.mark.parametrize("value", ANYTHING, ids=lambda value: ascii(value)[:20])
def test_anything_is_taken_as_it_is(value: Any) -> None:
    takes(Anything(), value, value)
    takes(Anything(), [{"a": value}], [{"a": value}])


@pytest.mark.parametrize("value", [*BROKEN_TEXT, float("inf"), float("-inf"), float("nan")], ids=ascii)
def test_what_cannot_be_stored_is_refused_wherever_it_stands(value: Any) -> None:
    for inside in (value, [value], {"a": value}, [1, {"a": [[], {"b": value}]}], *([{value: 1}] if isinstance(value, str) else [])):
        assert refuses(Anything(), inside).startswith("must not contain ")


def test_anything_is_nested_no_deeper_than_can_be_handled() -> None:
    def deep(levels: int) -> Any:
        value: Any = 1
        for level in range(levels):
            value = [value] if level % 2 else {"a": value}
        return value

    takes(Anything(), deep(MOST_LEVELS), deep(MOST_LEVELS))
    for levels in (MOST_LEVELS + 1, 900, 10**5):
        assert refuses(Anything(), deep(levels)) == f"must not be nested more than {MOST_LEVELS} levels deep"
