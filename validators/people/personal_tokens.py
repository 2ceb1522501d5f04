"""A new token of a user or a service account."""

from datetime import UTC, datetime
from typing import Any, ClassVar

from marshmallow import ValidationError, validates_schema

from validators import Body
from validators.fields import DateTime, NotBlank
from validators.returned import ResponseOnly

PERSONAL_TOKEN = ResponseOnly("personalToken", ignored=("id", "userId", "createdAt", "seenAt", "secret"))


class CreatePersonalToken(Body):
    """Body of a new token: its description and its expiry."""

    class Meta(Body.Meta):
        include = PERSONAL_TOKEN.in_new()

    example: ClassVar[dict[str, Any]] = {"description": "continuous integration", "expiresAt": "2099-12-31T23:59:59Z"}
    beyond_json_schema: ClassVar[str] = "in the future|must not be later"

    def __init__(self, latest: datetime | None = None) -> None:
        """Set the latest allowed expiry, or None for any."""
        super().__init__()
        self.latest = latest

    description = NotBlank(
        min=1,
        max=255,
        required=True,
        description="Description of the token. It must be unique among the tokens of the user.",
    )
    expiresAt = DateTime(required=True, description="Expiry of the token. It must be in the future.")

    @validates_schema
    def check_expiry(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse an expiry in the past, and an expiry later than that of the request's own token."""
        if data["expiresAt"] <= datetime.now(UTC):
            raise ValidationError("must be in the future", "expiresAt")
        if self.latest is not None and data["expiresAt"] > self.latest:
            latest = self.latest.isoformat(timespec="milliseconds").replace("+00:00", "Z")
            raise ValidationError(
                f"must not be later than {latest}, the expiry of the token of this request", "expiresAt"
            )
