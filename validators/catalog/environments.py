"""Requests about environments and their order, and about those of a project."""

from typing import Any, ClassVar

from marshmallow import ValidationError, post_load, validates

from validators import Body, OpenBody
from validators.fields import Boolean, ListOf, Name, ObjectOf, Position, Text, Trimmed
from validators.flags.strategies import StrategyInput
from validators.returned import UNLEASH_ONLY, Ignored, ResponseOnly

ENVIRONMENT = ResponseOnly(
    "environment countedEnvironment",
    ignored=("projectCount", "apiTokenCount", "enabledToggleCount", *UNLEASH_ONLY["environment"]),
    read_only={
        "name": "",
        "enabled": "POST /api/admin/environments/{name}/on or POST /api/admin/environments/{name}/off",
        "protected": "",
    },
)
# Words that other paths have in place of the name of an environment, and that of all environments.
RESERVED = frozenset({"validate", "update", "sort-order", "project", "*"})
TYPE = "development, test, preproduction, production, or a type of your own."


class EnvironmentName(Body):
    """A name for a new environment."""

    example: ClassVar = {"name": "staging"}
    beyond_json_schema: ClassVar = "must not be validate"

    name = Name(
        required=True,
        description="Name of the environment, of the characters A-Z a-z 0-9 - _ . ~ ! * ' ( ). It cannot change.",
    )

    @validates("name")
    def refuse_reserved(self, name: str, **_: Any) -> None:
        """Refuse reserved words."""
        if name in RESERVED:
            raise ValidationError("must not be validate, update, sort-order, project or *")


class CreateEnvironment(EnvironmentName):
    """Body of a new environment."""

    class Meta(EnvironmentName.Meta):
        include = ENVIRONMENT.in_new("name", "enabled")

    example: ClassVar = {"name": "staging", "type": "preproduction"}

    type = Trimmed(min=1, max=100, required=True, description=TYPE)
    enabled = Boolean(load_default=True, description="Whether new projects get the environment.")
    sortOrder = Position(load_default=None, description="Position in the list. By default, after the last environment.")


class CloneEnvironment(EnvironmentName):
    """Body of a copy of an environment. projects None: all that have the environment."""

    class Meta(EnvironmentName.Meta):
        include = ENVIRONMENT.in_new("name") | {"sortOrder": Ignored(records="environment")}

    example: ClassVar = {"name": "staging", "type": "preproduction", "projects": ["default"]}

    type = Trimmed(min=1, max=100, required=True, description=TYPE)
    projects = ListOf(
        Text(),
        what="projects",
        load_default=None,
        description="Projects that get the copy. By default, all that have the environment.",
    )
    clonePermissions = Boolean(load_default=True, description="Whether roles get their permissions in the copy too.")


class UpdateEnvironment(Body):
    """Body of an update of an environment. Omitted properties keep their values."""

    class Meta(Body.Meta):
        include = ENVIRONMENT.in_change()

    example: ClassVar = {"type": "production", "sortOrder": 3}

    type = Trimmed(min=1, max=100, description=TYPE)
    sortOrder = Position(description="Position in the list.")


class EnvironmentOrder(OpenBody):
    """Positions by environment. Environments that are not named keep theirs."""

    example: ClassVar = {"development": 1, "production": 2}
    schema: ClassVar = {
        "type": "object",
        "additionalProperties": {"type": "integer", "minimum": Position().min, "maximum": Position().max},
        "maxProperties": 1000,
    }

    @post_load(pass_original=True)
    def by_name(self, _: dict[str, Any], original: dict[str, Any], **__: Any) -> dict[str, int]:
        """Return the positions by name."""
        return ObjectOf(Position()).deserialize(original) or {}


class LinkEnvironment(Body):
    """Body that adds an environment to a project."""

    class Meta(Body.Meta):
        include = ResponseOnly("environment countedEnvironment", UNLEASH_ONLY["environment"]).in_new()

    example: ClassVar = {"environment": "staging"}

    environment = Text(min=1, max=100, required=True, description="Name of the environment.")
    changeRequestsEnabled = Boolean(load_default=False, description="Whether changes need a change request.")
    defaultStrategy = Ignored("Use the operation that sets the default strategy.", "projectEnvironment")


class SetDefaultStrategy(StrategyInput):
    """The default strategy of a project in an environment. A flag without strategies gets it when it is enabled."""

    beyond_json_schema: ClassVar = f"{StrategyInput.beyond_json_schema}|must be flexibleRollout"

    @validates("name")
    def check_type(self, name: str, **_: Any) -> None:
        """Refuse all types except a gradual rollout."""
        if name != "flexibleRollout":
            raise ValidationError("must be flexibleRollout")
