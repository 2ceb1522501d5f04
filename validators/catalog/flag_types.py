"""Requests about flag types."""

from typing import Any, ClassVar

from marshmallow import post_load

from validators import Body
from validators.fields import Integer
from validators.returned import ResponseOnly

FLAG_TYPE = ResponseOnly("flagType", ignored=("id",), read_only={"name": "", "description": ""})


class UpdateLifetime(Body):
    """Body of a change of the expected lifetime of a flag type."""

    class Meta(Body.Meta):
        include = FLAG_TYPE.in_change()

    example: ClassVar[dict[str, Any]] = {"lifetimeDays": 30}

    lifetimeDays = Integer(
        min=0,
        max=2**31 - 1,
        required=True,
        allow_none=True,
        description="Expected lifetime in days. null or 0 means no end.",
    )

    @post_load
    def read_zero_as_null(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Read 0 as null."""
        return data | {"lifetimeDays": data["lifetimeDays"] or None}
