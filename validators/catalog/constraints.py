"""A constraint: a condition on a context field."""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, ClassVar

from marshmallow import ValidationError, post_load, validates_schema

from validators import Body
from validators.fields import Boolean, DateTime, ListOf, OneOf, Text

OPERATORS = frozenset(
    """
    IN NOT_IN STR_CONTAINS STR_STARTS_WITH STR_ENDS_WITH NUM_EQ NUM_GT NUM_GTE NUM_LT NUM_LTE DATE_AFTER DATE_BEFORE
    SEMVER_EQ SEMVER_GT SEMVER_GTE SEMVER_LT SEMVER_LTE REGEX IN_CIDR
    """.split()  # noqa: SIM905 (so many quotes would hide the words)
)
DATE_OPERATORS = frozenset({"DATE_AFTER", "DATE_BEFORE"})
NUMBER = re.compile(r"-?\d{1,300}(\.\d{1,300})?([eE][+-]?\d{1,2})?", re.ASCII)
# The lengths of a regular expression, and of the value of every other operator.
PATTERN_MAX = 1000
VALUE_MAX = 100
# https://semver.org, 2.0.0: no leading zeros in numbers, and no v before them.
SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(-(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*)?"
    r"(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?",
    re.ASCII,
)


class Operand(Text):
    """A text that many people write as a number. Unleash converts such numbers; the message says what to write."""

    def load_value(self, value: Any) -> str:
        if isinstance(value, int | float) and not isinstance(value, bool):
            raise ValidationError('must be a string: write the number in quotes, such as "5"')
        return super().load_value(value)


class Constraint(Body):
    """A constraint. Loaded in the stored form: value if it is given, and always all other properties."""

    example: ClassVar = {"contextName": "country", "operator": "IN", "values": ["NO", "SE"]}
    beyond_json_schema: ClassVar = (
        f"must be a number|must be a date-time|must be a version|at least one value|is required|at most {VALUE_MAX} "
    )

    contextName = Text(min=1, max=100, required=True, description="Name of the context field.")
    operator = OneOf(OPERATORS, "one of the operators", required=True, description="Operator of the comparison.")
    values = ListOf(Operand(min=1, max=100), load_default=list, description="Values, for operators that take several.")
    value = Operand(
        max=PATTERN_MAX,
        description="Value, for an operator that takes only one: a number, a date-time, a version or, for REGEX, a "
        "regular expression in the syntax of RE2.",
    )
    inverted = Boolean(load_default=False, description="Whether the result is inverted.")
    caseInsensitive = Boolean(load_default=False, description="Whether the comparison ignores case.")

    @validates_schema
    def check_values(self, data: dict[str, Any], **_: Any) -> None:
        """Require the values that the operator needs: at least one value, or one of the right type."""
        kind = data["operator"].partition("_")[0]
        if (kind == "STR" or data["operator"] == "IN_CIDR") and not data["values"]:
            raise ValidationError("must have at least one value", "values")
        # In the engine of the SDKs, an empty regular expression matches everybody.
        if (kind in VALUE_CHECKS and "value" not in data) or (kind == "REGEX" and not data.get("value")):
            raise ValidationError("is required with this operator", "value")
        if kind != "REGEX" and len(data.get("value", "")) > VALUE_MAX:
            raise ValidationError(f"must be at most {VALUE_MAX} characters long with this operator", "value")
        if kind in VALUE_CHECKS:
            VALUE_CHECKS[kind](data["value"])

    @post_load
    def sort_keys(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Return the keys in the order of the documentation, and a date in UTC."""
        dated = with_utc_date(data)
        return {key: dated[key] for key in self.fields if key in dated}


def check_number(text: str) -> None:
    """Raise ValidationError unless this is a number."""
    if not NUMBER.fullmatch(text):
        raise ValidationError("must be a number, such as 3.5", "value")


def check_date_time(text: str) -> None:
    """Raise ValidationError unless this is a date-time."""
    try:
        utc_text(text)
    except ValidationError as error:
        raise ValidationError(error.messages, "value") from None


def utc_text(text: str) -> str:
    """Return a date-time as 2024-05-31T12:00:00.000Z. Raise ValidationError for any other text."""
    return f"{DateTime().deserialize(text).replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


def with_utc_date(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an object. If it is a constraint on a date, its date is in the only form that all SDKs can read."""
    if item.get("operator") in DATE_OPERATORS:
        with suppress(ValidationError):
            return {**item, "value": utc_text(item.get("value", ""))}
    return item


def check_version(text: str) -> None:
    """Raise ValidationError unless this is a semantic version."""
    if not SEMVER.fullmatch(text):
        raise ValidationError("must be a version such as 1.2.3, without a v", "value")


VALUE_CHECKS = {"NUM": check_number, "DATE": check_date_time, "SEMVER": check_version}
