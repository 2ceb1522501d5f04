"""Constraints: conditions on one value of the context, with the 19 operators of the client specification 6.1.0."""

import math
import operator
import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import re2

from evaluation.addresses import Networks
from evaluation.context import Fields
from evaluation.parsing import Malformed, boolean_at, encodable, list_at, object_of, text_at, texts_at

# Whether a value of the context fits.
Comparison = Callable[[str], bool]

# The white space of Unicode, without the control characters that Python counts as such.
WHITE = r"\s\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
# RFC 3339 as the engine of the SDKs reads it: also with white space between the parts, parts of one digit, years with a
# sign and any number of digits, UTC for Z, and an offset without colon. A date alone is no date-time.
DATE_TIME = re.compile(
    r"_([+-]\d+|\d{1,4})_-_(\d\d?)_-_(\d\d?)[Tt ]_(\d\d?)_:_(\d\d?)_:_(\d\d?)(?:\.(\d+))?_"
    r"(?:[Zz]|[Uu][Tt][Cc]|([+\u2212-])(\d\d)[:WHITE]*([0-5]\d))_".replace("_", "[WHITE]*+").replace("WHITE", WHITE),
    re.ASCII,
)
YEARS = range(-262143, 262143)  # of the engine
SECONDS_OF_400_YEARS = 146097 * 86400
# https://semver.org, 2.0.0: no leading zeros in numbers, and no v before them.
VERSION = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(?:-((?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*))?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?",
    re.ASCII,
)
NUMBER_MAX = 2**64 - 1
# Our choice: the bytes of a compiled regular expression. In 2 MiB, \pL{1,100} has room, and the slowest known pattern
# compiles in 0.3 seconds. In the 8 MiB of RE2, .{0,1000} 28 times takes 2 seconds.
PATTERN_MEMORY = 2**21
NOT_SHARED = r"\<, \> or \b{start}, or in a class an unescaped [, &&, -- or ~~"
# The syntax that RE2 and the engine read in the same way: no \<, \> and \b{start}, which are word boundaries in the
# engine, and in a class no &&, --, ~~ and [, with which the engine combines classes.
SHARED_SYNTAX = re.compile(
    r"(?:\\Q.*?(?:\\E|\Z)|(?!\\b\{[a-z])\\[^<>Q]|[^\\[]"
    r"|\[\^?+\]?+(?:\[:\^?\w+:\]|\\[^<>]|(?!&&|--|~~)[^]\\[])*+\])*+",
    re.DOTALL,
)


class Constraint:
    """A condition on one value of the context.

    A constraint without valid values is malformed. Its strategy never matches, even if the constraint is inverted.
    """

    __slots__ = ("case_insensitive", "compare", "context_name", "inverted", "negated", "operator", "value", "values")

    def __init__(self, given: Any) -> None:
        item = object_of(given, "constraint")
        self.context_name = text_at(item, "contextName")
        self.operator = text_at(item, "operator")
        self.values = texts_at(item, "values")
        self.value = text_at(item, "value", "")
        self.inverted = boolean_at(item, "inverted")
        self.case_insensitive = boolean_at(item, "caseInsensitive")
        self.negated = self.inverted is not (self.operator == "NOT_IN")
        compile_comparison = OPERATORS.get(self.operator)
        if compile_comparison is None:
            raise Malformed(f"operator: {self.operator} is not an operator")
        self.compare = compile_comparison(self)

    def satisfied(self, fields: Fields) -> bool:
        """Return whether the context satisfies the constraint."""
        found = fields.get(self.context_name)
        return (found is not None and self.compare(found)) is not self.negated


def constraints_at(item: dict[str, Any]) -> tuple[Constraint, ...]:
    """Return the constraints of a strategy or segment."""
    return tuple([Constraint(given) for given in list_at(item, "constraints")])


def is_one_of(constraint: Constraint) -> Comparison:
    """Compile a list of values."""
    return frozenset(constraint.values).__contains__


def text_comparison(compare: Callable[[str, tuple[str, ...]], bool]) -> Callable[[Constraint], Comparison]:
    """Return a compiler of constraints whose values are parts of texts."""

    def compile_comparison(constraint: Constraint) -> Comparison:
        if not constraint.values:
            raise Malformed("values: must have at least one value")
        if constraint.case_insensitive:
            lowered = tuple(value.lower() for value in constraint.values)
            return lambda found: compare(found.lower(), lowered)
        values = constraint.values
        return lambda found: compare(found, values)

    return compile_comparison


def contains(text: str, parts: tuple[str, ...]) -> bool:
    """Return whether the text contains one of the parts."""
    return any(part in text for part in parts)


def order_comparison(
    parse: Callable[[str], Any], compare: Callable[[Any, Any], bool], kind: str
) -> Callable[[Constraint], Comparison]:
    """Return a compiler of constraints whose value has an order: numbers, date-times and versions."""

    def compile_comparison(constraint: Constraint) -> Comparison:
        value = parse(constraint.value)
        # A number such as NaN or infinity is equal to nothing, or to everything beyond all numbers.
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            raise Malformed(f"value: must be {kind}")

        def fits(found: str) -> bool:
            parsed = parse(found)
            return parsed is not None and compare(parsed, value)

        return fits

    return compile_comparison


