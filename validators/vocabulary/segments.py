"""Segments, and which of them a strategy has (neighbours.md 3.16)."""

from typing import ClassVar

from validators import Body
from validators.fields import DESCRIPTION_MAX, Integer, ListOf, Nested, Text, Trimmed
from validators.vocabulary.constraints import Constraint


class SegmentInput(Body):
    """A segment as it is to be, whether it is new or not."""

    example: ClassVar = {
        "name": "Beta testers",
        "description": "Who may see what is not finished.",
        "constraints": [{"contextName": "userId", "operator": "IN", "values": ["7", "12"]}],
    }
    unsaid: ClassVar = Constraint.unsaid

    name = Trimmed(min=1, max=255, required=True, metadata={"description": "Name of the segment, unique in the instance."})
    description = Text(max=DESCRIPTION_MAX, allow_none=True, load_default=None, metadata={"description": "Whom the segment is for."})
    project = Text(
        allow_none=True, load_default=None, metadata={"description": "Id of the only project that can use it; absent or null: all can."}
    )
    constraints = ListOf(Nested(Constraint), required=True, metadata={"description": "Conditions, all of which must hold."})


class SegmentName(Body):
    """The name of a segment to be."""

    example: ClassVar = {"name": "Beta testers"}

    name = Trimmed(min=1, max=255, required=True, metadata={"description": "The name."})


class GiveSegments(Body):
    """The segments that a strategy is to have, in place of those that it has."""

    example: ClassVar = {
        "projectId": "default",
        "strategyId": "b4ad7b8a-3f5d-4a0c-9d6e-1c2b3a4d5e6f",
        "environmentId": "production",
        "segmentIds": [2, 5],
    }

    projectId = Text(required=True, metadata={"description": "Id of the flag's project."})
    strategyId = Text(required=True, metadata={"description": "Id of the strategy."})
    environmentId = Text(required=True, metadata={"description": "Name of the strategy's environment."})
    segmentIds = ListOf(Integer(min=1), required=True, metadata={"description": "Ids of the segments."})
