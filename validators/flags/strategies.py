"""What a strategy may be (neighbours.md 1.5 and 3.13)."""

from collections.abc import Mapping
from typing import Any, ClassVar

from marshmallow import ValidationError, post_load

from validators import Body
from validators.fields import BIGINT_MAX, TITLE_MAX, Anything, Boolean, Integer, ListOf, Nested, ObjectOf, Text
from validators.flags.variants import StrategyVariant, balanced
from validators.vocabulary.constraints import Constraint

SORT_ORDER_MAX = 2**31 - 1


class ParameterValue(Text):
    """A text; of a number or a boolean, its text as JSON writes it (scripts send numbers, and SDKs take nothing but text)."""

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, (int, float)):
            # Infinity too, as which Python reads 1e400.
            if abs(value) > BIGINT_MAX:
                raise ValidationError("must not be a number that is too large")
            return str(int(value)) if value == int(value) else repr(value)
        if not isinstance(value, str):
            raise ValidationError("must be a string, a number or a boolean")
        return super()._deserialize(value, attr, data, **kwargs)


class Variants(ListOf):
    """A list of variants, as they are kept: by name, with weights that make a thousand."""

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> list[Any]:
        return balanced(super()._deserialize(value, attr, data, **kwargs))


class StrategyInput(Body):
    """A new strategy."""

    example: ClassVar = {"name": "flexibleRollout", "parameters": {"rollout": "25", "stickiness": "default", "groupId": "new-checkout"}}
    unsaid: ClassVar = "a name twice|weightType variable|fixed weights"

    name = Text(min=1, max=100, required=True, metadata={"description": "Name of the type of strategy."})
    title = Text(max=TITLE_MAX, allow_none=True, load_default=None, metadata={"description": "A title for people."})
    disabled = Boolean(allow_none=True, load_default=False, metadata={"description": "A disabled strategy is not evaluated."})
    sortOrder = Integer(min=0, max=SORT_ORDER_MAX, metadata={"description": "Position in the list; one behind the last if absent."})
    constraints = ListOf(Nested(Constraint), load_default=list, metadata={"description": "Conditions, all of which must hold."})
    variants = Variants(Nested(StrategyVariant), load_default=list, metadata={"description": "Variants of the strategy."})
    parameters = ObjectOf(ParameterValue(), load_default=dict, metadata={"description": "Parameters by their names."})
    segments = ListOf(Integer(min=1), load_default=list, metadata={"description": "Ids of segments."})

    @post_load
    def clean(self, asked: dict[str, Any], **_: Any) -> dict[str, Any]:
        """disabled null means false; a segment given twice is given once."""
        return asked | {"disabled": bool(asked["disabled"]), "segments": sorted(set(asked["segments"]))}


class StrategyChange(Body):
    """A change of a strategy: constraints and variants that are absent are none, anything else that is absent stays as it is."""

    example: ClassVar = {"parameters": {"rollout": "50"}, "constraints": [{"contextName": "country", "operator": "IN", "values": ["NO"]}]}
    unsaid: ClassVar = StrategyInput.unsaid

    name = Text(min=1, max=100, metadata={"description": "Name of the type of strategy."})
    title = Text(max=TITLE_MAX, allow_none=True, metadata={"description": "A title for people."})
    disabled = Boolean(allow_none=True, metadata={"description": "A disabled strategy is not evaluated."})
    constraints = ListOf(Nested(Constraint), load_default=list, metadata={"description": "Conditions, all of which must hold."})
    variants = Variants(Nested(StrategyVariant), load_default=list, metadata={"description": "Variants of the strategy."})
    parameters = ObjectOf(ParameterValue(), metadata={"description": "Parameters by their names."})
    segments = ListOf(Integer(min=1), metadata={"description": "Ids of segments."})
    id = Anything(metadata={"description": "Ignored; the address says it."})
    featureName = Anything(metadata={"description": "Ignored; the address says it."})
    sortOrder = Anything(metadata={"description": "Ignored; there is an operation of its own for the order."})

    @post_load
    def clean(self, asked: dict[str, Any], **_: Any) -> dict[str, Any]:
        """What is to be changed."""
        asked = {key: word for key, word in asked.items() if key not in ("id", "featureName", "sortOrder")}
        if "disabled" in asked:
            asked["disabled"] = bool(asked["disabled"])
        return asked | ({"segments": sorted(set(asked["segments"]))} if "segments" in asked else {})


# Our choice: each of the three that is missing is filled in, not only when all are.
def with_defaults(name: str, parameters: Mapping[str, str], *, flag: str, stickiness: str) -> dict[str, str]:
    """The parameters of a strategy of this type for this flag, with what a gradual rollout cannot do without; stickiness: the project's."""
    filled = dict(parameters)
    if name == "flexibleRollout":
        for key, word in (("rollout", "100"), ("groupId", flag), ("stickiness", stickiness)):
            filled.setdefault(key, word)
        filled["stickiness"] = filled["stickiness"] or "default"
    return filled
