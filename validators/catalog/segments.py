"""Requests about segments, and about the segments of a strategy."""

from typing import ClassVar

from validators import Body
from validators.catalog.constraints import Constraint
from validators.fields import DESCRIPTION_MAX, Integer, ListOf, Nested, Text, Trimmed
from validators.returned import ResponseOnly

SEGMENT = ResponseOnly(
    "segment usedSegment", ignored=("id", "createdAt", "usedInFeatures", "usedInProjects"), read_only={"createdBy": ""}
)


class UpdateSegment(Body):
    """Body of an update that replaces a segment, except that an omitted description keeps its value."""

    class Meta(Body.Meta):
        include = SEGMENT.in_change()

    example: ClassVar = {
        "name": "Beta testers",
        "description": "Users who can see unfinished features.",
        "constraints": [{"contextName": "userId", "operator": "IN", "values": ["7", "12"]}],
    }
    beyond_json_schema: ClassVar = Constraint.beyond_json_schema
    drops_empty: ClassVar = frozenset({"project"})

    name = Trimmed(min=1, max=255, required=True, description="Name of the segment. It must be unique.")
    description = Text(max=DESCRIPTION_MAX, allow_none=True, description="Description of the segment.")
    project = Text(
        allow_none=True,
        load_default=None,
        description="Id of the project that can use the segment. Without one, or if empty, all projects can.",
    )
    constraints = ListOf(Nested(Constraint), required=True, description="Constraints. All of them must be true.")


class CreateSegment(UpdateSegment):
    """Body of a new segment."""

    class Meta(Body.Meta):
        include = SEGMENT.in_new()


class SegmentName(Body):
    """Body of a check of a segment name."""

    example: ClassVar = {"name": "Beta testers"}

    name = Trimmed(min=1, max=255, required=True, description="Name to check.")


class GiveSegments(Body):
    """The segments of a strategy, which replace the present ones."""

    example: ClassVar = {
        "projectId": "default",
        "strategyId": "b4ad7b8a-3f5d-4a0c-9d6e-1c2b3a4d5e6f",
        "environmentId": "production",
        "segmentIds": [2, 5],
    }

    projectId = Text(required=True, description="Id of the project of the flag.")
    strategyId = Text(required=True, description="Id of the strategy.")
    environmentId = Text(required=True, description="Name of the environment of the strategy.")
    segmentIds = ListOf(Integer(min=1), required=True, description="Ids of the segments.")
