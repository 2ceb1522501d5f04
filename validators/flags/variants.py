"""Requests about variants of strategies and of flags. Their weights add up to 1000."""

import json
from collections.abc import Sequence
from typing import Any, ClassVar

from marshmallow import ValidationError, missing, post_load, validates_schema

from validators import Body
from validators.catalog.constraints import NUMBER, Operand
from validators.fields import Integer, ListOf, Nested, OneOf, Text

TOTAL_WEIGHT = 1000
WEIGHT_TYPES = frozenset({"variable", "fix"})
WEIGHT_TYPE = "fix: exactly this weight. variable: an equal share of the remaining weight."
PAYLOAD_TYPES = frozenset({"json", "csv", "string", "number"})


class Payload(Body):
    """The payload of a variant."""

    example: ClassVar = {"type": "json", "value": '{"color": "blue"}'}
    beyond_json_schema: ClassVar = "must be JSON|must be a number"

    type = OneOf(PAYLOAD_TYPES, "json, csv, string or number", required=True, description="Type of the value.")
    value = Operand(required=True, description="Value as text.")

    @validates_schema
    def check_value(self, data: dict[str, Any], **_: Any) -> None:
        """Check that a value of type json or number is one. Applications parse the value as this type."""
        if data["type"] == "number" and not NUMBER.fullmatch(data["value"]):
            raise ValidationError("must be a number", "value")
        if data["type"] == "json":
            try:
                json.loads(data["value"], parse_constant=refuse_constant)
            except (ValueError, RecursionError):
                raise ValidationError("must be JSON", "value") from None


def refuse_constant(word: str) -> None:
    """Raise ValueError for NaN and Infinity, which Python would accept."""
    raise ValueError(word)


class Override(Body):
    """An override: users whose context field has one of the values get the variant."""

    example: ClassVar = {"contextName": "userId", "values": ["7"]}

    contextName = Text(min=1, max=100, required=True, description="Context field.")
    values = ListOf(Operand(min=1, max=100), required=True, description="Values of the field.")


class NoOverrides(ListOf):
    """An empty list, loaded as omitted. Clients send it with variants that they copy from a flag to a strategy."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(Nested(Override), max=0, **kwargs)

    def load_value(self, value: Any) -> Any:
        if value != []:
            raise ValidationError("must be an empty list, because only variants of flags have overrides")
        return missing


class StrategyVariant(Body):
    """A variant of a strategy."""

    example: ClassVar = {"name": "blue", "weight": 500, "weightType": "variable", "stickiness": "default"}

    name = Text(min=1, max=255, required=True, description="Name of the variant. It must be unique in the list.")
    weight = Integer(
        min=0,
        max=TOTAL_WEIGHT,
        required=True,
        description="Weight out of 1000. The weights of variable variants are computed.",
    )
    weightType = OneOf(WEIGHT_TYPES, "variable or fix", required=True, description=WEIGHT_TYPE)
    stickiness = Text(min=1, max=255, required=True, description="Context field whose value decides the variant.")
    payload = Nested(Payload, description="Payload of the variant.")
    overrides = NoOverrides(description="Ignored. Only variants of flags have overrides.")

    @post_load
    def sort_keys(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Return the keys in the order of the documentation."""
        return {key: data[key] for key in self.fields if key in data}


class Variant(StrategyVariant):
    """A variant of a flag in an environment."""

    weightType = OneOf(WEIGHT_TYPES, "variable or fix", load_default="variable", description=WEIGHT_TYPE)
    stickiness = Text(
        min=1, max=255, load_default="default", description="Context field whose value decides the variant."
    )
    overrides = ListOf(Nested(Override), load_default=list, description="Overrides: users who always get the variant.")


def balanced(variants: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the variants sorted by name, with weights that add up to 1000.

    Fixed weights do not change. The variable variants share the rest evenly; a remainder of n goes to the first n of
    them, 1 each. Raise ValidationError if a name occurs twice, all weights are fixed, or the fixed weights add up to
    more than 1000.
    """
    by_name = sorted(variants, key=lambda variant: variant["name"])
    shared = [variant for variant in by_name if variant["weightType"] == "variable"]
    rest = TOTAL_WEIGHT - sum(variant["weight"] for variant in by_name if variant["weightType"] == "fix")
    if len({variant["name"] for variant in by_name}) < len(by_name):
        raise ValidationError("must not contain a name twice")
    if by_name and not shared:
        raise ValidationError("must have at least one variant with the weightType variable")
    if rest < 0:
        raise ValidationError(f"must not have fixed weights of more than {TOTAL_WEIGHT} in total")
    portion, remainder = divmod(rest, len(shared)) if shared else (0, 0)
    weights = {variant["name"]: portion + (place < remainder) for place, variant in enumerate(shared)}
    return [variant | {"weight": weights.get(variant["name"], variant["weight"])} for variant in by_name]
