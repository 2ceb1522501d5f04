"""Requests that change the tags of flags."""

from typing import Any, ClassVar

from marshmallow import ValidationError, validates_schema

from validators import Body
from validators.catalog.tags import Tag
from validators.fields import ListOf, Name, Nested
from validators.flags.core import MAX_TAGS

# Our choice: the maximum number of tags that one request adds to flags or removes from them.
MAX_TAG_CHANGES = 10_000


class UpdateTags(Body):
    """Tags to add and to remove."""

    example: ClassVar[dict[str, Any]] = {
        "addedTags": [{"type": "simple", "value": "beta"}],
        "removedTags": [{"type": "simple", "value": "alpha"}],
    }

    addedTags = ListOf(Nested(Tag), max=MAX_TAGS, what="tags", required=True, description="Tags to add.")
    removedTags = ListOf(Nested(Tag), max=MAX_TAGS, what="tags", required=True, description="Tags to remove.")


class UpdateTagsOfFlags(Body):
    """Flags, and the tags to add to all of them and to remove from all of them."""

    example: ClassVar[dict[str, Any]] = {"features": ["new-checkout", "old-checkout"], "tags": UpdateTags.example}
    beyond_json_schema: ClassVar[str] = "changes in total"

    features = ListOf(Name(), required=True, what="names", description="Names of the flags.")
    tags = Nested(UpdateTags, required=True, description="Tags to add and to remove.")

    @validates_schema
    def check_total(self, data: dict[str, Any], **_: Any) -> None:
        """Raise ValidationError if there are too many changes. Each one is an event with all tags of the flag."""
        if len(data["features"]) * sum(map(len, data["tags"].values())) > MAX_TAG_CHANGES:
            raise ValidationError(f"must have at most {MAX_TAG_CHANGES} changes in total, flags times tags")
