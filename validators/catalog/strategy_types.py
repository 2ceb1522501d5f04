"""Requests about strategy types."""

from typing import Any, ClassVar

from marshmallow import ValidationError, post_load, validates_schema

from validators import Body
from validators.fields import DESCRIPTION_MAX, TITLE_MAX, Boolean, ListOf, Name, Nested, OneOf, Text
from validators.returned import ResponseOnly

PARAMETER_TYPES = frozenset({"string", "percentage", "list", "number", "boolean"})
STRATEGY_TYPE = ResponseOnly(
    "strategyType",
    read_only={
        "name": "",
        "displayName": "",
        "editable": "",
        "deprecated": "POST /api/admin/strategies/{name}/deprecate or POST /api/admin/strategies/{name}/reactivate",
    },
)


class StrategyParameter(Body):
    """A parameter of strategies of a type."""

    example: ClassVar[dict[str, Any]] = {
        "name": "hosts",
        "type": "list",
        "description": "Names of hosts.",
        "required": True,
    }

    name = Text(min=1, max=100, required=True, description="Name of the parameter.")
    type = OneOf(
        PARAMETER_TYPES,
        "string, percentage, list, number or boolean",
        required=True,
        description="Type of the parameter.",
    )
    description = Text(max=DESCRIPTION_MAX, load_default="", description="Description of the parameter.")
    required = Boolean(load_default=False, description="Whether the parameter is required.")

    @post_load
    def sort_keys(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Return the keys in the order of the documentation."""
        return {key: data[key] for key in self.fields}


class UpdateStrategyType(Body):
    """Body of an update of a strategy type. An omitted title or description keeps its value."""

    class Meta(Body.Meta):
        include = STRATEGY_TYPE.in_change()

    example: ClassVar[dict[str, Any]] = {"parameters": [StrategyParameter.example], "description": "On for some hosts."}
    beyond_json_schema: ClassVar[str] = "must not contain a name twice"

    title = Text(max=TITLE_MAX, allow_none=True, description="Title to show to people.")
    description = Text(max=DESCRIPTION_MAX, allow_none=True, description="Description of the strategy type.")
    parameters = ListOf(
        Nested(StrategyParameter), max=100, required=True, description="Parameters of strategies of this type."
    )

    @validates_schema
    def refuse_duplicates(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse two parameters with the same name."""
        names = [parameter["name"] for parameter in data["parameters"]]
        if len(set(names)) < len(names):
            raise ValidationError("must not contain a name twice", "parameters")


class CreateStrategyType(UpdateStrategyType):
    """Body of a new strategy type."""

    class Meta(Body.Meta):
        include = STRATEGY_TYPE.in_new("name", "deprecated")

    example: ClassVar[dict[str, Any]] = {"name": "byHost", "parameters": [StrategyParameter.example]}

    name = Name(required=True, description="Name of the strategy type.")
    deprecated = Boolean(load_default=False, description="Whether the strategy type is deprecated.")
