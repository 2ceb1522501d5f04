"""The values that each field of a request takes, what it loads them as, and the messages of its refusals."""

from datetime import UTC, date, datetime
from typing import Any

import pytest
from marshmallow import ValidationError, fields

from validators import MAX_ITEMS, Body
from validators.fields import (
    BIGINT_MAX,
    MAX_KEYS,
    MAX_LEVELS,
    Anything,
    Boolean,
    DateTime,
    Email,
    Integer,
    ListOf,
    Name,
    Nested,
    NotBlank,
    ObjectOf,
    OneOf,
    Text,
    Trimmed,
    Username,
)
from validators.people.users import Password
from validators.query_fields import Day, Filter, IdFilter, WholeNumber


class Leaf(Body):
    """An item of a list."""

    operator = Text(required=True)
    weight = Integer(min=0, allow_none=True, load_default=None)


class Open(Body):
    """A body that ignores unknown properties."""

    class Meta(Body.Meta):
        unknown = "exclude"


def problems(field: fields.Field, value: Any) -> Any:
    """The error messages of the field for this value."""
    with pytest.raises(ValidationError) as refusal:
        field.deserialize(value)
    return refusal.value.messages


def takes(field: fields.Field, value: Any, loaded: Any) -> None:
    """Assert that the field loads the value as this one, of the same type."""
    found = field.deserialize(value)
    assert (type(found), found) == (type(loaded), loaded)


def label(value: Any) -> str:
    """A short name of a parameter."""
    return type(value).__name__ if isinstance(value, fields.Field) else ascii(value)[:40]


def at(*parts: int) -> datetime:
    """An instant in UTC."""
    return datetime(*parts, tzinfo=UTC)  # pyright: ignore


BROKEN_TEXT = ["\0", "a\0", "\0a", "\ud800", "a\udfffb", "\udc00\ud800", "\ud83d \ude00"]
ODD_TEXT = ["\ufffd", "\U0010ffff", "\u202e", "\u200b", "\x01", "\x7f", "\n", "\ud7ff", "'; --", "%s", "\\u0000", "🎉"]
FREE_TEXT = Text()
TRIMMED = Trimmed(min=2, max=3)
NUMBER = WholeNumber(min=0, max=1000)

# Values that are loaded as they are.
TAKEN: list[tuple[fields.Field, list[Any]]] = [
    (FREE_TEXT, ["", "a", " a ", "a" * 10**6, "é 漢字 Ж ไทย", *ODD_TEXT]),
    # Length is counted in characters.
    (Text(min=2, max=3), ["ab", "🎉🎉", "abc"]),
    (Text(min=1, max=255), ["é" * 255]),
    (OneOf(frozenset({"a", "c"}), "a or c"), ["a", "c"]),
    (NotBlank(), ["", " a ", "\u200ba", "🎉", "\u200d❤\ufe0f"]),
    (Name(), ["a", "Z", "0", "-", "~", "...", ".a", "a.", "new-checkout_2.0~x", "!", "*'()", "a" * 100]),
    (Name(max=3), ["abc"]),
    (Username(), ["a", "Ada", "ada lovelace", "é", "🎉", "1", "é" * 255, "a\u200bb"]),
    # At least 8 characters, at most 72 bytes.
    (Password(min=8), ["12345678", "        ", "é" * 8, "🎉" * 8, "🎉" * 18, "é" * 36, "a" * 72, "pass word\t\n"]),
    (Boolean(), [True, False]),
    (Integer(min=1, max=100), [1, 100]),
    (Integer(min=0), [2**63 - 1]),
    (ListOf(Boolean()), [[True] * MAX_ITEMS]),
    (ListOf(Integer(min=0, allow_none=True)), [[], [1, None]]),
    (ObjectOf(Boolean()), [dict.fromkeys(map(str, range(MAX_KEYS)), True)]),
    (Anything(), [None, True, 0, -1, 5.5, 10**400, "", [], {}, [None, [1, {"a": [True]}]], {"": {"ключ": "значение"}}]),
    (Anything(), [[{"a": text}] for text in ODD_TEXT]),
]

