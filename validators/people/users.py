"""What a user may be called, and what a password may be (decisions.md, 8)."""

from collections.abc import Mapping
from typing import Any, ClassVar

from marshmallow import ValidationError, fields, post_load, validates_schema
from werkzeug.exceptions import BadRequest

from validators import Body, Query
from validators.fields import BIGINT_MAX, Boolean, Email, Text, Username, in_range

# bcrypt looks at no more bytes than these.
PASSWORD_MAX_BYTES = 72


# Our choice: what bcrypt can hold, and no rules of composition.
class Password(Text):
    """A new password: at least as many characters as the setting says, at most 72 bytes in UTF-8, no rules of composition."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        value = super()._deserialize(value, attr, data, **kwargs)
        if len(value.encode()) > PASSWORD_MAX_BYTES:
            raise ValidationError(f"must be at most {PASSWORD_MAX_BYTES} bytes long")
        return value


class EmailOrEmpty(Email):
    """An e-mail address, or empty text, which asks for nothing."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        return value if value == "" else super()._deserialize(value, attr, data, **kwargs)


class RootRole(fields.Field[int | str]):
    """A root role by its id, a whole number, or by its name, a text. Whether there is such a one, the operation finds."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> int | str:
        if isinstance(value, int) and not isinstance(value, bool):
            return in_range(value, 1, BIGINT_MAX)
        if isinstance(value, str):
            return Text()._deserialize(value, attr, data, **kwargs)
        raise ValidationError("must be the id or the name of a root role")


RULES = "Password of at most 72 bytes. How many characters it must have at least is a setting; 8 unless the operator chose otherwise."
OWN_NAME = "must not be the user's own name, user name or email"


def is_own_name(password: str, person: Mapping[str, Any]) -> bool:
    """Whether a password is one that everybody knows: the name, user name or e-mail address of its user, in any case of letters."""
    return password.casefold() in {person[field].casefold() for field in ("username", "email", "name") if person.get(field)}


def refuse_own_name(password: str, person: Mapping[str, Any]) -> None:
    """400 when a password is the name, user name or e-mail address of this user."""
    if is_own_name(password, person):
        raise BadRequest(f"password: {OWN_NAME}")


class WithPassword(Body):
    """A body with a new password, whose least length is a setting."""

    unsaid: ClassVar[str] = "bytes long|own name"

    def __init__(self, password_min_length: int = 8, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        password = self.fields["password"]
        assert isinstance(password, Password)
        password.min = password_min_length

    @validates_schema
    def password_is_no_name(self, asked: dict[str, Any], **_: Any) -> None:
        """A password that everybody knows is none."""
        if is_own_name(asked.get("password") or "", asked):
            raise ValidationError(OWN_NAME, "password")


class InvitedUser(WithPassword):
    """The body of a signup (api.md 8)."""

    example: ClassVar[dict[str, Any]] = {
        "username": "ada",
        "email": "ada@example.org",
        "name": "Ada Lovelace",
        "password": "correct horse battery staple",
    }

    username = Username(metadata={"description": "User name; must not be taken. No @, and no spaces around."})
    email = Email(required=True, metadata={"description": "E-mail address; must not be taken. Kept in lower case."})
    name = Text(min=1, max=255, required=True, metadata={"description": "Name of the user."})
    password = Password(required=True, metadata={"description": RULES})


class CreateUser(WithPassword):
    """A user whom an administrator makes: POST /api/admin/user-admin."""

    example: ClassVar[dict[str, Any]] = {"email": "ada@example.org", "name": "Ada Lovelace", "rootRole": "Editor"}
    schema: ClassVar[dict[str, Any]] = {"anyOf": [{"required": ["username"]}, {"required": ["email"]}]}

    rootRole = RootRole(required=True, metadata={"description": "Id or name of the user's root role."})
    username = Username(
        metadata={"description": "User name; must not be taken. He has this or an address. No @, and no spaces around."},
    )
    email = Email(metadata={"description": "E-mail address; must not be taken. Kept in lower case."})
    name = Text(max=255, metadata={"description": "Name of the user; empty text is none."})
    password = Password(metadata={"description": RULES + " Without one, he cannot log in until he is given one."})
    sendEmail = Boolean(metadata={"description": "Has no effect: no mail is sent."})

    @validates_schema
    def can_be_named(self, asked: dict[str, Any], **_: Any) -> None:
        """A user logs in by one of the two."""
        if "username" not in asked and "email" not in asked:
            raise ValidationError("is required, unless email is given", "username")

    # Our choice: forms send a name that was left empty as empty text.
    @post_load
    def without_empty_name(self, asked: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Empty text is no name."""
        return {field: word for field, word in asked.items() if (field, word) != ("name", "")}


class UpdateUser(Body):
    """The change of a user: PUT /api/admin/user-admin/{id}."""

    example: ClassVar[dict[str, Any]] = {"name": "Ada King", "rootRole": 2}

    name = Text(max=255, metadata={"description": "Name of the user; empty text leaves it as it is."})
    email = EmailOrEmpty(metadata={"description": "E-mail address; must not be taken. Kept in lower case. Empty text leaves it as it is."})
    rootRole = RootRole(metadata={"description": "Id or name of the user's root role; empty text leaves it as it is."})

    @post_load
    def what_is_asked(self, asked: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Empty text asks for nothing."""
        return {field: word for field, word in asked.items() if word != ""}


class SetPassword(WithPassword):
    """A new password for somebody: POST /api/admin/user-admin/{id}/change-password."""

    example: ClassVar[dict[str, Any]] = {"password": "correct horse battery staple"}

    password = Password(required=True, metadata={"description": RULES})


class ChangePassword(WithPassword):
    """A new password for oneself: POST /api/admin/user/change-password."""

    example: ClassVar[dict[str, Any]] = {
        "password": "correct horse battery staple",
        "confirmPassword": "correct horse battery staple",
        "oldPassword": "incorrect horse battery staple",
    }
    unsaid: ClassVar[str] = WithPassword.unsaid + "|the same as password"

    password = Password(required=True, metadata={"description": RULES + " None of the last five."})
    confirmPassword = Text(required=True, metadata={"description": "The same once more."})
    oldPassword = Text(required=True, metadata={"description": "The present password."})

    @validates_schema
    def is_confirmed(self, asked: dict[str, Any], **_: Any) -> None:
        """A slip of the fingers is not kept."""
        if asked["confirmPassword"] != asked["password"]:
            raise ValidationError("must be the same as password", "confirmPassword")


class UserSearch(Query):
    """The query of GET /api/admin/user-admin/search."""

    q = Text(load_default="", metadata={"description": "A text of two characters or more in the name, user name or e-mail address."})
