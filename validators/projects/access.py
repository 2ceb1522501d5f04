"""Who gets which roles in a project (neighbours.md 3.10)."""

from typing import ClassVar

from validators import Body
from validators.fields import Integer, ListOf, Nested


class GrantAccess(Body):
    """Roles, and who gets all of them beside those that they have."""

    example: ClassVar = {"roles": [5], "users": [7, 8], "groups": []}

    roles = ListOf(Integer(min=1), required=True, metadata={"description": "Ids of roles."})
    users = ListOf(Integer(min=1), required=True, metadata={"description": "Ids of the users who get them."})
    groups = ListOf(Integer(min=1), required=True, metadata={"description": "Ids of the groups that get them."})


class RoleHolders(Body):
    """A role, and who is to have it."""

    example: ClassVar = {"id": 4, "users": [7], "groups": [3]}

    id = Integer(min=1, required=True, metadata={"description": "Id of the role."})
    users = ListOf(Integer(min=1), required=True, metadata={"description": "Ids of the users who have it."})
    groups = ListOf(Integer(min=1), required=True, metadata={"description": "Ids of the groups that have it."})


class ReplaceAccess(Body):
    """All roles in a project, and who is to have them; whoever is not named has none."""

    example: ClassVar = {"roles": [{"id": 4, "users": [7], "groups": []}, {"id": 5, "users": [8, 9], "groups": [3]}]}

    roles = ListOf(Nested(RoleHolders), required=True, metadata={"description": "The roles that somebody is to have."})


class HeldRoles(Body):
    """All roles that somebody is to have in a project."""

    example: ClassVar = {"roles": [5]}

    roles = ListOf(Integer(min=1), required=True, metadata={"description": "Ids of roles; an empty list: none."})
