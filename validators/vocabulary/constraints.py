"""A constraint: a condition on a context field (api.md 5; what makes it valid: neighbours.md 1.5)."""

import re
from typing import Any, ClassVar

from marshmallow import ValidationError, post_load, validates_schema

from validators import Body
from validators.fields import Boolean, DateTime, ListOf, OneOf, Text

OPERATORS = frozenset(
    """
    IN NOT_IN STR_CONTAINS STR_STARTS_WITH STR_ENDS_WITH NUM_EQ NUM_GT NUM_GTE NUM_LT NUM_LTE DATE_AFTER DATE_BEFORE
    SEMVER_EQ SEMVER_GT SEMVER_LT
    """.split()  # noqa: SIM905 (so many quotes would hide the words)
)
NUMBER = re.compile(r"-?\d{1,300}(\.\d{1,300})?([eE][+-]?\d{1,2})?", re.ASCII)
# https://semver.org, 2.0.0: no leading zeros in numbers, and no v before them.
SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(-(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*)?"
    r"(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?",
    re.ASCII,
)


class Constraint(Body):
    """A condition as it is kept: values, inverted and caseInsensitive are always there, value only when it was given."""

    example: ClassVar = {"contextName": "country", "operator": "IN", "values": ["NO", "SE"]}
    unsaid: ClassVar = "must be a number|must be a date-time|must be a version|at least one value|is required"

    contextName = Text(min=1, max=100, required=True, metadata={"description": "Context field that the constraint applies to."})
    operator = OneOf(OPERATORS, "one of the operators", required=True, metadata={"description": "How the field is compared."})
    values = ListOf(Text(min=1, max=100), load_default=list, metadata={"description": "Values of an operator that takes several."})
    value = Text(max=100, metadata={"description": "Value of an operator that takes one: a number, a date-time or a version."})
    inverted = Boolean(load_default=False, metadata={"description": "Whether the result is negated."})
    caseInsensitive = Boolean(load_default=False, metadata={"description": "Whether upper and lower case are the same."})

    @validates_schema
    def has_what_it_compares_with(self, asked: dict[str, Any], **_: Any) -> None:
        """Values of the kind that the operator takes."""
        kind = asked["operator"].partition("_")[0]
        if kind == "STR" and not asked["values"]:
            raise ValidationError("must have at least one value", "values")
        if kind in ("NUM", "DATE", "SEMVER"):
            if "value" not in asked:
                raise ValidationError("is required with this operator", "value")
            KINDS[kind](asked["value"])

    @post_load
    def in_order(self, asked: dict[str, Any], **_: Any) -> dict[str, Any]:
        """The keys in the order of the documentation, whatever the order of the request."""
        return {key: asked[key] for key in self.fields if key in asked}


def number(text: str) -> None:
    """ValidationError unless this is a number."""
    if not NUMBER.fullmatch(text):
        raise ValidationError("must be a number, such as 3.5", "value")


def instant(text: str) -> None:
    """ValidationError unless this is a date-time."""
    try:
        DateTime().deserialize(text)
    except ValidationError as error:
        raise ValidationError(error.messages, "value") from None


def version(text: str) -> None:
    """ValidationError unless this is a semantic version."""
    if not SEMVER.fullmatch(text):
        raise ValidationError("must be a version such as 1.2.3, without a v", "value")


KINDS = {"NUM": number, "DATE": instant, "SEMVER": version}
