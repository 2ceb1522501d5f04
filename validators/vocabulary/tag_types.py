"""Types of tags (neighbours.md 3.16)."""

from typing import Any, ClassVar

from marshmallow import ValidationError

from validators import Body
from validators.fields import DESCRIPTION_MAX, Name, Text


def long_enough(name: str) -> None:
    """ValidationError unless the name has two characters at least."""
    if len(name) < 2:
        raise ValidationError("must be at least 2 characters long")


class UpdateTagType(Body):
    """A change of a type of tags; what is absent stays as it is."""

    example: ClassVar[dict[str, Any]] = {"description": "The team that answers for the flag.", "icon": "🚀"}

    description = Text(max=DESCRIPTION_MAX, metadata={"description": "What tags of this type say."})
    icon = Text(allow_none=True, metadata={"description": "Name or address of an image, or a character."})


class CreateTagType(UpdateTagType):
    """A new type of tags."""

    example: ClassVar[dict[str, Any]] = {"name": "team", "description": "The team that answers for the flag."}
    unsaid: ClassVar[str] = "at least 2"

    name = Name(max=50, required=True, validate=long_enough, metadata={"description": "Name of the type, of 2 characters at least."})
