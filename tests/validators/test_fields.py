"""What each field of a request takes, and what it refuses: the tables."""

from typing import Any

import pytest

from tests.support.fields import BROKEN_TEXT, ODD_TEXT, refuses, takes
from validators.fields import (
    Email,
    Name,
    OneOf,
    Text,
    Trimmed,
    Username,
)
from validators.people.users import Password

NO_TEXT = [None, True, False, 0, 5, 5.0, float("nan"), float("inf"), 10**400, [], ["a"], {}, {"a": "b"}, b"a"]


# Text

TEXTS = [Text(), Username(), Email(), OneOf(frozenset({"a"}), "an a"), Password(min=1), Trimmed(), Name()]


@pytest.mark.parametrize("value", NO_TEXT)
@pytest.mark.parametrize("field", TEXTS, ids=lambda field: type(field).__name__)
def test_a_value_that_is_not_a_string_is_refused(field: Text, value: Any) -> None:
    assert refuses(field, value) in ("must be a string", "Field may not be null.")


@pytest.mark.parametrize("value", BROKEN_TEXT)
@pytest.mark.parametrize("field", TEXTS, ids=lambda field: type(field).__name__)
def test_text_that_cannot_be_stored_is_refused(field: Text, value: str) -> None:
    assert refuses(field, value) in ("must not contain the character NUL", "must not contain lone surrogates")


@pytest.mark.parametrize("value", ["", "a", " ", " a ", "a" * 10**6, "é 漢字 Ж ไทย", *ODD_TEXT])
def test_any_other_text_is_accepted_unchanged(value: str) -> None:
    takes(Text(), value, value)


@pytest.mark.parametrize(
    ("text", "is_taken"), [("", False), ("a", False), ("ab", True), ("🎉🎉", True), ("abc", True), ("abcd", False)]
)
def test_length_is_counted_in_characters(text: str, is_taken: bool) -> None:
    field = Text(min=2, max=3)
    if is_taken:
        takes(field, text, text)
    else:
        assert refuses(field, text) in ("must be at least 2 characters long", "must be at most 3 characters long")


def test_a_text_of_at_least_one_character_must_not_be_empty() -> None:
    assert refuses(Text(min=1), "") == "must not be empty"
    takes(Text(min=1, max=255), "é" * 255, "é" * 255)
    assert refuses(Text(min=1, max=255), "é" * 256) == "must be at most 255 characters long"


@pytest.mark.parametrize("value", ["", "A", "aa", "a ", " a", "b", "ａ"])
def test_a_choice_is_compared_exactly(value: str) -> None:
    field = OneOf(frozenset({"a", "c"}), "a or c")
    takes(field, "a", "a")
    assert refuses(field, value) == "must be a or c"


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("a b", "a b"),
        (" ab\n", "ab"),
        ("\u00a0\u3000ab\u2028\t\x1f", "ab"),
        (" " * 10**5 + "abc", "abc"),
        ("\u200b ", None),
    ],
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


@pytest.mark.parametrize(
    "value", ["a", "Z", "0", "-", "_", "~", "...", ".a", "a.", "new-checkout_2.0~x", "!", "*'()", "a" * 100]
)
def test_a_name_is_accepted_unchanged(value: str) -> None:
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
    "a,b",
    "a;b",
    "a=b",
    "$a",
    "a" * 101,
    "é",
    "ａ",
    "漢字",
    "🎉",
    "٥",
    "a\u200b",
    "\\",
    '"',
    "[a]",
    "<a>",
    "a|b",
    "^",
    "`",
    "{a}",
    "&",
    "\x7f",
]


@pytest.mark.parametrize("value", NO_NAMES, ids=lambda value: ascii(value[:20]))
def test_a_text_that_a_url_cannot_contain_is_no_name(value: str) -> None:
    assert refuses(Name(), value).startswith("must ")


def test_a_name_has_its_own_longest_length() -> None:
    takes(Name(max=3), "abc", "abc")
    assert refuses(Name(max=3), "abcd") == "must be at most 3 characters long"
    assert refuses(Name(), "a/b") == "must contain only A-Z, a-z, 0-9 and - _ . ~ ! * ' ( )"
    assert refuses(Name(), "..") == 'must not be "." or ".."'


