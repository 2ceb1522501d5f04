"""Requests about flags in environments."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from marshmallow import ValidationError, validates_schema

from validators import Body, Query
from validators.fields import Boolean, ListOf, Name, Nested, OneOf, Position, Text
from validators.flags.json_patch import patched
from validators.flags.strategies import Variants
from validators.flags.variants import Variant

# Our choice: the maximum number of flags of a request that enables or disables them.
MAX_FLAGS_SWITCHED = 1000
BOOLEAN_WORDS = frozenset({"true", "false"})


class SwitchOnOptions(Query):
    """Query parameters of enabling a flag."""

    shouldActivateDisabledStrategies = OneOf(
        BOOLEAN_WORDS,
        "true or false",
        load_default="false",
        description="Whether to enable the disabled strategies of the flag in the environment too.",
    )


class FlagsToSwitch(Body):
    """Body of enabling or disabling several flags of a project."""

    example: ClassVar = {"features": ["new-checkout", "dark-mode"]}

    features = ListOf(Text(), max=MAX_FLAGS_SWITCHED, what="flags", required=True, description="Names of the flags.")


class EnvironmentCopy(Body):
    """What to copy from which environment."""

    example: ClassVar = {"from": "development", "strategies": True, "variants": True, "enabled": False}

    from_ = Name(data_key="from", required=True, description="Name of the environment to copy from.")
    strategies = Boolean(load_default=True, description="Whether to copy the strategies, with groupId and stickiness.")
    variants = Boolean(load_default=True, description="Whether to copy the variants of the flag.")
    # Our choice: a copy switches a flag only if it is asked to.
    enabled = Boolean(load_default=False, description="Whether to enable or disable the flag as there.")


class StrategyPlace(Body):
    """The new position of a strategy."""

    example: ClassVar = {"id": "b4ad7b8a-3f5d-4a0c-9d6e-1c2b3a4d5e6f", "sortOrder": 2}

    id = Text(required=True, description="Id of the strategy.")
    sortOrder = Position(required=True, description="Position in the list. Lower positions come first.")


def refuse_duplicate_positions(positions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the positions. Raise ValidationError if a strategy occurs twice."""
    if len({position["id"] for position in positions}) < len(positions):
        raise ValidationError("must not contain a strategy twice")
    return positions


# Our choice: both properties are required, so that a request without variants does not remove them by mistake.
class VariantsOfEnvironments(Body):
    """Body of setting the same variants in several environments."""

    example: ClassVar = {"environments": ["development"], "variants": [{"name": "blue", "weight": 1000}]}
    beyond_json_schema: ClassVar = "a name twice|weightType variable|fixed weights|at least one item"

    variants = Variants(Nested(Variant), required=True, description="Variants. An empty list removes them.")
    environments = ListOf(Name(), max=100, required=True, description="Names of the environments.")

    @validates_schema
    def require_environment(self, data: dict[str, Any], **_: Any) -> None:
        """Require at least one environment. Without one, no permission would be checked."""
        if not data["environments"]:
            raise ValidationError("must have at least one item", "environments")


def patched_variants(
    variants: Sequence[Mapping[str, Any]], operations: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Apply a JSON Patch to variants. Return them balanced, or raise ValidationError."""
    balanced = Variants(Nested(Variant)).deserialize(patched(variants, operations))
    assert balanced is not None
    return balanced
