"""What a user may be called, and what a password may be (decisions.md, 8)."""

from typing import Any, ClassVar

from marshmallow import ValidationError, validates_schema

from validators import Body
from validators.fields import Email, Text, Username

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


class InvitedUser(Body):
    """The body of a signup (api.md 8)."""

    example: ClassVar[dict[str, Any]] = {
        "username": "ada",
        "email": "ada@example.org",
        "name": "Ada Lovelace",
        "password": "correct horse battery staple",
    }
    unsaid: ClassVar[str] = "bytes long|own name"

    username = Username(metadata={"description": "User name; must not be taken. No @, and no spaces around."})
    email = Email(required=True, metadata={"description": "E-mail address; must not be taken. Kept in lower case."})
    name = Text(min=1, max=255, required=True, metadata={"description": "Name of the user."})
    password = Password(
        required=True,
        metadata={
            "description": "Password of at most 72 bytes. "
            "How many characters it must have at least is a setting; 8 unless the operator chose otherwise."
        },
    )

    def __init__(self, password_min_length: int = 8, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        password = self.fields["password"]
        assert isinstance(password, Password)
        password.min = password_min_length

    @validates_schema
    def password_is_no_name(self, asked: dict[str, Any], **_: Any) -> None:
        """A password that everybody knows is none."""
        own = {asked[field].casefold() for field in ("username", "email", "name") if field in asked}
        if asked["password"].casefold() in own:
            raise ValidationError("must not be the user's own name, user name or e-mail address", "password")