# Values that are loaded as others.
READ: list[tuple[fields.Field, list[tuple[Any, Any]]]] = [
    (TRIMMED, [(" ab\n", "ab"), ("\u00a0\u3000ab\u2028\t\x1f", "ab"), (" " * 10**5 + "abc", "abc")]),
    (Trimmed(), [("a b", "a b"), (" ", ""), ("\t\n\u3000", "")]),
    (Email(), [("ADA@Example.ORG", "ada@example.org"), ("a@b", "a@b"), ("ada+tag@site.test", "ada+tag@site.test")]),
    (Email(), [("ÄDA@EXÄMPLE.org", "äda@exämple.org"), ("用户@例子.公司", "用户@例子.公司"), ("Σ@B", "σ@b")]),
    (Email(), [("a..b@c", "a..b@c"), ("1@[127.0.0.1]", "1@[127.0.0.1]"), ("%_\\'@b", "%_\\'@b")]),
    # The length counts in lower case.
    (Email(), [("a" * 252 + "@b", "a" * 252 + "@b"), ("İ" * 126 + "@b", "i̇" * 126 + "@b")]),
    (NUMBER, [("0", 0), ("5", 5), ("1000", 1000), ("0042", 42)]),
    (WholeNumber(min=0), [(str(2**63 - 1), 2**63 - 1)]),
    (DateTime(), [("2024-05-31T12:00:00Z", at(2024, 5, 31, 12)), ("2024-05-31t12:00:00z", at(2024, 5, 31, 12))]),
    (DateTime(), [("2024-05-31T12:00:00-00:00", at(2024, 5, 31, 12))]),
    (DateTime(), [("2024-05-31T12:00:00+02:00", at(2024, 5, 31, 10))]),
    (DateTime(), [("2024-05-31T12:00:00-05:30", at(2024, 5, 31, 17, 30))]),
    (DateTime(), [("2024-05-31T12:00:00+23:59", at(2024, 5, 30, 12, 1))]),
    (DateTime(), [("2024-02-29T23:59:59.9Z", at(2024, 2, 29, 23, 59, 59, 900000))]),
    (DateTime(), [("2024-05-31T12:00:00.1239569Z", at(2024, 5, 31, 12, 0, 0, 123000))]),
    (DateTime(), [(f"2024-05-31T12:00:00.{'9' * 400}+00:00", at(2024, 5, 31, 12, 0, 0, 999000))]),
    (DateTime(), [("0001-01-01T00:00:00-23:59", at(1, 1, 1, 23, 59))]),
    (DateTime(), [("9999-12-31T23:59:59+00:01", at(9999, 12, 31, 23, 58, 59))]),
    (Day(), [(text, date.fromisoformat(text)) for text in ("2024-02-29", "2000-02-29", "0001-01-01", "9999-12-31")]),
    (Day(prefix="IS:"), [("IS:2024-05-31", date(2024, 5, 31))]),
    (Day(empty_is_absent=True), [("", None)]),
    (ListOf(Email()), [(["A@b", "c@d"], ["a@b", "c@d"])]),
    (ListOf(Nested(Leaf)), [([{"operator": "IN"}], [{"operator": "IN", "weight": None}])]),
    (Nested(Open), [({f"property-{count}": 1 for count in range(21)}, {})]),
    (ObjectOf(Email()), [({"": "A@b", "ключ": "c@d"}, {"": "a@b", "ключ": "c@d"})]),
    (Filter(), [("IS:a", ["a"]), ("IS_ANY_OF:a,b,c", ["a", "b", "c"]), ("IS:", [""]), ("IS_ANY_OF:,", ["", ""])]),
    (Filter(), [("IS:IS:a", ["IS:a"]), ("IS: a b ,ü", [" a b ", "ü"]), ("IS:" + "a" * 10**5, ["a" * 10**5])]),
    (IdFilter(), [("IS:007", [7]), ("IS_ANY_OF:7,-8,0", [7, -8, 0]), ("IS:", []), (f"IS:{BIGINT_MAX}", [BIGINT_MAX])]),
]

