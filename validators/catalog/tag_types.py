"""Requests about tag types."""

from typing import Any, ClassVar

from marshmallow import ValidationError

from validators import Body
from validators.fields import DESCRIPTION_MAX, Name, Text
from validators.returned import UNLEASH_ONLY, ResponseOnly

TAG_TYPE = ResponseOnly("tagType", ignored=UNLEASH_ONLY["tag type"], read_only={"name": ""})


def require_two_characters(name: str) -> None:
    """Raise ValidationError unless the name has at least two characters."""
    if len(name) < 2:
        raise ValidationError("must be at least 2 characters long")


class UpdateTagType(Body):
    """Body of an update of a tag type. Omitted properties keep their values."""

    class Meta(Body.Meta):
        include = TAG_TYPE.in_change()

    example: ClassVar[dict[str, Any]] = {"description": "The team that answers for the flag.", "icon": "🚀"}

    description = Text(max=DESCRIPTION_MAX, description="Description of the tag type.")
    icon = Text(allow_none=True, description="Icon: the name or URL of an image, or a character.")


class CreateTagType(UpdateTagType):
    """Body of a new tag type."""

    class Meta(Body.Meta):
        include = TAG_TYPE.in_new("name")

    example: ClassVar[dict[str, Any]] = {"name": "team", "description": "The team that answers for the flag."}
    beyond_json_schema: ClassVar[str] = "at least 2"

    name = Name(
        max=50,
        required=True,
        validate=require_two_characters,
        description="Name of the tag type. It needs at least 2 characters.",
    )
