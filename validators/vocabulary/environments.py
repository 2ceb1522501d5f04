"""Environments, their order, and those of a project (neighbours.md 3.9 and 3.11)."""

from typing import Any, ClassVar

from marshmallow import ValidationError, post_load, validates

from validators import Body
from validators.fields import Anything, Boolean, Integer, Name, ObjectOf, Text, Trimmed
from validators.flags.strategies import StrategyInput

# Our choice: any number that the database holds can be a position; only the order of them means something.
POSITION = {"min": -(2**31), "max": 2**31 - 1}
# What stands in an address where the name of an environment could.
ROUTE_WORDS = frozenset({"validate", "update", "sort-order", "project"})


class CreateEnvironment(Body):
    """A new environment."""

    example: ClassVar = {"name": "staging", "type": "preproduction"}
    unsaid: ClassVar = "must not be validate"

    name = Name(required=True, metadata={"description": "Name, which cannot be changed: A-Z a-z 0-9 - _ . ~."})
    type = Trimmed(
        min=1, max=100, required=True, metadata={"description": "development, test, preproduction or production, or a type of your own."}
    )
    enabled = Boolean(load_default=True, metadata={"description": "Whether new projects get it."})
    sortOrder = Integer(**POSITION, load_default=None, metadata={"description": "Position among the others; behind the last if absent."})
    requiredApprovals = Anything(metadata={"description": "Ignored."})

    @validates("name")
    def is_no_word_of_an_address(self, name: str, **_: Any) -> None:
        """The routes need these words."""
        if name in ROUTE_WORDS:
            raise ValidationError("must not be validate, update, sort-order or project")


class UpdateEnvironment(Body):
    """A change of an environment; what is absent stays as it is."""

    example: ClassVar = {"type": "production", "sortOrder": 3}

    type = Trimmed(min=1, max=100, metadata={"description": "development, test, preproduction or production, or a type of your own."})
    sortOrder = Integer(**POSITION, metadata={"description": "Position among the others."})
    requiredApprovals = Anything(metadata={"description": "Ignored."})


class EnvironmentOrder(Body):
    """Positions by the names of environments; those that are not named stay where they are."""

    class Meta(Body.Meta):
        unknown = "exclude"

    example: ClassVar = {"development": 1, "production": 2}
    schema: ClassVar = {
        "type": "object",
        "additionalProperties": {"type": "integer", "minimum": POSITION["min"], "maximum": POSITION["max"]},
        "maxProperties": 1000,
    }

    @post_load(pass_original=True)
    def by_name(self, _: dict[str, Any], sent: dict[str, Any], **__: Any) -> dict[str, int]:
        """The positions."""
        return ObjectOf(Integer(**POSITION)).deserialize(sent) or {}


class LinkEnvironment(Body):
    """An environment that a project is to have."""

    example: ClassVar = {"environment": "staging"}

    environment = Text(min=1, max=100, required=True, metadata={"description": "Name of the environment."})
    changeRequestsEnabled = Anything(metadata={"description": "Ignored."})
    defaultStrategy = Anything(metadata={"description": "Ignored; there is an operation of its own for it."})


class SetDefaultStrategy(StrategyInput):
    """The strategy that flags of a project get in an environment when they are switched on there without one."""

    unsaid: ClassVar = f"{StrategyInput.unsaid}|must be flexibleRollout"

    @validates("name")
    def is_a_gradual_rollout(self, name: str, **_: Any) -> None:
        """No other type can be a default."""
        if name != "flexibleRollout":
            raise ValidationError("must be flexibleRollout")
