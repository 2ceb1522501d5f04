"""The change of a public signup token (api.md 1)."""

from typing import Any

from marshmallow import ValidationError, validates_schema

from validators import Body
from validators.fields import Boolean, DateTime


class SignupTokenUpdate(Body):
    """expiresAt and enabled; one of them at least."""

    expiresAt = DateTime()
    enabled = Boolean()

    # Our choice: both are optional, but one must be there.
    @validates_schema
    def asks_for_something(self, asked: dict[str, Any], **_: Any) -> None:
        """A request that asks for nothing is a mistake, and says so."""
        if not asked:
            raise ValidationError("must hold expiresAt or enabled")
