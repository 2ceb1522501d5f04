"""Naming patterns: they match as in Python, and no pattern keeps a worker busy."""

import random
import re
import time

import pytest
import re2

from tests.support.documents import VALIDATE, body, document
from validators.projects.naming import PatternError, compiled, mismatches

MATCHES = [
    ("", "", "a"),
    ("a", "a", "aa b A"),
    ("^a$", "a", "aa ba"),
    ("^a|b$", "a b", "ab"),
    ("(^a|^b)c|(d$)", "ac bc d", "a c abc"),
    ("(?:a|bc)d", "ad bcd", "a d bc abcd"),
    ("[a-z]+-[a-z-]+", "shop-new-checkout", "shop Shop-new shop- -new"),
    ("[^a-c.]", "d - A", "a b c . dd"),
    (r"\d\D\w\W", "1a_- 9.Z~", "aa_- 11_- 1a-- 1a__"),
    (r"[\w-]+[\d.]", "a-b1 --.", "a-b ."),
    (r"[\D]+", "ab-", "a1"),
    (r"[a\]b]\.\\", r"a.\ ].\ ", r"a.b ax\ "),
    ("[-a][a-]", "-- aa -a", "ab b-"),
    ("[(?{}$^]a", "?a {a ^a", "a aa"),
    (".{2,3}", "ab abc", "a abcd"),
    ("a{2}", "aa", "a aaa"),
    ("a{2,}", "aa aaaaa", "a"),
    ("a{0}b", "b", "ab a"),
    ("a{02}b{00,01}", "aa aab", "a aabb"),
    ("(ab?){1,2}c*?", "a abab aac aabccc", "b c ababab"),
    ("(|a)b", "b ab", "a aab"),
    ("(a*)*b", "b aab", "a"),
    ("ü+", "ü", "u"),
    ("[a-ü]+.", "az üü", "a -a"),
    (r"\–[\–a]", "–a", "a-"),
    (r"\-\.\~\_\/", "-.~_/", "-.~"),
    ("(a{10}){100}", "a" * 1000, "a" * 999),
]


@pytest.mark.parametrize(("pattern", "good", "bad"), MATCHES)
def test_a_pattern_matches_the_whole_name(pattern: str, good: str, bad: str) -> None:
    assert mismatches(pattern, good.split() or [""]) == []
    assert mismatches(pattern, bad.split()) == bad.split()


REFUSED = {
    "must not contain white space": ["a b", " ", "a\t", "a\n", "a\u00a0b", "a\u2003", "a\x01", "\u200b"],
    "must not use ": [
        *(r"\s", r"\S", r"[\s]", r"\t", r"a\n", r"\x20", r"\u0020", r"\040"),
        *(r"(a)\1", r"\b", r"\Aa", r"a\Z", r"\p{L}", r"\é"),
    ],
    "must not use lookaround": [
        *("(?=a)a", "(?!a)", "(?<=a)b", "(?<!a)b"),
        *("(?P<n>a)", "(?<n>a)", "(?i)a", "(?i:a)", "(?#a)", "(?>a)", "(?"),
    ],
    "must use ^ only": ["a^", "a$b", "$a", "a^b", "^^", "$$"],
    "must escape a ": [
        *("[a", "a]", "[]", "[]a]", "[^]", "[[a]]", "[[:space:]]"),
        *("{", "}", "a{1", "a{,2}", "a{1,2,3}", "a{x}", "a{99999}"),
    ],
    "is not a valid regular expression: ": [
        *("(a", "a)", ")", "\\", "*", "+a", "?", "|*", "a**", "a++", "a*+"),
        *("a{2}{2}", "a{2}*", "(*a)", "a{3,2}", "[z-a]", r"[a-\d]"),
        *("(ü", "a{1001}", "(a{100}){11}", "((a{100})*){11}", "(.{1000}){1000}"),
    ],
    "must not repeat more than": [".{0,1000}" * 3],
}  # fmt: skip


