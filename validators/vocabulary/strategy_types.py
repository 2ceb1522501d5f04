"""Types of strategies (neighbours.md 3.16)."""

from typing import Any, ClassVar

from marshmallow import ValidationError, post_load, validates_schema

from validators import Body
from validators.fields import DESCRIPTION_MAX, TITLE_MAX, Boolean, ListOf, Name, Nested, OneOf, Text

PARAMETER_TYPES = frozenset({"string", "percentage", "list", "number", "boolean"})


class StrategyParameter(Body):
    """A parameter that strategies of a type take."""

    example: ClassVar[dict[str, Any]] = {"name": "hosts", "type": "list", "description": "Names of hosts.", "required": True}

    name = Text(min=1, max=100, required=True, metadata={"description": "Name of the parameter."})
    type = OneOf(PARAMETER_TYPES, "string, percentage, list, number or boolean", required=True, metadata={"description": "What it takes."})
    description = Text(max=DESCRIPTION_MAX, load_default="", metadata={"description": "What it means."})
    required = Boolean(load_default=False, metadata={"description": "Whether it must be given."})

    @post_load
    def in_order(self, asked: dict[str, Any], **_: Any) -> dict[str, Any]:
        """The keys in the order of the documentation, whatever the order of the request."""
        return {key: asked[key] for key in self.fields}


class UpdateStrategyType(Body):
    """A change of a type of strategies; a title or description that is absent stays as it is."""

    example: ClassVar[dict[str, Any]] = {"parameters": [StrategyParameter.example], "description": "On for some hosts."}
    unsaid: ClassVar[str] = "must not contain a name twice"

    name = Name(metadata={"description": "The same as in the address."})
    title = Text(max=TITLE_MAX, allow_none=True, metadata={"description": "A title for people."})
    description = Text(max=DESCRIPTION_MAX, allow_none=True, metadata={"description": "What it does."})
    parameters = ListOf(Nested(StrategyParameter), max=100, required=True, metadata={"description": "What it takes."})

    @validates_schema
    def parameters_differ(self, asked: dict[str, Any], **_: Any) -> None:
        """Strategies name their parameters."""
        names = [parameter["name"] for parameter in asked["parameters"]]
        if len(set(names)) < len(names):
            raise ValidationError("must not contain a name twice", "parameters")


class CreateStrategyType(UpdateStrategyType):
    """A new type of strategies."""

    example: ClassVar[dict[str, Any]] = {"name": "byHost", "parameters": [StrategyParameter.example]}

    name = Name(required=True, metadata={"description": "Name of the type."})
