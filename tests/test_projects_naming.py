"""Naming patterns: they mean what they mean in Python, whatever cannot be matched in linear time is refused, and nothing keeps us busy."""

import random
import re
import time

import pytest

from validators.naming import automaton, check, matches
from validators.patterns import MOST_LEVELS, MOST_PLACES, PATTERN_MAX, PatternError

MATCHES = [
    ("", "", "a"),
    ("a", "a", "aa b A"),
    ("^a$", "a", "aa ba"),
    ("^a|b$", "a b", "ab"),
    ("(?:a|bc)d", "ad bcd", "a d bc abcd"),
    ("[a-z]+-[a-z-]+", "shop-new-checkout", "shop Shop-new shop- -new"),
    ("[^a-c.]", "d - A", "a b c . dd"),
    (r"\d\D\w\W", "1a_- 9.Z~", "aa_- 11_- 1a-- 1a__"),
    (r"[\w-]+[\d.]", "a-b1 --.", "a-b ."),
    (r"[\D]+", "ab-", "a1"),
    (r"[a\]b]\.\\", r"a.\ ].\ ", r"a.b ax\ "),
    ("[-a][a-]", "-- aa -a", "ab b-"),
    (".{2,3}", "ab abc", "a abcd"),
    ("a{2}", "aa", "a aaa"),
    ("a{2,}", "aa aaaaa", "a"),
    ("a{0}b", "b", "ab a"),
    ("(ab?){1,2}c*?", "a abab aac aabccc", "b c ababab"),
    ("(|a)b", "b ab", "a aab"),
    ("(a*)*b", "b aab", "a"),
    ("ü+", "ü", "u"),
    (r"\-\.\~\_", "-.~_", "-.~"),
]


@pytest.mark.parametrize(("pattern", "good", "bad"), MATCHES)
def test_a_pattern_is_held_against_the_whole_name(pattern: str, good: str, bad: str) -> None:
    for name in good.split() or [""]:
        assert matches(pattern, name), name
    for name in bad.split():
        assert not matches(pattern, name), name


REFUSED = [
    *(
        "a b",
        " ",
        "a\t",
        "a\n",
        "a\u00a0b",
        "a\u2003",
        r"\s",
        r"\S",
        r"[\s]",
        r"\t",
        r"a\n",
        r"\x20",
        r"\u0020",
        r"\040",
        "a\x01",
        "\u200b",
    ),
    *(
        "(?=a)a",
        "(?!a)",
        "(?<=a)b",
        "(?<!a)b",
        "(?P<n>a)",
        "(?<n>a)",
        "(?i)a",
        "(?#a)",
        "(?>a)",
        "(?",
        r"(a)\1",
        r"\b",
        r"\Aa",
        r"a\Z",
        r"\p{L}",
    ),
    *("(a", "a)", ")", "[a", "a]", "[]", "[]a]", "[^]", "[[a]]", "{", "}", "a{", "a{1", "a{,2}", "a{1,2,3}", "a{x}", "\\", "[\\"),
    *("*", "+a", "?", "|*", "a**", "a++", "a*+", "a{2}{2}", "a{2}*", "^*", "(*a)", "a{3,2}", "[z-a]", r"[\d-z]", r"[a-\d]"),
    *("a^", "a$b", "(^a)", "(a$)", "$a", "a^b", "a{1001}", "(a{100}){11}", "((a{100})*){11}", "(){1001}", "a{99999}"),
    "a" * (PATTERN_MAX + 1),
    "(" * (MOST_LEVELS + 1) + ")" * (MOST_LEVELS + 1),
]


@pytest.mark.parametrize("pattern", REFUSED)
def test_what_is_no_pattern_of_ours_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError) as refusal:
        check(pattern)
    assert re.match("(must|cannot be) ", str(refusal.value))


def test_patterns_mean_what_they_mean_in_python() -> None:
    rnd = random.Random(5)
    singles = ["a", "b", "c", "-", ".", "[ab]", "[^a]", "[a-c]", "[^-a]", "[-b]", r"[\w-]", r"\d", r"\W", r"\.", r"[^\d]"]
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
        for name in ("".join(rnd.choices("abc-.1", k=rnd.randint(0, 6))) for _ in range(5)):
            expected = re.fullmatch(pattern, name, re.ASCII) is not None
            assert matches(pattern, name) == expected, (pattern, name)
            fits += expected
    assert fits > 500


# Each of these keeps a machine that goes back busy for longer than anybody lives, or as close to the limits as a pattern can come.
EVIL = [
    *("(a+)+$", "(a|a)*$", "(a|aa)+$", "([a-z]+)*!", "(a*)*b", "^(([a-z])+.)+[A-Z]([a-z])+$", "(.*a){40}", "(a?){100}a{100}"),
    *("(.*){1,500}x", "([a-z]{1,30}){1,33}!", "((a{0,10}){0,10}){0,9}b", "(.|.|.|.|.|.|.|.)*x", "(.{0,1000})*", "(((a*)*)*)*!"),
    "a*" * 127 + "b",
    "(" * MOST_LEVELS + "a" + ")*" * MOST_LEVELS + "b",
    "(" * MOST_LEVELS + ")*" * (MOST_LEVELS - 3) + "){9}" * 3 + "x",
]


@pytest.mark.parametrize("pattern", EVIL)
def test_no_pattern_keeps_us_busy(pattern: str) -> None:
    automaton.cache_clear()
    start = time.process_time()
    check(pattern)
    built = time.process_time()
    for name in ("a" * 100, "a" * 99 + "!", "a-" * 50):
        matches(pattern, name)
    # Tens of milliseconds at the most, half a second while coverage is measured; what tries one way after the other needs centuries.
    assert built - start < 3
    assert time.process_time() - built < 3


def test_the_largest_pattern_has_as_many_places_as_there_may_be() -> None:
    assert len(automaton(f"a{{{MOST_PLACES}}}").follows) == MOST_PLACES
    assert matches(f"(a{{10}}){{{MOST_PLACES // 10}}}", "a" * MOST_PLACES)