@pytest.mark.parametrize(
    ("message", "pattern"), [(message, pattern) for message, patterns in REFUSED.items() for pattern in patterns]
)
def test_an_invalid_pattern_is_refused(message: str, pattern: str) -> None:
    with pytest.raises(PatternError, match=f"^{re.escape(message)}"):
        compiled(pattern)


def test_a_dot_is_any_character_and_no_compiled_pattern_is_kept() -> None:
    assert mismatches("a.b", ["a\nb", "aüb", "a😀b"]) == []
    assert re2._Regexp._make.cache_info().currsize == 0


def test_patterns_match_as_in_python() -> None:
    rnd = random.Random(5)
    singles = [
        "a",
        "b",
        "c",
        "-",
        ".",
        *("[ab]", "[^a]", "[a-c]", "[^-a]", "[-b]"),
        *(r"[\w-]", r"\d", r"\W", r"\.", r"[^\d]"),
    ]
    quantifiers = ["*", "+", "?", "*?", "+?", "{2}", "{0}", "{0,}", "{1,2}", "{2,}", "{0,2}?"]

    def some(depth: int) -> str:
        kind = rnd.random() if depth else 0
        if kind < 0.4:
            return rnd.choice(singles)
        if kind < 0.6:
            return some(depth - 1) + some(depth - 1)
        if kind < 0.8:
            return f"({some(depth - 1)}|{rnd.choice(['', some(depth - 1)])})"
        return f"(?:{some(depth - 1)}){rnd.choice(quantifiers)}"

    fits = 0
    for _ in range(1500):
        pattern = some(4)
        names = ["".join(rnd.choices("abc-.1", k=rnd.randint(0, 6))) for _ in range(5)]
        expected = [name for name in names if re.fullmatch(pattern, name, re.ASCII) is None]
        assert mismatches(pattern, names) == expected, pattern
        fits += len(names) - len(expected)
    assert fits > 500


# A tree walker never returns from some of these, and an automaton without a cache takes minutes for 9,000 names.
EVIL = [
    *(".{0,1000}" * 2, "(a+)+$", "(a|aa)+$", "([a-z]+)*!", "^(([a-z])+.)+[A-Z]([a-z])+$", "(.*a){40}", "(.*){1,500}x"),
    *("([a-z]{1,30}){1,33}!", "(?:(?:.?){31}){31}", "(.{0,1000})*", "a*" * 127 + "b", r"(?:(?:[^x]?\W?){22}){22}!"),
    *("(?:(?:a?|b.?){22}){22}!", "(" * 120 + "a" + ")*" * 60 + ")" * 60),
]


@pytest.mark.timing
@pytest.mark.parametrize("pattern", EVIL)
def test_every_pattern_checks_9000_names_quickly(pattern: str) -> None:
    names = ["ab" * 45 + f"{number:04}" for number in range(9000)]
    started = time.process_time()
    assert mismatches(pattern, names) in ([], names)
    assert time.process_time() - started < 1.2


@pytest.mark.timing
@pytest.mark.parametrize(
    "pattern", ["(?:(?:.?){31}){31}", "(?:.*a.{499}|(?:.?){490})!", "(?:" + ".?" * 120 + "){0,1000}!"]
)
def test_a_validation_of_9000_names_takes_less_than_2_seconds(app, alice, conn, monkeypatch, pattern: str) -> None:
    monkeypatch.setitem(app.config, "MAX_FLAGS", 10_000)
    conn.execute("UPDATE projects SET naming_pattern = %s WHERE id = 'default'", [pattern])
    rnd = random.Random(6)
    sent = body(document(*("".join(rnd.choices("ab", k=90)) for _ in range(9000))))
    started = time.process_time()
    response = alice.post(VALIDATE, json=sent)
    assert time.process_time() - started < 2
    errors = [error["message"] for error in response.json["errors"]]
    if pattern.endswith("!"):
        reason = "takes too long to match so many names; use a simpler pattern or fewer names"
        assert errors == [f"name: the naming pattern of the project, {pattern}, {reason}"]
        assert mismatches(pattern, ["ab" * 45]) == ["ab" * 45]
    else:
        assert errors == []
