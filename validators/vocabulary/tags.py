"""A tag: a word of a type (neighbours.md 1.6)."""

from typing import ClassVar

from validators import Body
from validators.fields import Text, Trimmed


class Tag(Body):
    """Whether there is such a type is for the database to say."""

    example: ClassVar = {"type": "simple", "value": "beta"}

    type = Text(min=1, max=50, required=True, metadata={"description": "Type of the tag."})
    value = Trimmed(min=2, max=50, required=True, metadata={"description": "The tag's own word."})
