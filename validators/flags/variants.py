"""Variants of strategies and of flags, and the weights that make a thousand (neighbours.md 1.5)."""

import json
from collections.abc import Sequence
from typing import Any, ClassVar

from marshmallow import ValidationError, post_load, validates_schema

from validators import Body
from validators.fields import Integer, ListOf, Nested, OneOf, Text
from validators.vocabulary.constraints import NUMBER

WHOLE = 1000
WEIGHT_TYPES = frozenset({"variable", "fix"})
PAYLOAD_TYPES = frozenset({"json", "csv", "string", "number"})


class Payload(Body):
    """What comes with a variant."""

    example: ClassVar = {"type": "json", "value": '{"colour": "blue"}'}
    unsaid: ClassVar = "must be JSON|must be a number"

    type = OneOf(PAYLOAD_TYPES, "json, csv, string or number", required=True, metadata={"description": "How the value is to be read."})
    value = Text(required=True, metadata={"description": "The value, as text."})

    @validates_schema
    def can_be_read(self, asked: dict[str, Any], **_: Any) -> None:
        """SDKs give it to applications as what it says it is."""
        if asked["type"] == "number" and not NUMBER.fullmatch(asked["value"]):
            raise ValidationError("must be a number", "value")
        if asked["type"] == "json":
            try:
                json.loads(asked["value"], parse_constant=refuse)
            except (ValueError, RecursionError):
                raise ValidationError("must be JSON", "value") from None


def refuse(word: str) -> None:
    """Python reads NaN and Infinity; JSON has neither."""
    raise ValueError(word)


class StrategyVariant(Body):
    """One of a strategy's variants."""

    example: ClassVar = {"name": "blue", "weight": 500, "weightType": "variable", "stickiness": "default"}

    name = Text(min=1, max=255, required=True, metadata={"description": "Name, unique among its like."})
    weight = Integer(min=0, max=WHOLE, required=True, metadata={"description": "Share of a thousand; of a variable one it is worked out."})
    weightType = OneOf(WEIGHT_TYPES, "variable or fix", required=True, metadata={"description": "variable: has a share of what is left."})
    stickiness = Text(min=1, max=255, required=True, metadata={"description": "Context field by which one stays with a variant."})
    payload = Nested(Payload, metadata={"description": "What comes with the variant."})

    @post_load
    def in_order(self, asked: dict[str, Any], **_: Any) -> dict[str, Any]:
        """The keys in the order of the documentation, whatever the order of the request."""
        return {key: asked[key] for key in self.fields if key in asked}


class Override(Body):
    """Gives a variant to those whose context field has one of the values."""

    example: ClassVar = {"contextName": "userId", "values": ["7"]}

    contextName = Text(min=1, max=100, required=True, metadata={"description": "Context field."})
    values = ListOf(Text(min=1, max=100), required=True, metadata={"description": "Values of the field."})


class Variant(StrategyVariant):
    """One of a flag's variants in an environment."""

    weightType = OneOf(
        WEIGHT_TYPES, "variable or fix", load_default="variable", metadata={"description": "variable: has a share of what is left."}
    )
    stickiness = Text(min=1, max=255, load_default="default", metadata={"description": "Context field by which one stays with a variant."})
    overrides = ListOf(Nested(Override), load_default=list, metadata={"description": "Who gets the variant in any case."})


def balanced(variants: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The variants by name, with weights that make a thousand: the fixed ones as given, the others share the rest evenly.

    What cannot be shared goes to the first, one each. ValidationError: names repeat, all are fixed, or the fixed are too much.
    """
    named = sorted(variants, key=lambda variant: variant["name"])
    shared = [variant for variant in named if variant["weightType"] == "variable"]
    rest = WHOLE - sum(variant["weight"] for variant in named if variant["weightType"] == "fix")
    if len({variant["name"] for variant in named}) < len(named):
        raise ValidationError("must not contain a name twice")
    if named and not shared:
        raise ValidationError("must have at least one variant with the weightType variable")
    if rest < 0:
        raise ValidationError(f"must not have fixed weights of more than {WHOLE} in total")
    portion, left = divmod(rest, len(shared)) if shared else (0, 0)
    weights = {variant["name"]: portion + (place < left) for place, variant in enumerate(shared)}
    return [variant | {"weight": weights.get(variant["name"], variant["weight"])} for variant in named]