def number_of(text: str) -> float | None:
    """Return the number, or None. Spaces, underscores and digits of other scripts are Python's own and refused."""
    if not text.isascii() or "_" in text or text.strip() != text:
        return None
    try:
        return float(text)
    except ValueError:
        return None


def date_time_of(text: str) -> tuple[float, int] | None:
    """Return the second and its nanoseconds, which are more in a leap second, or None if the text is no date-time."""
    match = DATE_TIME.fullmatch(text)
    if match is None:
        return None
    try:
        year, month, day, hour, minute, second = map(int, match.groups()[:6])
        fraction, sign, hours, minutes = match.groups("0")[6:]
        offset = timedelta(hours=int(hours), minutes=int(minutes))
        leap = second // 60
        zone = timezone(offset if sign == "+" else -offset)
        # The calendar repeats itself every 400 years. Python knows only years of four digits.
        moment = datetime(2000 + year % 400, month, day, hour, minute, second - leap, tzinfo=zone)
    except ValueError:
        return None
    nanoseconds = leap * 10**9 + int(fraction.ljust(9, "0")[:9])
    return (year // 400 * SECONDS_OF_400_YEARS + moment.timestamp(), nanoseconds) if year in YEARS else None


def version_of(text: str) -> tuple[Any, ...] | None:
    """Return the semantic version in a form that compares as versions do, or None if the text is not one."""
    match = VERSION.fullmatch(text)
    if match is None or any(len(number) > 20 or int(number) > NUMBER_MAX for number in match.group(1, 2, 3)):
        return None
    # Numbers come before words. They have no leading zeros, so that the longer number is the greater one.
    identifiers = [
        (0, len(part), part) if part.isdigit() else (1, 0, part) for part in (match[4].split(".") if match[4] else ())
    ]
    return (int(match[1]), int(match[2]), int(match[3]), not identifiers, tuple(identifiers))


def matches_pattern(constraint: Constraint) -> Comparison:
    """Compile a regular expression with RE2, which takes linear time: users of a browser choose the text."""
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = PATTERN_MEMORY
    options.case_sensitive = not constraint.case_insensitive
    try:
        pattern = re2.compile(encodable(constraint.value), options)
    except re2.error as error:
        reason = error.args[0].decode("utf-8", "replace")
        raise Malformed(f"value: must be a regular expression of RE2. RE2 says: {reason}") from None
    finally:
        # RE2 would keep 128 expressions of up to 2 MiB each.
        re2.purge()
    if not SHARED_SYNTAX.fullmatch(constraint.value):
        raise Malformed(f"value: must not contain {NOT_SHARED}. SDKs read these differently")
    return lambda found: pattern.search(found) is not None


def is_in_network(constraint: Constraint) -> Comparison:
    """Compile a list of IP addresses and networks."""
    networks = Networks(constraint.values)
    if not networks.networks:
        raise Malformed("values: must have at least one IP address or network such as 10.0.0.0/8")
    return networks.contain


A_NUMBER, A_DATE_TIME, A_VERSION = "a number", "a date-time such as 2024-05-31T00:00:00Z", "a version such as 1.2.3"
OPERATORS: dict[str, Callable[[Constraint], Comparison]] = {
    "IN": is_one_of,
    "NOT_IN": is_one_of,  # Constraint.negated
    "STR_CONTAINS": text_comparison(contains),
    "STR_STARTS_WITH": text_comparison(str.startswith),
    "STR_ENDS_WITH": text_comparison(str.endswith),
    "NUM_EQ": order_comparison(number_of, operator.eq, A_NUMBER),
    "NUM_GT": order_comparison(number_of, operator.gt, A_NUMBER),
    "NUM_GTE": order_comparison(number_of, operator.ge, A_NUMBER),
    "NUM_LT": order_comparison(number_of, operator.lt, A_NUMBER),
    "NUM_LTE": order_comparison(number_of, operator.le, A_NUMBER),
    "DATE_AFTER": order_comparison(date_time_of, operator.gt, A_DATE_TIME),
    "DATE_BEFORE": order_comparison(date_time_of, operator.lt, A_DATE_TIME),
    "SEMVER_EQ": order_comparison(version_of, operator.eq, A_VERSION),
    "SEMVER_GT": order_comparison(version_of, operator.gt, A_VERSION),
    "SEMVER_GTE": order_comparison(version_of, operator.ge, A_VERSION),
    "SEMVER_LT": order_comparison(version_of, operator.lt, A_VERSION),
    "SEMVER_LTE": order_comparison(version_of, operator.le, A_VERSION),
    "REGEX": matches_pattern,
    "IN_CIDR": is_in_network,
}