NAME_CHARACTERS = "must contain only A-Z, a-z, 0-9 and - _ . ~ ! * ' ( )"
ADDRESS = "must be an email address such as ada@example.org"
FILTER = "must look like IS:one or IS_ANY_OF:one,two"
IDS = "must be user ids, which are integers"
DATE_TIME = "must be a date-time with an offset such as 2024-05-31T12:00:00Z"
NO_DATE_TIMES = [
    *("", "now", "infinity", "1717156800", "2024-05-31", "2024-05-31T12:00:00", "2024-05-31T12:00Z", "2024-05-31T12Z"),
    *("2024-05-31 12:00:00Z", "2024-05-31_12:00:00Z", "20240531T120000Z", "2024-W22-5T12:00:00Z", "24-05-31T12:00:00Z"),
    *("2024-05-31T12:00:00+0200", "2024-05-31T12:00:00+02", "2024-05-31T12:00:00 Z", "2024-05-31T12:00:00−02:00"),
    *(" 2024-05-31T12:00:00Z", "2024-05-31T12:00:00Z ", "2024-05-31T12:00:00Z\n", "2024-05-31T12:00:00Z\0", "\ud800"),
    *("2024-05-31T12:00:00.Z", "2024-05-31T12:00:00,5Z", "2024-05-31T12:00:00UTC", "2024-05-31T12:00:00[UTC]"),
    *("2023-02-29T12:00:00Z", "2024-13-01T12:00:00Z", "2024-00-01T12:00:00Z", "2024-05-00T12:00:00Z"),
    *("2024-05-31T24:00:00Z", "2024-05-31T12:60:00Z", "2024-05-31T12:00:61Z", "2016-12-31T23:59:60Z"),
    *("2024-05-31T12:00:00+24:00", "2024-05-31T12:00:00-24:00", "2024-05-31T12:00:00+02:60"),
    *("0000-01-01T00:00:00Z", "10000-01-01T00:00:00Z", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01"),
    *("２０２４-05-31T12:00:00Z", "2024-05-31T١٢:00:00Z", "2024-05-31T12:00:00+02:00:30"),
    *(True, 0, 1717156800.5, [], {}, ["2024-05-31T12:00:00Z"]),
]
NO_DAYS = [
    *("24-05-31", "2024-5-31", "20240531", "2024-W22-5", "2024-152", "2024-05-31 ", " 2024-05-31", "2024-05-31\n"),
    *("2024-05-31T00:00:00Z", "2024/05/31", "+024-05-31", "12024-05-31", "٢٠٢٤-٠٥-٣١", "today", "2024-05-31\0"),
    *("2024-05-31,2024-06-01", "-2024-05-31", "", " ", "9" * 5000),
]
MISSING_DAYS = ["0000-01-01", "2023-02-29", "1900-02-29", "2024-13-01", "2024-00-01", "2024-05-00", "2024-05-32"]
WITHOUT_DIGITS = [
    *("", " ", "+5", "-5", "-0", " 5", "5 ", "5.0", "5.", ".5", "5e0", "0x5", "5_0", "5,0", "٥", "５", "²", "½"),
    *("five", "null", "5\n", "5\0", "NaN", "IS:5", "%5", "\ud800", "9" * 41, "9" * 5000, "0" * 41),
]

REFUSED: list[tuple[fields.Field, str, list[Any]]] = [
    (FREE_TEXT, "must be a string", [True, 0, 5.0, float("nan"), 10**400, [], ["a"], {}, {"a": "b"}, b"a"]),
    (Text(min=2, max=3), "must be at least 2 characters long", ["", "a", "🎉"]),
    (Text(min=2, max=3), "must be at most 3 characters long", ["abcd"]),
    (Text(min=1), "must not be empty", [""]),
    (Text(min=1, max=255), "must be at most 255 characters long", ["é" * 256]),
    (OneOf(frozenset({"a", "c"}), "a or c"), "must be a or c", ["", "A", "aa", "a ", " a", "b", "ａ"]),
    (TRIMMED, "must be at least 2 characters long", ["a", "\u200b "]),
    (TRIMMED, "must be at most 3 characters long", [" abcd", "\t\nabcd\u3000"]),
    (Trimmed(min=1), "must not be empty", ["", " ", "\t\n", "\u3000", " " * 10**5]),
    (NotBlank(), "must not be blank", [" ", "\t\n\u3000", "\u200b", " \ufeff\u2028\xad\x7f"]),
    (NotBlank(min=1), "must not be empty", [""]),
    (Name(), "must not be empty", [""]),
    (Name(), 'must not be "." or ".."', [".", ".."]),
    (Name(), "must be at most 100 characters long", ["a" * 101]),
    (Name(max=3), "must be at most 3 characters long", ["abcd"]),
    (Name(), NAME_CHARACTERS, [" ", "a ", "a\n", "é", "ａ", "漢字", "🎉", "٥", "a\u200b", "\x7f"]),
    (Name(), NAME_CHARACTERS, [*'/?#%+:@,;=$\\"[]<>|^`{}&']),
    (Username(), "must not be empty", [""]),
    (Username(), "must not be blank", [" ", "\u200b"]),
    (Username(), "must not contain @", ["@", "a@b", "@a", "a@"]),
    (Username(), "must not begin or end with a space", [" a", "a ", "\ta", "a\n", "\u00a0a", "a\u2028"]),
    (Username(), "must be at most 255 characters long", ["a" * 256]),
    (Email(), ADDRESS, ["", "@", "a", "a@", "@b", "a@b@c", "a@@b", "@a@b", "a@b@", "example.org", "a b@c", "a@b c"]),
    (Email(), ADDRESS, [" a@b", "a@b ", "a @b", "a@b\n", "\na@b", "a@b\r\nBcc: c@d", "a\x01@b", "a@\x1fb", "a\x7f@b"]),
    (Email(), ADDRESS, ["a@b\x85", "a\x9f@b", "a\u00a0@b", "a@b\u2028c"]),
    (Email(), "must be at most 254 characters long", ["a" * 253 + "@b", "İ" * 127 + "@b", "a@" + "b" * 253]),
    (Password(min=8), "must be at least 8 characters long", ["", "1234567", "🎉" * 7]),
    (Password(min=8), "must be at most 72 bytes long", ["a" * 73, "é" * 37, "🎉" * 19, "a" * 71 + "é"]),
    (Boolean(), "must be true or false", [0, 1, 1.0, "true", "False", "", "on", [], [True], {}, float("nan")]),
    (Integer(min=0), "must be a whole number", [True, False, 5.0, 5.5, -0.0, float("nan"), 1e300, [], [5], {}]),
    (Integer(min=0), "must be a whole number, without quotes", ["5", "", "٥"]),
    (Integer(min=1, max=100), "must be from 1 to 100", [0, 101, -1, 10**400, -(10**400)]),
    (Integer(min=0), f"must be from 0 to {BIGINT_MAX}", [2**63]),
    (NUMBER, "must be a whole number from 0 to 1000", WITHOUT_DIGITS),
    (WholeNumber(min=1, max=1000), "must be from 1 to 1000", ["0", "1001", str(2**64), "9" * 40]),
    (WholeNumber(min=0), f"must be from 0 to {BIGINT_MAX}", [str(2**63)]),
    (DateTime(), DATE_TIME, NO_DATE_TIMES),
    (Day(), "must look like 2024-05-31", [*NO_DAYS, "IS:2024-05-31"]),
    (Day(empty_is_absent=True), "must look like 2024-05-31", [" "]),
    (Day(prefix="IS:"), "must look like IS:2024-05-31", ["", "2024-05-31", *(f"IS:{text}" for text in NO_DAYS)]),
    (Day(), "must be a valid date", MISSING_DAYS),
    (Day(prefix="IS:"), "must be a valid date", [f"IS:{text}" for text in MISSING_DAYS]),
    (ListOf(Text()), "must be a list", [True, 0, 5.5, "", "a", "[]", {}, {"0": "a"}, ("a",), {"a"}]),
    (ListOf(Boolean()), f"must have at most {MAX_ITEMS} items", [[5] * (MAX_ITEMS + 1)]),
    (ListOf(Boolean(), max=1, what="answers"), "must have at most 1 answers", [[True, True]]),
    (ObjectOf(Text()), "must be a JSON object", [True, 0, 5.5, "", "a", "{}", [], ["a"], [{}]]),
    (ObjectOf(Text()), f"must have at most {MAX_KEYS} properties", [dict.fromkeys(map(str, range(MAX_KEYS + 1)), 5)]),
    (ObjectOf(Text()), "the name of a property must not contain the character NUL", [{"a": "a", "b\0": "a"}]),
    (ObjectOf(Text()), "the name of a property must not contain lone surrogates", [{"a": "a", "\ud800": "a"}]),
    (Nested(Leaf), "21 unknown properties", [{f"property-{count}": 1 for count in range(21)}]),
    (Anything(), "must not contain a number that is too large", [float("inf"), [{"a": float("nan")}]]),
    (Filter(), FILTER, ["", "a", ":a", "is:a", "IS", "IS a", "ISNT:a", "IS_NOT:a"]),
    (Filter(), FILTER, [" IS:a", "IS:a\n", "IS:a\nb", "IS:\r", "IS:\u2028", "xIS:1"]),
    (Filter(), "must not contain the character NUL", ["IS:a\0b"]),
    (IdFilter(), IDS, [f"IS:{ids}" for ids in ("a", "7,a", "7,", ",7", ",", "7,,70")]),
    (IdFilter(), IDS, [f"IS:{id}" for id in ("7.0", "+7", " 7", "٧", "７", "7e0")]),
    (IdFilter(), IDS, [f"IS:{id}" for id in ("0x7", "7_0", "--7", "-", "IS:7")]),
    (IdFilter(), IDS, [f"IS:{id}" for id in (2**63, -(2**64), "9" * 5000)]),
]

TEXTS = [
    FREE_TEXT,
    Username(),
    Email(),
    OneOf(frozenset({"a"}), "an a"),
    Password(min=1),
    Trimmed(),
    NotBlank(),
    Name(),
]


@pytest.mark.parametrize(("field", "value"), [(field, value) for field, values in TAKEN for value in values], ids=label)
def test_a_value_is_loaded_unchanged(field: fields.Field, value: Any) -> None:
    takes(field, value, value)


@pytest.mark.parametrize(
    ("field", "value", "loaded"), [(field, *pair) for field, pairs in READ for pair in pairs], ids=label
)
def test_a_value_is_loaded_as_another(field: fields.Field, value: Any, loaded: Any) -> None:
    takes(field, value, loaded)
    if isinstance(loaded, datetime):
        assert field.deserialize(value).tzinfo is UTC


@pytest.mark.parametrize(
    ("field", "message", "value"),
    [(field, message, value) for field, message, values in REFUSED for value in values],
    ids=label,
)
def test_an_invalid_value_is_refused(field: fields.Field, message: str, value: Any) -> None:
    assert problems(field, value) == [message]


@pytest.mark.parametrize("field", TEXTS, ids=label)
def test_a_text_must_be_a_string_that_can_be_stored(field: fields.Field) -> None:
    for value in (5, ["a"]):
        assert problems(field, value) == ["must be a string"]
    for value in BROKEN_TEXT:
        reason = "lone surrogates" if "\0" not in value else "the character NUL"
        assert problems(field, value) == [f"must not contain {reason}"]


NULLABLE = [Text, Trimmed, Name, Username, Email, Boolean, DateTime, Day, Filter]


@pytest.mark.parametrize("kind", NULLABLE, ids=lambda kind: kind.__name__)
def test_null_is_accepted_only_where_declared(kind: Any) -> None:
    takes(kind(allow_none=True), None, None)
    assert problems(kind(allow_none=False), None) == ["Field may not be null."]


INNER: list[tuple[fields.Field, Any, Any]] = [
    (ListOf(Text()), ["a", 5, "b", None], {1: ["must be a string"], 3: ["Field may not be null."]}),
    (ListOf(ListOf(Text())), [["a"], ["b", 5], 7], {1: {1: ["must be a string"]}, 2: ["must be a list"]}),
    (Nested(Leaf), [], {"_schema": ["must be a JSON object"]}),
    (ListOf(Nested(Leaf)), [{}], {0: {"operator": ["Missing data for required field."]}}),
    (Nested(Leaf), {"operator": "IN", "weight": -1}, {"weight": [f"must be from 0 to {BIGINT_MAX}"]}),
    (Nested(Leaf), {"operator": "IN", "other": 1}, {"other": ["unknown property"]}),
    (ObjectOf(Text()), {"a": "a", "b": 5}, {"b": ["must be a string"]}),
]


@pytest.mark.parametrize(("field", "value", "messages"), INNER, ids=label)
def test_messages_name_the_place_inside_a_value(field: fields.Field, value: Any, messages: Any) -> None:
    assert problems(field, value) == messages


@pytest.mark.parametrize("text", BROKEN_TEXT, ids=ascii)
def test_a_text_that_cannot_be_stored_is_refused_at_any_depth(text: str) -> None:
    for value in (text, [text], {"a": text}, [1, {"a": [[], {"b": text}]}], [{text: 1}]):
        assert problems(Anything(), value)[0].startswith("must not contain ")


def test_anything_has_a_maximum_depth() -> None:
    def deep(levels: int) -> Any:
        value: Any = 1
        for level in range(levels):
            value = [value] if level % 2 else {"a": value}
        return value

    takes(Anything(), deep(MAX_LEVELS), deep(MAX_LEVELS))
    for levels in (MAX_LEVELS + 1, 900, 10**5):
        assert problems(Anything(), deep(levels)) == [f"must not be nested more than {MAX_LEVELS} levels deep"]