# User names, e-mail addresses, passwords


@pytest.mark.parametrize(
    "value",
    ["a", "ada", "Ada", "ada lovelace", "ada.lovelace", "é", "漢字", "🎉", "1", "-", "a" * 255, "é" * 255, "a\u200bb"],
)
def test_a_user_name_is_accepted_unchanged(value: str) -> None:
    takes(Username(), value, value)


@pytest.mark.parametrize(
    "value", ["", "@", "a@b", "@a", "a@", " a", "a ", " ", "\ta", "a\n", "\u00a0a", "a\u3000", "a" * 256, "a\u2028"]
)
def test_a_user_name_is_not_empty_nor_an_address_nor_padded(value: str) -> None:
    assert refuses(Username(), value).startswith("must ")


EMAILS = [
    ("ada@example.org", "ada@example.org"),
    ("ADA@Example.ORG", "ada@example.org"),
    ("a@b", "a@b"),
    ("ada@host.local", "ada@host.local"),
    ("ada@site.test", "ada@site.test"),
    ("ada+tag@example.org", "ada+tag@example.org"),
    ("o'neil@example.org", "o'neil@example.org"),
    ("ÄDA@EXÄMPLE.org", "äda@exämple.org"),
    ("用户@例子.公司", "用户@例子.公司"),
    ("İ@b", "i̇@b"),
    ("a..b@c", "a..b@c"),
    ("1@[127.0.0.1]", "1@[127.0.0.1]"),
    ("a" * 252 + "@b", "a" * 252 + "@b"),
    ("İ" * 126 + "@b", "i̇" * 126 + "@b"),
    ("%_\\@b", "%_\\@b"),
    ("Σ@B", "σ@b"),
]


@pytest.mark.parametrize(("value", "read"), EMAILS)
def test_an_address_is_kept_in_lower_case(value: str, read: str) -> None:
    takes(Email(), value, read)


NO_EMAILS = [
    "",
    "@",
    "a",
    "a@",
    "@b",
    "a@b@c",
    "a@@b",
    "@a@b",
    "a@b@",
    "example.org",
    "a b@c",
    "a@b c",
    " a@b",
    "a@b ",
    "a @b",
    "a@ b",
    "a@b\n",
    "\na@b",
    "a\t@b",
    "a@b\r\nBcc: c@d",
    "a\x01@b",
    "a@\x1fb",
    "a\x7f@b",
    "a@b\x85",
    "a\x9f@b",
    "a\u00a0@b",
    "a@b\u2028c",
    "a\u3000@b",
    "a" * 253 + "@b",
    "İ" * 127 + "@b",
    "a@" + "b" * 253,
    "a" * 10**6 + "@b",
    "a\x1c@b",
    "a\u1680@b",
]


@pytest.mark.parametrize("value", NO_EMAILS, ids=lambda value: ascii(value[:20]))
def test_an_invalid_email_address_is_refused(value: str) -> None:
    assert refuses(Email(), value) in (
        "must be an email address such as ada@example.org",
        "must be at most 254 characters long",
    )


@pytest.mark.parametrize(
    "value",
    [
        "12345678",
        "        ",
        "é" * 8,
        "🎉" * 8,
        "🎉" * 18,
        "é" * 36,
        "a" * 72,
        "pass word\t\n",
        "\u202e\u200b" * 4,
        "a" * 8,
    ],
)
def test_a_password_of_8_characters_to_72_bytes_is_accepted_unchanged(value: str) -> None:
    takes(Password(min=8), value, value)


@pytest.mark.parametrize(
    "value", ["", "1234567", "🎉" * 7, "é" * 7, "a" * 73, "é" * 37, "🎉" * 19, "a" * 71 + "é", "漢" * 25, "a" * 10**6]
)
def test_a_password_that_is_too_short_or_too_long_is_refused(value: str) -> None:
    assert refuses(Password(min=8), value) in ("must be at least 8 characters long", "must be at most 72 bytes long")
