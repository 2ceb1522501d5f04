"""Requests about groups."""

from typing import Any, ClassVar

from marshmallow import post_load

from validators import Body
from validators.fields import DESCRIPTION_MAX, Integer, ListOf, Nested, Text, Trimmed
from validators.people.roles import ID_MAX
from validators.people.users import USER
from validators.returned import Ignored, ResponseOnly

GROUP = ResponseOnly(
    "group",
    ignored=("id", "scimId", "createdAt", "userCount"),
    read_only={"createdBy": "", "projects": "POST /api/admin/projects/{projectId}/access"},
)


class GroupUser(Body):
    """The user of a member, by id. The other properties of the user are ignored."""

    class Meta(Body.Meta):
        include = USER.in_new("id") | {name: Ignored(records="managedUser") for name in ("name", "email", "rootRole")}

    example: ClassVar = {"id": 7}

    id = Integer(min=1, max=ID_MAX, required=True, description="Id of the user.")


class GroupMember(Body):
    """A member of a group."""

    example: ClassVar = {"user": {"id": 7}}

    user = Nested(GroupUser, required=True, description="The user.")
    joinedAt = Ignored(records="group")
    createdBy = Ignored(records="group")


class CreateGroup(Body):
    """Body of a new group. Loads users as their ids."""

    class Meta(Body.Meta):
        include = GROUP.in_new()

    example: ClassVar = {
        "name": "Payments",
        "description": "The payments team",
        "rootRole": 3,
        "users": [{"user": {"id": 1}}],
    }

    name = Trimmed(min=1, max=255, required=True, description="Name of the group. It must be unique.")
    description = Text(max=DESCRIPTION_MAX, allow_none=True, load_default=None, description="Description of the group.")
    mappingsSSO = ListOf(
        Text(min=1, max=255),
        what="mappings",
        load_default=list,
        description="Names of external groups that belong to this group.",
    )
    rootRole = Integer(
        min=1, max=ID_MAX, allow_none=True, load_default=None, description="Id of the root role of all members."
    )
    users = ListOf(Nested(GroupMember), what="users", load_default=list, description="Members of the group.")

    @post_load
    def users_as_ids(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Replace each user by their id, without duplicates. Drop lists that are null."""
        data = {
            name: value for name, value in data.items() if value is not None or name not in ("users", "mappingsSSO")
        }
        if "users" in data:
            data["users"] = list(dict.fromkeys(member["user"]["id"] for member in data["users"]))
        return data


class UpdateGroup(CreateGroup):
    """Body of an update. It replaces the group, but lists that are null change nothing. Loads users as their ids."""

    class Meta(Body.Meta):
        include = GROUP.in_change()

    mappingsSSO = ListOf(
        Text(min=1, max=255),
        what="mappings",
        load_default=list,
        allow_none=True,
        description="Names of external groups that belong to this group. null changes nothing.",
    )
    users = ListOf(
        Nested(GroupMember),
        what="users",
        load_default=list,
        allow_none=True,
        description="Members of the group. null changes nothing.",
    )
