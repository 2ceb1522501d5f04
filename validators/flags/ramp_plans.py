"""Requests about ramp plans."""

from typing import ClassVar

from validators import Body
from validators.catalog.constraints import Constraint
from validators.fields import TITLE_MAX, Boolean, DateTime, Integer, ListOf, Nested, NotBlank, Text
from validators.flags.strategies import DISABLED, Variants
from validators.flags.variants import StrategyVariant

# Our choice: the maximum number of steps of a plan.
MAX_STEPS = 10


class RampStep(Body):
    """A step of a plan."""

    example: ClassVar = {"percent": 50, "at": "2031-12-02T08:00:00Z"}

    percent = Integer(
        min=1,
        max=100,
        required=True,
        description="Share of users, more than that of the step before.",
    )
    at = DateTime(description="When the step begins, after the step before. By default, now.")


class RampPlan(Body):
    """A plan whose share of users rises in steps."""

    example: ClassVar = {
        "steps": [{"percent": 10}, {"percent": 50, "at": "2031-12-02T08:00:00Z"}],
        "until": "2031-12-24T22:00:00Z",
    }
    beyond_json_schema: ClassVar = "a name twice|weightType variable|fixed weights|steps|until|currentTime"

    steps = ListOf(Nested(RampStep), max=MAX_STEPS, what="steps", required=True, description="1 to 10 steps.")
    until = DateTime(description="When the plan ends, for everybody.")
    replaces = Text(description="Id of the strategy, or of any step of the plan, that this plan replaces.")
    title = NotBlank(max=TITLE_MAX, allow_none=True, description="Title to show to people.")
    disabled = Boolean(description=DISABLED)
    constraints = ListOf(Nested(Constraint), description="Constraints of all steps, besides their times.")
    variants = Variants(Nested(StrategyVariant), description="Variants of all steps.")
    segments = ListOf(Integer(min=1), description="Ids of the segments of all steps.")
    groupId = Text(description="By default, the name of the flag.")
    stickiness = Text(description="By default, the default stickiness of the project.")
