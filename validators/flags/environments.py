"""Switching flags, and what they have in an environment (neighbours.md 3.13)."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from marshmallow import ValidationError, validates_schema

from validators import Body, Query
from validators.fields import Integer, ListOf, Name, Nested, OneOf, Text
from validators.flags.json_patch import patched
from validators.flags.strategies import SORT_ORDER_MAX, Variants
from validators.flags.variants import Variant

# Our choice: how many flags are switched at once.
MOST_FLAGS = 1000
WORDS = frozenset({"true", "false"})


class SwitchingOn(Query):
    """How a flag is switched on."""

    shouldActivateDisabledStrategies = OneOf(
        WORDS, "true or false", load_default="false", metadata={"description": "Whether all its disabled strategies there are enabled."}
    )


class FlagsToSwitch(Body):
    """Flags of one project that are switched together."""

    example: ClassVar = {"features": ["new-checkout", "dark-mode"]}

    features = ListOf(Text(), max=MOST_FLAGS, what="flags", required=True, metadata={"description": "Names of flags."})


class StrategyPlace(Body):
    """The place of one strategy."""

    example: ClassVar = {"id": "b4ad7b8a-3f5d-4a0c-9d6e-1c2b3a4d5e6f", "sortOrder": 2}

    id = Text(required=True, metadata={"description": "Id of the strategy."})
    sortOrder = Integer(min=0, max=SORT_ORDER_MAX, required=True, metadata={"description": "Position in the list; small comes first."})


def each_once(places: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The places, when no strategy has two. ValidationError otherwise."""
    if len({place["id"] for place in places}) < len(places):
        raise ValidationError("must name each strategy once")
    return places


# Our choice: both are required, for who forgets the variants does not mean to clear them.
class VariantsOfEnvironments(Body):
    """The same variants for several environments."""

    example: ClassVar = {"environments": ["development"], "variants": [{"name": "blue", "weight": 1000}]}
    unsaid: ClassVar = "a name twice|weightType variable|fixed weights|at least one item"

    variants = Variants(Nested(Variant), required=True, metadata={"description": "Variants; none clears them."})
    environments = ListOf(Name(), max=100, required=True, metadata={"description": "Names of environments."})

    @validates_schema
    def names_one(self, asked: dict[str, Any], **_: Any) -> None:
        """Somewhere the caller must hold the permission."""
        if not asked["environments"]:
            raise ValidationError("must have at least one item", "environments")


def patched_variants(listed: Sequence[Mapping[str, Any]], operations: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What a patch makes of a list of variants, balanced. ValidationError: it cannot be done, or what it makes are no variants."""
    found = Variants(Nested(Variant)).deserialize(patched(listed, operations))
    assert found is not None
    return found
