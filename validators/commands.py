"""What the commands of the command line are told: the rules of the HTTP API, on the options of each."""

from typing import Any

from marshmallow import ValidationError, fields, validates_schema

from validators import Body
from validators.events import QUERY_MAX
from validators.fields import DateTime, Day, Email, Integer, Text, Username
from validators.people.users import InvitedUser


class NewUser(Body):
    """The options of user create, without the password."""

    username = Username()
    email = Email()
    name = Text(min=1, max=255)
    role = Text(required=True)

    @validates_schema
    def can_be_named(self, asked: dict[str, Any], **_: Any) -> None:
        """A user logs in by one of the two."""
        if "username" not in asked and "email" not in asked:
            raise ValidationError("is required, or an e-mail address", "username")


class KnownUser(Body):
    """Whom a command means: a user name or an e-mail address."""

    user = Text(required=True)


class NewPassword(InvitedUser):
    """A new password beside the names of its user, which are looked at for nothing else: they are what they are."""

    username = Text()
    email = Text()
    name = Text()


class NewApiKey(Body):
    """The options of api-key create (neighbours.md 3.4)."""

    name = Text(min=1, max=255, required=True)
    type = Text(required=True)
    environment = Text()
    projects = fields.List(Text())
    expires = DateTime()

    @validates_schema
    def admin_keys_are_for_all(self, asked: dict[str, Any], **_: Any) -> None:
        """Only client and frontend keys can be limited."""
        if asked["type"] == "admin":
            if asked.get("environment", "*") != "*":
                raise ValidationError("must be left out, because an admin key is for all environments", "environment")
            if "*" not in asked.get("projects", ["*"]):
                raise ValidationError("must be left out, because an admin key is for all projects", "project")


class NewSignupToken(Body):
    """The options of signup-token create (neighbours.md 3.5)."""

    name = Text(min=1, max=255, required=True)
    expires = DateTime()


class EventExport(Body):
    """The filters of events export, as those of GET /api/admin/search/events are read."""

    project = fields.List(Text())
    type = fields.List(Text())
    feature = fields.List(Text())
    createdBy = fields.List(Integer(min=0))
    from_ = Day(data_key="from")
    to = Day()
    query = Text(max=QUERY_MAX)
