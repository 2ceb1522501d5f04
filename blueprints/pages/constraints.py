"""Constraints in words, and what their rows offer in the forms of strategies and segments (constraints.html)."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from validators.catalog.constraints import DATE_OPERATORS

# The operators in the order of the form: what each means, and what its inverse means. "" for an inverse that the form
# does not offer, because another operator says nearly the same. Only a constraint that is inverted already has it.
GROUPS = {
    "Text": {
        "IN": ("is one of", ""),
        "NOT_IN": ("is none of", ""),
        "STR_CONTAINS": ("contains", "does not contain"),
        "STR_STARTS_WITH": ("starts with", "does not start with"),
        "STR_ENDS_WITH": ("ends with", "does not end with"),
    },
    "Number": {
        "NUM_EQ": ("is", "is not"),
        "NUM_GT": ("is more than", ""),
        "NUM_GTE": ("is at least", ""),
        "NUM_LT": ("is less than", ""),
        "NUM_LTE": ("is at most", ""),
    },
    "Date": {"DATE_AFTER": ("is after", ""), "DATE_BEFORE": ("is before", "")},
    "Version": {
        "SEMVER_EQ": ("is version", "is not version"),
        "SEMVER_GT": ("is after version", ""),
        "SEMVER_GTE": ("is at least version", ""),
        "SEMVER_LT": ("is before version", ""),
        "SEMVER_LTE": ("is at most version", ""),
    },
    "Network": {"IN_CIDR": ("is in the network", "is not in the network")},
    "Regular expression": {"REGEX": ("matches", "does not match")},
}
WORDS = {operator: words for group in GROUPS.values() for operator, words in group.items()}
# The operators that compare with several values.
LIST_OPERATORS = (*GROUPS["Text"], *GROUPS["Network"])
# The operators that can ignore case, as in the engine of the SDKs.
CASED = ("STR_CONTAINS", "STR_STARTS_WITH", "STR_ENDS_WITH", "REGEX")
# How many values a sentence names.
MOST_VALUES = 5


def constraint_choices(fields: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return what the rows of constraints need: context fields, operators, and functions that describe values."""
    for number, field in enumerate(fields):
        field["template"] = f"values-{number if field['legalValues'] else 'any'}"
    by_name = {field["name"]: field for field in fields}
    return {
        "context_fields": fields,
        "known_field": by_name.get,
        "operator_groups": GROUPS,
        "operator_words": WORDS,
        "in_words": operator_words,
        "list_operators": LIST_OPERATORS,
        "cased_operators": CASED,
        "value_options": value_options,
        "is_time": is_time,
    }


def value_options(field: Mapping[str, Any], values: Sequence[str] | None = None) -> list[tuple[str, str, str, str]]:
    """Return values of a field with their meanings as parts.pick() needs them, by default the allowed values."""
    allowed = {legal["value"]: legal.get("description") or "" for legal in field["legalValues"]}
    chosen = allowed if values is None else values
    return [("values", value, value, allowed.get(value, "no longer allowed")) for value in chosen]


def operator_words(operator: str, *, inverted: bool) -> str:
    """Return an operator in words. Inverted ones contain "not"."""
    word, inverse = WORDS.get(operator, (operator, ""))
    return word if not inverted else inverse or word.replace("is ", "is not ", 1)


def describe(constraint: Mapping[str, Any], *, most: int | None = None) -> str:
    """Return a constraint in words, such as: country is NO or SE. most: how many values to name."""
    operator, inverted = constraint["operator"], bool(constraint.get("inverted"))
    words = operator_words(operator, inverted=inverted)
    # Without quotes, one value with a comma would read as two.
    values = [f"“{value}”" if "," in value else value for value in constraint.get("values") or ["(no value)"]]
    if operator not in LIST_OPERATORS:
        values = [as_time(constraint) or constraint.get("value") or "(no value)"]
    last = "or"
    if operator in ("IN", "NOT_IN"):
        is_none = inverted is not (operator == "NOT_IN")
        words = "is" if not is_none else "is none of" if len(values) > 1 else "is not"
        last = "," if is_none else "or"
    if most and len(values) > most:
        values, last = [*values[:most], f"{len(values) - most} more"], "and" if last == "," else "or"
    case = " (ignoring case)" if constraint.get("caseInsensitive") and operator in CASED else ""
    return f"{constraint['contextName']} {words} {join(values, last)}{case}"


def as_time(constraint: Mapping[str, Any]) -> str | None:
    """Return the date of a constraint in the form 2 Dec 2026 08:00 UTC, or None if it has none."""
    if constraint["operator"] not in DATE_OPERATORS or not is_time(constraint.get("value")):
        return None
    time = datetime.fromisoformat(constraint["value"]).astimezone(UTC)
    return f"{time.day} {time:%b %Y %H:%M} UTC"


def is_time(text: str | None) -> bool:
    """Return whether a text is a time with an offset."""
    with suppress(ValueError):
        return datetime.fromisoformat(text or "").tzinfo is not None
    return False


def join(words: Sequence[str], last: str) -> str:
    """Return words as a list: a, b or c."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])}{'' if last == ',' else ' '}{last} {words[-1]}"
