"""Requests about groups (neighbours.md 3.7)."""

from typing import Any, ClassVar

from marshmallow import post_load

from validators import Body
from validators.fields import DESCRIPTION_MAX, Integer, ListOf, Nested, Text, Trimmed
from validators.people.roles import ID_MAX


class GroupUser(Body):
    """The user of a member, by id."""

    example: ClassVar = {"id": 7}

    id = Integer(min=1, max=ID_MAX, required=True, metadata={"description": "Id of the user."})


class GroupMember(Body):
    """A member of a group."""

    example: ClassVar = {"user": {"id": 7}}

    user = Nested(GroupUser, required=True, metadata={"description": "The user."})


class CreateGroup(Body):
    """Body of a new group, or of an update that replaces it. Loads users as their ids."""

    example: ClassVar = {
        "name": "Payments",
        "description": "The payments team",
        "rootRole": 3,
        "users": [{"user": {"id": 1}}],
    }

    name = Trimmed(min=1, max=255, required=True, metadata={"description": "Name of the group. It must be unique."})
    description = Text(
        max=DESCRIPTION_MAX, allow_none=True, load_default=None, metadata={"description": "Description of the group."}
    )
    mappingsSSO = ListOf(
        Text(min=1, max=255),
        what="mappings",
        load_default=list,
        metadata={"description": "Names of external groups that belong to this group."},
    )
    rootRole = Integer(
        min=1,
        max=ID_MAX,
        allow_none=True,
        load_default=None,
        metadata={"description": "Id of the root role of all members."},
    )
    users = ListOf(
        Nested(GroupMember), what="users", load_default=list, metadata={"description": "Members of the group."}
    )

    @post_load
    def users_as_ids(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Return the ids of the users, each once."""
        return data | {"users": list(dict.fromkeys(member["user"]["id"] for member in data["users"]))}
