"""Requests about roles."""

from typing import Any, ClassVar

from marshmallow import ValidationError, validates_schema

from validators import Body
from validators.fields import DESCRIPTION_MAX, Integer, ListOf, Nested, OneOf, Text, Trimmed
from validators.returned import Ignored, ResponseOnly

TYPES = frozenset({"root-custom", "custom"})
TYPE_WORDS = "root-custom or custom"
TYPE_MEANING = "root-custom for a role in the whole instance, custom for a role in projects."
ROLE = ResponseOnly("roleWithPermissions role", ignored=("id",), read_only={"project": ""})
# Ids have the type integer in the database.
ID_MAX = 2**31 - 1


class RolePermission(Body):
    """A permission of a role, by its name or its id."""

    example: ClassVar = {"name": "UPDATE_FEATURE_ENVIRONMENT", "environment": "production"}
    schema: ClassVar = {"anyOf": [{"required": ["id"]}, {"required": ["name"]}]}
    # One of the two is required, and null counts as omitted.
    beyond_json_schema: ClassVar = "is required, unless id is given"

    id = Integer(min=1, max=ID_MAX, description="Id of the permission. The id or the name is required.")
    name = Text(description="Name of the permission. The id or the name is required.")
    environment = Text(
        allow_none=True, description="Environment in which the permission applies. By default, all environments."
    )

    displayName = Ignored(records="permission")
    type = Ignored(records="permission")

    @validates_schema
    def require_permission(self, data: dict[str, Any], **_: Any) -> None:
        """Require the name or the id. If both are given, they must belong to the same permission."""
        if "id" not in data and "name" not in data:
            raise ValidationError("is required, unless id is given", "name")


class UpdateRole(Body):
    """Body of an update of a role. The name is required. Other omitted properties keep their values."""

    class Meta(Body.Meta):
        include = ROLE.in_change()

    example: ClassVar = {
        "name": "Release manager",
        "description": "Switches flags on and off in production.",
        "permissions": [
            {"name": "UPDATE_FEATURE"},
            {"name": "UPDATE_FEATURE_ENVIRONMENT", "environment": "production"},
        ],
    }

    name = Trimmed(min=1, max=255, required=True, description="Name of the role. It must be unique, ignoring case.")
    description = Text(max=DESCRIPTION_MAX, description="Description of the role.")
    type = OneOf(TYPES, TYPE_WORDS, description=TYPE_MEANING)
    permissions = ListOf(Nested(RolePermission), what="permissions", description="Permissions of the role.")


class CreateRole(UpdateRole):
    """Body of a new role."""

    class Meta(Body.Meta):
        include = ROLE.in_new()

    description = Text(max=DESCRIPTION_MAX, load_default="", description="Description of the role.")
    type = OneOf(TYPES, TYPE_WORDS, load_default="custom", description=TYPE_MEANING)
    permissions = ListOf(
        Nested(RolePermission), what="permissions", load_default=list, description="Permissions of the role."
    )
