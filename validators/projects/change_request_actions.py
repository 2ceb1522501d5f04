"""The payloads of proposed changes: bodies of direct operations, some with the id of what they change."""

from validators import Body
from validators.catalog.segments import SEGMENT, UpdateSegment
from validators.fields import Boolean, Integer, Nested, Text
from validators.flags.strategies import STRATEGY, StrategyChange, Variants
from validators.flags.variants import Variant
from validators.returned import ReadOnly

SwitchChange = Body.from_dict(
    {"enabled": Boolean(required=True), "shouldActivateDisabledStrategies": Boolean(load_default=False)}
)
StrategyId = Body.from_dict({"id": Text(required=True)})
SegmentId = Body.from_dict({"id": Integer(min=1, required=True)})
ProposedVariants = Body.from_dict({"variants": Variants(Nested(Variant), required=True)})


class ProposedStrategy(StrategyChange):
    """Update a strategy."""

    class Meta(Body.Meta):
        include = STRATEGY.in_change("id")

    id = Text(required=True)


class ProposedSegment(UpdateSegment):
    """Update a segment."""

    class Meta(Body.Meta):
        # Our choice: a change request does not move a segment to another project.
        include = SEGMENT.in_change("id") | {"project": ReadOnly("PUT /api/admin/segments/{id}", "segment")}

    id = Integer(min=1, required=True)
