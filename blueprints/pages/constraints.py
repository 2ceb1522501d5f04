"""What the rows of constraints offer, in the forms of strategies and segments (templates/constraints.html)."""

from collections.abc import Sequence
from typing import Any

# The operators that compare with several values, and those that compare with one, with their meaning.
LIST_OPERATORS = {
    "IN": "is one of",
    "NOT_IN": "is none of",
    "STR_CONTAINS": "contains",
    "STR_STARTS_WITH": "starts with",
    "STR_ENDS_WITH": "ends with",
    "IN_CIDR": "is in (network)",
}
VALUE_OPERATORS = {
    "NUM_EQ": "= (number)",
    "NUM_GT": "> (number)",
    "NUM_GTE": "≥ (number)",
    "NUM_LT": "< (number)",
    "NUM_LTE": "≤ (number)",
    "DATE_AFTER": "is after (date)",
    "DATE_BEFORE": "is before (date)",
    "SEMVER_EQ": "= (version)",
    "SEMVER_GT": "> (version)",
    "SEMVER_GTE": "≥ (version)",
    "SEMVER_LT": "< (version)",
    "SEMVER_LTE": "≤ (version)",
    "REGEX": "matches (regular expression)",
}


def constraint_choices(fields: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the names of the context fields, and the operators by their meaning."""
    return {
        "field_names": [field["name"] for field in fields],
        "list_operators": LIST_OPERATORS,
        "value_operators": VALUE_OPERATORS,
    }


def describe(constraint: dict[str, Any]) -> str:
    """Return a constraint in words, such as: country is one of NO, SE."""
    operator: str = constraint["operator"]
    words = (LIST_OPERATORS | VALUE_OPERATORS).get(operator, str(operator)).partition(" (")[0]
    operands = ", ".join(constraint["values"]) if operator in LIST_OPERATORS else constraint.get("value") or ""
    text = f"{constraint['contextName']} {words} {operands or '(no value)'}"
    if constraint.get("caseInsensitive"):
        text += " (ignoring case)"
    return f"not: {text}" if constraint.get("inverted") else text
