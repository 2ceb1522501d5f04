"""A tag: a value of a tag type."""

from typing import ClassVar

from validators import Body
from validators.fields import Text, Trimmed
from validators.returned import UNLEASH_ONLY, ResponseOnly


class Tag(Body):
    """A tag. check_tag_types() in rules/tags.py checks that its type exists."""

    class Meta(Body.Meta):
        include = ResponseOnly("tag", UNLEASH_ONLY["tag"]).in_new()

    example: ClassVar = {"type": "simple", "value": "beta"}

    type = Text(min=1, max=50, required=True, description="Type of the tag.")
    value = Trimmed(min=2, max=50, required=True, description="Value of the tag.")
