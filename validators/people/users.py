"""Requests about users and their passwords (decisions.md, Passwords)."""

from collections.abc import Mapping
from typing import Any, ClassVar

from marshmallow import ValidationError, validates_schema
from werkzeug.exceptions import BadRequest

from validators import Body, Query
from validators.fields import BIGINT_MAX, Boolean, Email, Field, NotBlank, Text, Username, in_range
from validators.returned import UNLEASH_ONLY, Ignored, ResponseOnly

USER = ResponseOnly(
    "managedUser user profile",
    ignored=("id", "loginAttempts", "seenAt", "createdAt", "scimId", "inviteLink", "emailSent") + UNLEASH_ONLY["user"],
    read_only={"isAPI": "", "username": "", "imageUrl": "", "accountType": ""},
)
# bcrypt ignores or refuses further bytes.
PASSWORD_MAX_BYTES = 72


# Our choice: no rules about the kinds of characters.
class Password(Text):
    """A new password of at most 72 bytes in UTF-8. Its minimum length is the setting PASSWORD_MIN_LENGTH."""

    def load_value(self, value: Any) -> str:
        value = super().load_value(value)
        if len(value.encode()) > PASSWORD_MAX_BYTES:
            raise ValidationError(f"must be at most {PASSWORD_MAX_BYTES} bytes long")
        return value


class RootRole(Field[int | str]):
    """The id of a root role, an integer, or its name. hold_role() checks that the role exists."""

    def load_value(self, value: Any) -> int | str:
        if isinstance(value, int) and not isinstance(value, bool):
            return in_range(value, 1, BIGINT_MAX)
        if isinstance(value, str):
            return Text().load_value(value)
        raise ValidationError("must be the id or the name of a root role")


REQUIREMENTS = (
    "Password of at most 72 bytes. It needs at least 8 characters, unless the operator has set another minimum."
)
OWN_NAME = "must not be the user's own name, user name or email"


def is_own_name(password: str, person: Mapping[str, Any]) -> bool:
    """Return whether the password is the name, user name or e-mail address of its user, ignoring case."""
    return password.casefold() in {
        person[field].casefold() for field in ("username", "email", "name") if person.get(field)
    }


def refuse_own_name(password: str, person: Mapping[str, Any]) -> None:
    """Raise 400 if the password is the name, user name or e-mail address of this user."""
    if is_own_name(password, person):
        raise BadRequest(f"password: {OWN_NAME}")


