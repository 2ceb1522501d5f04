"""Requests about flags."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from marshmallow import ValidationError

from validators import Body, Query, read
from validators.catalog.tags import Tag
from validators.fields import DESCRIPTION_MAX, Boolean, ListOf, Name, Nested, OneOf, Text
from validators.flags.json_patch import PatchOperation, patched_properties
from validators.query_fields import Repeated
from validators.returned import ResponseOnly

TYPES = frozenset({"experiment", "kill-switch", "release", "operational", "permission", "sunset"})
TYPE_WORDS = "experiment, kill-switch, release, operational, permission or sunset"
CHANGEABLE = ("type", "description", "stale", "impressionData")
# Our choice: a limit, because each event of a flag contains all tags of the flag.
MAX_TAGS = 100

PATH = "/api/admin/projects/{projectId}/features/{featureName}"
FLAG = ResponseOnly(
    "flag featureSearch",  # Search hits have dependencyType and segments.
    ignored=("createdAt", "archivedAt", "lastSeenAt", "lifecycle", "collaborators", "dependencyType", "segments"),
    read_only={
        "name": "",
        "project": f"POST {PATH}/changeProject",
        "enabled": f"POST {PATH}/environments/{{environment}}/on or POST {PATH}/environments/{{environment}}/off",
        "archived": f"DELETE {PATH}",
        "environments": f"POST {PATH}/environments/{{environment}}/strategies",
        "favorite": f"POST {PATH}/favorites or DELETE {PATH}/favorites",
        "tags": "POST /api/admin/features/{featureName}/tags",
        "children": f"POST {PATH}/dependencies",
        "dependencies": f"POST {PATH}/dependencies",
        "variants": f"PUT {PATH}/environments/{{environment}}/variants",
        "links": f"POST {PATH}/link",
        "createdBy": "",
    },
)


class CreateFlag(Body):
    """Body of a new flag."""

    class Meta(Body.Meta):
        include = FLAG.in_new("name", "tags")

    example: ClassVar[dict[str, Any]] = {
        "name": "new-checkout",
        "type": "release",
        "description": "The checkout on one page.",
        "impressionData": False,
        "tags": [{"type": "simple", "value": "checkout"}],
    }

    name = Name(
        required=True, description="Name of the flag. It must be unique in the instance, including archived flags."
    )
    type = OneOf(TYPES, TYPE_WORDS, load_default="release", description="Type of the flag.")
    description = Text(max=DESCRIPTION_MAX, allow_none=True, load_default=None, description="Description of the flag.")
    impressionData = Boolean(load_default=False, description="Whether SDKs report each evaluation of the flag.")
    stale = Boolean(load_default=False, description="Whether the flag is marked stale.")
    tags = ListOf(Nested(Tag), max=MAX_TAGS, what="tags", load_default=list, description="Tags of the flag.")


class NewFlagName(Body):
    """A name for a new flag, and the project whose naming pattern it must match."""

    example: ClassVar[dict[str, Any]] = {"name": "newest-checkout", "projectId": "default"}
    drops_empty: ClassVar[frozenset[str]] = frozenset({"projectId"})

    name = Name(required=True, description="Name to check.")
    projectId = Text(
        allow_none=True,
        load_default=None,
        description="Project whose naming pattern the name must match. Without one, or if empty: none.",
    )


class UpdateFlag(Body):
    """Body of an update of a flag. Omitted properties keep their values."""

    class Meta(Body.Meta):
        include = FLAG.in_change()

    example: ClassVar[dict[str, Any]] = {
        "description": "The checkout on one page.",
        "type": "experiment",
        "stale": False,
    }

    type = OneOf(TYPES, TYPE_WORDS, description="Type of the flag.")
    description = Text(max=DESCRIPTION_MAX, allow_none=True, description="Description of the flag.")
    stale = Boolean(description="Whether the flag is marked stale.")
    impressionData = Boolean(description="Whether SDKs report each evaluation of the flag.")


class FlagPatch(PatchOperation):
    """One step of a patch of a flag."""

    example: ClassVar[dict[str, Any]] = {"op": "replace", "path": "/description", "value": "The checkout on one page."}


class PatchedFlag(UpdateFlag):
    """The result of a patch of a flag. null is a value here, and does not mean omitted."""

    drops_nulls: ClassVar[bool] = False


# Our choice: a patch that removes the description sets it to null. The other properties cannot be removed.
def patched_flag(record: Mapping[str, Any], operations: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Apply a JSON Patch to a flag. Return what can change as UpdateFlag does, or raise ValidationError."""
    wanted = dict.fromkeys(CHANGEABLE) | patched_properties(record, operations, CHANGEABLE)
    return read(PatchedFlag(), wanted, lambda: record)


class FlagNames(Body):
    """Names of flags of a project."""

    example: ClassVar[dict[str, Any]] = {"features": ["new-checkout", "old-checkout"]}

    features = ListOf(Name(), required=True, what="names", description="Names of the flags.")


class StaleFlags(FlagNames):
    """Names of flags of a project, and whether they become stale."""

    example: ClassVar[dict[str, Any]] = {"features": ["new-checkout", "old-checkout"], "stale": True}

    stale = Boolean(required=True, description="Whether the flags become stale.")


class CloneFlag(Body):
    """Body of a clone of a flag."""

    example: ClassVar[dict[str, Any]] = {"name": "newer-checkout", "replaceGroupId": True}

    name = Name(
        required=True, description="Name of the copy. It must be unique in the instance, including archived flags."
    )
    replaceGroupId = Boolean(
        load_default=True,
        description="Whether the strategies get the name of the copy as groupId. "
        "Then the copy can be on for other users.",
    )


class MoveFlag(Body):
    """Body of a move of a flag."""

    example: ClassVar[dict[str, Any]] = {"newProjectId": "shop"}

    newProjectId = Name(required=True, description="Id of the new project.")


class TagFilter(Text):
    """A tag as type:value, loaded as a pair."""

    def load_value(self, value: Any) -> Any:
        type, colon, text = super().load_value(value).partition(":")
        if not colon:
            raise ValidationError("must look like simple:beta, a type and a value")
        return type, text


class FlagFilters(Query):
    """Query parameters of the list of flags of a project."""

    beyond_json_schema: ClassVar[str] = "a type and a value"

    tag = Repeated(
        TagFilter(),
        description="Tag, such as simple:beta. If several are given, flags with at least one of them are listed.",
    )
    namePrefix = Text(load_default="", description="Text at the start of the name.")
