"""Requests about public signup tokens."""

from datetime import timedelta
from typing import Any, ClassVar

from marshmallow import ValidationError, validates_schema

from validators import Body
from validators.fields import Boolean, DateTime, NotBlank
from validators.returned import ResponseOnly

# Our choice: the command and the page propose this expiry. A request that creates a token must contain one.
DEFAULT_LIFETIME = timedelta(days=7)


class SignupTokenUpdate(Body):
    """Body of an update: expiresAt, enabled, or both."""

    example: ClassVar[dict[str, Any]] = {"expiresAt": "2026-12-31T23:59:59Z", "enabled": True}
    schema: ClassVar[dict[str, Any]] = {"minProperties": 1}
    drops_nulls: ClassVar[bool] = False

    expiresAt = DateTime(description="Expiry of the token. It can be in the past.")
    enabled = Boolean(description="Whether the token works.")

    # Our choice: both are optional, but one of them is required.
    @validates_schema
    def refuse_empty_change(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse an empty change."""
        if not data:
            raise ValidationError("must have expiresAt or enabled")


# A new token is always enabled, with the role Viewer. PUT takes none of these: it is one of the nine operations.
SIGNUP_TOKEN = ResponseOnly(
    "publicSignupToken", ignored=("secret", "url", "enabled", "createdAt", "createdBy", "users", "role")
)


class PublicSignupTokenCreate(Body):
    """Body of a new signup token. The expiry is stored as it is sent."""

    class Meta(Body.Meta):
        include = SIGNUP_TOKEN.in_new()

    example: ClassVar[dict[str, Any]] = {"name": "Summer interns", "expiresAt": "2026-12-31T23:59:59Z"}

    name = NotBlank(min=1, max=255, required=True, description="Name of the token, to show to people.")
    expiresAt = DateTime(required=True, description="Expiry of the token. It can be in the past.")
