"""The change of a public signup token (api.md 1)."""

from typing import Any, ClassVar

from marshmallow import ValidationError, validates_schema

from validators import Body
from validators.fields import Boolean, DateTime


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
            raise ValidationError("must hold expiresAt or enabled")
