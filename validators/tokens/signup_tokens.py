"""Public signup tokens (api.md 1, neighbours.md 3.5)."""

from typing import Any, ClassVar

from marshmallow import ValidationError, validates_schema

from validators import Body
from validators.fields import Boolean, DateTime, Text


class SignupTokenUpdate(Body):
    """expiresAt and enabled; one of them at least."""

    example: ClassVar[dict[str, Any]] = {"expiresAt": "2026-12-31T23:59:59Z", "enabled": True}
    schema: ClassVar[dict[str, Any]] = {"minProperties": 1}

    expiresAt = DateTime(metadata={"description": "The instant until which the token works; past or to come."})
    enabled = Boolean(metadata={"description": "Whether the token can be used."})

    # Our choice: both are optional, but one must be there.
    @validates_schema
    def asks_for_something(self, asked: dict[str, Any], **_: Any) -> None:
        """A request that asks for nothing is a mistake, and says so."""
        if not asked:
            raise ValidationError("must have expiresAt or enabled")


class PublicSignupTokenCreate(Body):
    """A new token. Any expiry is kept as it was sent."""

    example: ClassVar[dict[str, Any]] = {"name": "Summer interns", "expiresAt": "2026-12-31T23:59:59Z"}

    name = Text(min=1, max=255, required=True, metadata={"description": "Name, for display only."})
    expiresAt = DateTime(required=True, metadata={"description": "The instant until which the token works; past or to come."})