class WithPassword(Body):
    """A body with a new password. password_min_length: the setting, in characters."""

    beyond_json_schema: ClassVar[str] = "bytes long|own name"

    def __init__(self, password_min_length: int = 8, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        password = self.fields["password"]
        assert isinstance(password, Password)
        password.min = password_min_length

    @validates_schema
    def refuse_own_names(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse a password that is a name of the user in this body."""
        if is_own_name(data.get("password") or "", data):
            raise ValidationError(OWN_NAME, "password")


class InvitedUser(WithPassword):
    """Body of a signup."""

    example: ClassVar[dict[str, Any]] = {
        "username": "ada",
        "email": "ada@example.org",
        "name": "Ada Lovelace",
        "password": "correct horse battery staple",
    }
    drops_nulls: ClassVar[bool] = False

    username = Username(description="User name. It must be free, and has no @ and no spaces around it.")
    email = Email(required=True, description="E-mail address. It must be free. It is stored in lower case.")
    name = NotBlank(min=1, max=255, required=True, description="Name of the user.")
    password = Password(required=True, description=REQUIREMENTS)


class CreateUser(WithPassword):
    """Body of POST /api/admin/user-admin: a user whom an administrator creates."""

    class Meta(Body.Meta):
        include = USER.in_new("username")

    example: ClassVar[dict[str, Any]] = {"email": "ada@example.org", "name": "Ada Lovelace", "rootRole": "Editor"}
    schema: ClassVar[dict[str, Any]] = {"anyOf": [{"required": ["username"]}, {"required": ["email"]}]}
    # One of the two is required, and null counts as omitted.
    beyond_json_schema: ClassVar[str] = f"{WithPassword.beyond_json_schema}|is required, unless email is given"
    drops_empty: ClassVar[frozenset[str]] = frozenset({"name", "password"})

    rootRole = RootRole(required=True, description="Id or name of the root role of the user.")
    username = Username(
        description="User name. It must be free, and has no @ and no spaces around it. Required without email."
    )
    email = Email(description="E-mail address. It must be free. It is stored in lower case.")
    name = NotBlank(max=255, description="Name of the user. An empty text means no name.")
    password = Password(
        description=REQUIREMENTS
        + " Without a password, or with an empty one, the response has a link with which the user sets one."
    )
    sendEmail = Boolean(
        load_default=True,
        description="Whether a user without a password gets the link by e-mail. Needs an e-mail address and SMTP_HOST.",
    )

    @validates_schema
    def require_login_name(self, data: dict[str, Any], **_: Any) -> None:
        """Require the user name or the e-mail address, so that the user can log in."""
        if "username" not in data and "email" not in data:
            raise ValidationError("is required, unless email is given", "username")


class UpdateUser(Body):
    """Body of PUT /api/admin/user-admin/{id}: an update of a user."""

    class Meta(Body.Meta):
        include = USER.in_change()

    example: ClassVar[dict[str, Any]] = {"name": "Ada King", "rootRole": 2}
    drops_empty: ClassVar[frozenset[str]] = frozenset({"name", "email", "rootRole"})

    name = NotBlank(
        max=255, allow_none=True, description="Name of the user. An empty text changes nothing. null removes the name."
    )
    email = Email(
        description="E-mail address. It must be free. It is stored in lower case. An empty text changes nothing."
    )
    rootRole = RootRole(description="Id or name of the root role of the user. An empty text changes nothing.")
    sendEmail = Ignored("A change of a user sends no e-mail.", "managedUser")


class NewPassword(WithPassword):
    """A body with a required new password."""

    example: ClassVar[dict[str, Any]] = {"password": "correct horse battery staple"}

    password = Password(required=True, description=REQUIREMENTS)


class CheckPassword(NewPassword):
    """Body of the checks of a new password."""

    class Meta(NewPassword.Meta):
        include = ResponseOnly("managedUser user profile", UNLEASH_ONLY["password to check"]).in_new()


# An example for the documentation.
RESET_TOKEN = "9f6c0a4e1b7d52389f6c0a4e1b7d52389f6c0a4e1b7d52389f6c0a4e1b7d5238"  # noqa: S105


class ResetPassword(NewPassword):
    """Body of POST /auth/reset/password: a new password by a link."""

    example: ClassVar[dict[str, Any]] = {
        "token": RESET_TOKEN,
        "password": "correct horse battery staple",
    }

    token = Text(required=True, description="Token of the link.")


class SetPassword(NewPassword):
    """Body of POST /api/admin/user-admin/{id}/change-password: a new password for a user."""

    beyond_json_schema: ClassVar[str] = WithPassword.beyond_json_schema + "|the same as password"

    confirmPassword = Text(description="The same password again.")
    oldPassword = Text(description="Ignored. An administrator needs no old password.")

    @validates_schema
    def check_confirmation(self, data: dict[str, Any], **_: Any) -> None:
        """Require the same password twice, if both are sent, so that a typing mistake is not saved."""
        if data.get("confirmPassword", data["password"]) != data["password"]:
            raise ValidationError("must be the same as password", "confirmPassword")


class ChangePassword(SetPassword):
    """Body of POST /api/admin/user/change-password: a new password for yourself."""

    example: ClassVar[dict[str, Any]] = {
        "password": "correct horse battery staple",
        "confirmPassword": "correct horse battery staple",
        "oldPassword": "incorrect horse battery staple",
    }

    password = Password(required=True, description=REQUIREMENTS + " It must not be one of the last five.")
    confirmPassword = Text(required=True, description="The same password again.")
    oldPassword = Text(required=True, description="Your present password.")


class CreateResetLink(Body):
    """Body of POST /api/admin/user-admin/reset-password: the user who gets a link."""

    example: ClassVar[dict[str, Any]] = {"id": "ada@example.org"}

    id = Text(required=True, description="User name or e-mail address of the user.")
    sendEmail = Boolean(load_default=False, description="Whether the user gets the link by e-mail too.")


class ForgottenPassword(Body):
    """Body of POST /auth/reset/password-email."""

    example: ClassVar[dict[str, Any]] = {"email": "ada@example.org"}

    email = Email(required=True, description="E-mail address of the user.")


class ResetToken(Query):
    """Query parameters of GET /auth/reset/validate."""

    token = Text(required=True, description="Token of the link.", metadata={"examples": [RESET_TOKEN]})


class UserSearch(Query):
    """Query parameters of GET /api/admin/user-admin/search."""

    q = Text(
        load_default="",
        description="Text that the name, user name or e-mail address contains. It needs at least two characters.",
    )


class OwnRoles(Query):
    """Query parameters of GET /api/admin/user/roles."""

    projectId = Text(required=True, description="Id of the project.", metadata={"examples": ["default"]})


class PermissionScope(Query):
    """Query parameters of the permissions of a user."""

    project = Text(load_default=None, description="Id of a project.", metadata={"examples": ["default"]})
    environment = Text(load_default=None, description="Name of an environment.", metadata={"examples": ["production"]})
