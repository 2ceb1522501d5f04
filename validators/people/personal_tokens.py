"""A new personal token, of a user or a service account."""

from datetime import UTC, datetime
from typing import Any, ClassVar

from marshmallow import ValidationError, validates_schema

from validators import Body
from validators.fields import DateTime, Text


class CreatePersonalToken(Body):
    """Its description, by which its owner knows it, and its end."""

    example: ClassVar[dict[str, Any]] = {"description": "continuous integration", "expiresAt": "2099-12-31T23:59:59Z"}
    unsaid: ClassVar[str] = "in the future|must not be later"

    def __init__(self, latest: datetime | None = None) -> None:
        """latest: the last instant at which the token may expire."""
        super().__init__()
        self.latest = latest

    description = Text(
        min=1, max=255, required=True, metadata={"description": "What the token is for; no other of the same user is called so."}
    )
    expiresAt = DateTime(required=True, metadata={"description": "The instant until which the token works; in the future."})

    @validates_schema
    def is_of_use(self, asked: dict[str, Any], **_: Any) -> None:
        """A token that has expired already is a mistake."""
        if asked["expiresAt"] <= datetime.now(UTC):
            raise ValidationError("must be in the future", "expiresAt")
        if self.latest is not None and asked["expiresAt"] > self.latest:
            latest = self.latest.isoformat(timespec="milliseconds").replace("+00:00", "Z")
            raise ValidationError(f"must not be later than {latest}, the expiry of the token of this request", "expiresAt")
