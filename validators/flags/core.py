"""Flags: what may be asked of them (neighbours.md 3.12)."""

from collections.abc import Mapping
from typing import Any, ClassVar

from marshmallow import ValidationError, post_load

from validators import Body, Query
from validators.fields import DESCRIPTION_MAX, Anything, Boolean, ListOf, Name, Nested, OneOf, Text
from validators.repeated import Repeated
from validators.vocabulary.tags import Tag

TYPES = frozenset({"experiment", "kill-switch", "release", "operational", "permission"})
WHAT_TYPES = "experiment, kill-switch, release, operational or permission"
# Our choice: so many at once, because each event tells of all tags that the flag has by then.
MOST_TAGS = 100


class CreateFlag(Body):
    """A new flag."""

    example: ClassVar[dict[str, Any]] = {
        "name": "new-checkout",
        "type": "release",
        "description": "The checkout on one page.",
        "impressionData": False,
        "tags": [{"type": "simple", "value": "checkout"}],
    }

    name = Name(required=True, metadata={"description": "Name, unique in the whole instance, archived flags included."})
    type = OneOf(TYPES, WHAT_TYPES, load_default="release", metadata={"description": "What kind of flag it is."})
    description = Text(max=DESCRIPTION_MAX, allow_none=True, load_default=None, metadata={"description": "What it is for."})
    impressionData = Boolean(load_default=False, metadata={"description": "Whether SDKs tell when it is asked for."})
    tags = ListOf(Nested(Tag), max=MOST_TAGS, what="tags", load_default=list, metadata={"description": "Its first tags."})


class UpdateFlag(Body):
    """What a flag says of itself; what is absent stays."""

    example: ClassVar[dict[str, Any]] = {"description": "The checkout on one page.", "type": "experiment", "stale": False}

    name = Text(metadata={"description": "The name that it has: it cannot be renamed."})
    type = OneOf(TYPES, WHAT_TYPES, metadata={"description": "What kind of flag it is."})
    description = Text(max=DESCRIPTION_MAX, allow_none=True, metadata={"description": "What it is for."})
    stale = Boolean(metadata={"description": "Whether it is marked stale."})
    impressionData = Boolean(metadata={"description": "Whether SDKs tell when it is asked for."})
    archived = Anything(metadata={"description": "Has no effect."})
    createdAt = Anything(metadata={"description": "Has no effect."})
    project = Anything(metadata={"description": "Has no effect."})

    @post_load
    def without_idle(self, asked: dict[str, Any], **_: Any) -> dict[str, Any]:
        """What clients send back because they were given it is dropped."""
        return {key: value for key, value in asked.items() if key not in ("archived", "createdAt", "project")}


class FlagNames(Body):
    """Some flags of a project."""

    example: ClassVar[dict[str, Any]] = {"features": ["new-checkout", "old-checkout"]}

    features = ListOf(Name(), required=True, what="names", metadata={"description": "Names of the flags."})


class StaleFlags(FlagNames):
    """Some flags of a project, and whether they are stale."""

    example: ClassVar[dict[str, Any]] = {"features": ["new-checkout", "old-checkout"], "stale": True}

    stale = Boolean(required=True, metadata={"description": "true marks them stale, false takes the mark away."})


class CloneFlag(Body):
    """A copy of a flag."""

    example: ClassVar[dict[str, Any]] = {"name": "newer-checkout", "replaceGroupId": True}

    name = Name(required=True, metadata={"description": "Name of the copy, unique in the whole instance, archived flags included."})
    replaceGroupId = Boolean(
        load_default=True,
        metadata={"description": "Whether strategies get the name of the copy as their group, so that it has users of its own."},
    )


class MoveFlag(Body):
    """Where a flag is to go."""

    example: ClassVar[dict[str, Any]] = {"newProjectId": "shop"}

    newProjectId = Name(required=True, metadata={"description": "Id of the project that it goes to."})


class TagFilter(Text):
    """type:value, as the pair of them."""

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> Any:
        type, colon, text = super()._deserialize(value, attr, data, **kwargs).partition(":")
        if not colon:
            raise ValidationError("must look like simple:beta, a type and a value")
        return type, text


class FlagFilters(Query):
    """The query parameters of the list of a project's flags."""

    unsaid: ClassVar[str] = "a type and a value"

    tag = Repeated(
        TagFilter(), metadata={"description": "A tag such as simple:beta. Given several times, flags with any of them are listed."}
    )
    namePrefix = Text(load_default="", metadata={"description": "What the names of the flags begin with."})
