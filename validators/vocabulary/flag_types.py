"""Types of flags (neighbours.md 3.14)."""

from typing import Any, ClassVar

from marshmallow import post_load

from validators import Body
from validators.fields import Integer


class UpdateLifetime(Body):
    """How long flags of a type are expected to live."""

    example: ClassVar[dict[str, Any]] = {"lifetimeDays": 30}

    lifetimeDays = Integer(min=0, max=2**31 - 1, required=True, allow_none=True, metadata={"description": "Days; null or 0: for ever."})

    @post_load
    def zero_is_none(self, asked: dict[str, Any], **_: Any) -> dict[str, Any]:
        """0 means the same as null."""
        return {"lifetimeDays": asked["lifetimeDays"] or None}
