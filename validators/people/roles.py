"""Roles and what they allow (neighbours.md 3.6)."""

from typing import Any, ClassVar

from marshmallow import ValidationError, validates_schema

from validators import Body
from validators.fields import DESCRIPTION_MAX, Integer, ListOf, Nested, OneOf, Text, Trimmed

TYPES = frozenset({"root-custom", "custom"})
TYPE_WORDS = "root-custom or custom"
TYPE_MEANING = {"description": "root-custom: holds in the whole instance; custom: in the projects where it is given."}
# Ids are of type integer in the database.
ID_MAX = 2**31 - 1


class RolePermission(Body):
    """One permission of a role, by its name or its id."""

    example: ClassVar = {"name": "UPDATE_FEATURE_ENVIRONMENT", "environment": "production"}
    schema: ClassVar = {"anyOf": [{"required": ["id"]}, {"required": ["name"]}]}

    id = Integer(min=1, max=ID_MAX, metadata={"description": "Id of the permission; this or the name is required."})
    name = Text(metadata={"description": "Name of the permission; this or the id is required."})
    environment = Text(
        allow_none=True,
        metadata={"description": "Environment in which the role holds an environment permission; in all without one."},
    )

    @validates_schema
    def names_a_permission(self, asked: dict[str, Any], **_: Any) -> None:
        """By one of the two at least; by both, they must be of the same."""
        if "id" not in asked and "name" not in asked:
            raise ValidationError("is required, unless id is given", "name")


class UpdateRole(Body):
    """A change of a role. What is left out stays, but for the name."""

    example: ClassVar = {
        "name": "Release manager",
        "description": "Switches flags on and off in production.",
        "permissions": [{"name": "UPDATE_FEATURE"}, {"name": "UPDATE_FEATURE_ENVIRONMENT", "environment": "production"}],
    }

    name = Trimmed(min=1, max=255, required=True, metadata={"description": "Name of the role, unique in any case of letters."})
    description = Text(max=DESCRIPTION_MAX, metadata={"description": "What the role is for."})
    type = OneOf(TYPES, TYPE_WORDS, metadata=TYPE_MEANING)
    permissions = ListOf(Nested(RolePermission), what="permissions", metadata={"description": "What the role allows."})


class CreateRole(UpdateRole):
    """A new role."""

    description = Text(max=DESCRIPTION_MAX, load_default="", metadata={"description": "What the role is for."})
    type = OneOf(TYPES, TYPE_WORDS, load_default="custom", metadata=TYPE_MEANING)
    permissions = ListOf(Nested(RolePermission), what="permissions", load_default=list, metadata={"description": "What the role allows."})
