"""Groups of users (neighbours.md 3.7)."""

from typing import Any, ClassVar

from marshmallow import post_load

from validators import Body
from validators.fields import DESCRIPTION_MAX, Integer, ListOf, Nested, Text, Trimmed
from validators.people.roles import ID_MAX


class GroupUser(Body):
    """Who a member is."""

    example: ClassVar = {"id": 7}

    id = Integer(min=1, max=ID_MAX, required=True, metadata={"description": "Id of the user."})


class GroupMember(Body):
    """One member of a group."""

    example: ClassVar = {"user": {"id": 7}}

    user = Nested(GroupUser, required=True, metadata={"description": "Who it is."})


class CreateGroup(Body):
    """All that a group is to be; users as their ids."""

    example: ClassVar = {"name": "Payments", "description": "The payments team", "rootRole": 3, "users": [{"user": {"id": 1}}]}

    name = Trimmed(min=1, max=255, required=True, metadata={"description": "Name of the group, unique."})
    description = Text(max=DESCRIPTION_MAX, allow_none=True, load_default=None, metadata={"description": "What the group is for."})
    mappingsSSO = ListOf(
        Text(min=1, max=255),
        what="mappings",
        load_default=list,
        metadata={"description": "External groups that are mapped to this one."},
    )
    rootRole = Integer(
        min=1,
        max=ID_MAX,
        allow_none=True,
        load_default=None,
        metadata={"description": "Id of the root role that all members have through the group."},
    )
    users = ListOf(Nested(GroupMember), what="users", load_default=list, metadata={"description": "The members."})

    @post_load
    def users_as_ids(self, asked: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Each user once."""
        return asked | {"users": list(dict.fromkeys(member["user"]["id"] for member in asked["users"]))}
