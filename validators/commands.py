"""Schemas of the options of commands. They have the same fields as the requests of the HTTP API."""

from datetime import UTC, datetime
from typing import Any

from marshmallow import ValidationError, fields, post_load, validates_schema

from validators import Body
from validators.events import QUERY_MAX
from validators.fields import DateTime, Email, Integer, NotBlank, Text, Username
from validators.people.users import InvitedUser
from validators.query_fields import Day
from validators.tokens.api_tokens import Secret, named_projects
from validators.tokens.signup_tokens import DEFAULT_LIFETIME, PublicSignupTokenCreate


class NewUser(Body):
    """The options of user create, without the password."""

    username = Username()
    email = Email()
    name = NotBlank(min=1, max=255)
    role = Text(required=True)

    @validates_schema
    def require_login_name(self, options: dict[str, Any], **_: Any) -> None:
        """Require the user name or the e-mail address, so that the user can log in."""
        if "username" not in options and "email" not in options:
            raise ValidationError("is required, unless email is given", "username")


class UserName(Body):
    """The user name or email of an existing user."""

    user = Text(required=True)


class NewPassword(InvitedUser):
    """A new password, and the names of its user, which must differ from the password."""

    username = Text()
    email = Text()
    name = Text()


class NewApiToken(Body):
    """The options of api-token create."""

    name = Text(min=1, max=255, required=True)
    type = Text(required=True)
    environment = Text()
    projects = fields.List(Text())
    expiresAt = DateTime(data_key="expires", load_default=None)
    secret = Secret()

    @validates_schema
    def refuse_limited_admin_token(self, options: dict[str, Any], **_: Any) -> None:
        """Refuse an admin token for one environment or for some projects."""
        if options["type"] == "admin":
            if options.get("environment", "*") != "*":
                raise ValidationError("must be omitted: admin tokens are for all environments", "environment")
            if "*" not in options.get("projects", ["*"]):
                raise ValidationError("must be omitted: admin tokens are for all projects", "projects")

    @post_load
    def name_projects(self, options: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Return the options as rules.api_tokens.create() takes them."""
        return options | {"projects": named_projects(options.pop("projects", ["*"]))}


class NewSignupToken(PublicSignupTokenCreate):
    """The options of signup-token create."""

    expiresAt = DateTime(data_key="expires", load_default=lambda: datetime.now(UTC) + DEFAULT_LIFETIME)


class EventExport(Body):
    """The filters of events export, the same as those of GET /api/admin/search/events."""

    project = fields.List(Text())
    type = fields.List(Text())
    feature = fields.List(Text())
    createdBy = fields.List(Integer(min=0))
    createdByToken = fields.List(Integer(min=1))
    from_ = Day(data_key="from")
    to = Day()
    query = Text(max=QUERY_MAX)
