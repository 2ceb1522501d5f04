"""Naming patterns: regular expressions for whole names of flags, matched by RE2 in linear time."""

import re
import time
from collections.abc import Iterable

import re2

# Our choice: the maximum CPU seconds for matching the names of one request. An ordinary pattern takes microseconds per
# name. The worst known pattern takes 3 ms.
MATCHING_MAX = 0.5
# The maximum sum of the numbers in all {…} of a pattern. RE2 compiles one .{0,1000} in 3 ms, but 28 of these in 1.6
# seconds.
REPETITIONS_MAX = 2500

ESCAPE = re.compile(r"\\(.)")
# An escape, a class in brackets, or a repetition. A pattern is refused if MISTAKE matches outside of these.
TOKEN = re.compile(r"\\.|\[\^?+(?:\\.|[^\]\[\\])+\]|\{\d{1,4}(?:,\d{0,4})?\}", re.ASCII)
MISTAKE = re.compile(r"\(\?(?!:)|[][{}]|(?<=[^(|])(?<!\(\?:)\^|\$(?=[^)|])")

OPTIONS = re2.Options()
OPTIONS.log_errors = False
OPTIONS.never_capture = True
OPTIONS.dot_nl = True
OPTIONS.encoding = re2.Options.Encoding.LATIN1


class PatternError(ValueError):
    """The pattern is invalid or too slow. The message is a predicate, such as "must not contain white space"."""


def mismatches(pattern: str, names: Iterable[str]) -> list[str]:
    """Return the names that do not match the whole pattern, or raise PatternError."""
    expression = compiled(pattern)
    deadline = time.thread_time() + MATCHING_MAX
    mismatched = []
    for name in names:
        if not expression.fullmatch(encoded(name)):
            mismatched.append(name)
        if time.thread_time() > deadline:
            raise PatternError("takes too long to match so many names; use a simpler pattern or fewer names")
    return mismatched


def compiled(pattern: str) -> "re2._Regexp":
    """Return the pattern as a compiled RE2 expression, or raise PatternError."""
    if not all(character.isprintable() and not character.isspace() for character in pattern):
        raise PatternError("must not contain white space or control characters")
    pattern = ESCAPE.sub(checked_escape, pattern)
    if mistake := MISTAKE.search(TOKEN.sub("_", pattern)):
        if mistake[0] == "(?":
            raise PatternError(
                "must not use lookaround, named groups or flags; only (?: is allowed after a parenthesis with ?"
            )
        if mistake[0] in "^$":
            raise PatternError("must use ^ only at the beginning and $ only at the end")
        raise PatternError(
            f"must escape a {mistake[0]} that is not part of a class such as [a-z] or a repetition such as {{2,3}}"
        )
    repetitions = [token for token in TOKEN.findall(pattern) if token.startswith("{")]
    if sum(map(int, re.findall(r"\d+", "".join(repetitions)))) > REPETITIONS_MAX:
        raise PatternError(f"must not repeat more than {REPETITIONS_MAX} times in total")
    try:
        return re2.compile(encoded(TOKEN.sub(without_leading_zeros, pattern)), OPTIONS)
    except re2.error as error:
        raise PatternError(f"is not a valid regular expression: {error.args[0].decode('ascii', 'replace')}") from None
    finally:
        # RE2 would keep 128 expressions of up to 8 MiB each.
        re2.purge()


def encoded(text: str) -> bytes:
    """Return one byte per character. All non-ASCII ones, which names never have, become the same."""
    return re.sub(r"[^\x00-\x7f]", "\xff", text).encode("latin-1")


def checked_escape(escape: re.Match[str]) -> str:
    """Return an escape in the syntax of RE2, or raise PatternError."""
    if escape[1].isalnum() and escape[1] not in "dDwW":
        raise PatternError(
            f"must not use {escape[0]}; the only escapes with letters or digits are \\d, \\D, \\w and \\W"
        )
    return escape[0] if escape[1].isascii() else escape[1]


def without_leading_zeros(token: re.Match[str]) -> str:
    """Return a token of a pattern, a repetition without leading zeros. RE2 would match {02} literally."""
    return re.sub(r"\b0+(?=\d)", "", token[0]) if token[0].startswith("{") else token[0]
