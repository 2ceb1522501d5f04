"""Requests that give roles in a project."""

from typing import ClassVar

from validators import Body
from validators.fields import Integer, ListOf, Nested


class GrantAccess(Body):
    """Roles, and the users and groups that get all of them in addition to their own."""

    example: ClassVar = {"roles": [5], "users": [7, 8], "groups": []}

    roles = ListOf(Integer(min=1), required=True, description="Ids of roles.")
    users = ListOf(Integer(min=1), load_default=list, description="Ids of the users who get the roles.")
    groups = ListOf(Integer(min=1), load_default=list, description="Ids of the groups that get the roles.")


class RoleHolders(Body):
    """A role, and the users and groups that get it."""

    example: ClassVar = {"id": 4, "users": [7], "groups": [3]}

    id = Integer(min=1, required=True, description="Id of the role.")
    users = ListOf(Integer(min=1), load_default=list, description="Ids of the users who get the role.")
    groups = ListOf(Integer(min=1), load_default=list, description="Ids of the groups that get the role.")


class ReplaceAccess(Body):
    """All roles in a project. Users and groups that are not named lose their roles."""

    example: ClassVar = {"roles": [{"id": 4, "users": [7], "groups": []}, {"id": 5, "users": [8, 9], "groups": [3]}]}

    roles = ListOf(
        Nested(RoleHolders), required=True, description="All roles in the project, each with its users and groups."
    )


class HeldRoles(Body):
    """All roles of a user or group in a project."""

    example: ClassVar = {"roles": [5]}

    roles = ListOf(Integer(min=1), required=True, description="Ids of the roles. An empty list takes all roles away.")
