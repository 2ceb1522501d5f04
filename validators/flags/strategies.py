"""Requests about strategies."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from marshmallow import ValidationError, post_load

from validators import Body, read
from validators.catalog.constraints import Constraint
from validators.fields import BIGINT_MAX, TITLE_MAX, Boolean, Integer, ListOf, Nested, ObjectOf, Position, Text
from validators.flags.json_patch import PatchOperation, patched_properties
from validators.flags.variants import StrategyVariant, balanced
from validators.returned import UNLEASH_ONLY, ResponseOnly

PATH = "/api/admin/projects/{projectId}/features/{featureName}/environments/{environment}/strategies"
STRATEGY = ResponseOnly(
    "strategy",
    ignored=("id", *UNLEASH_ONLY["strategy"]),
    read_only={"featureName": "", "sortOrder": f"POST {PATH}/set-sort-order"},
)
DISABLED = "Whether the strategy is disabled. SDKs do not evaluate disabled strategies."
CHANGEABLE = ("name", "title", "disabled", "constraints", "variants", "parameters", "segments")


class ParameterValue(Text):
    """A string, number or boolean, loaded as a string. Scripts send all three, but SDKs accept only strings."""

    def load_value(self, value: Any) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, (int, float)):
            # Python reads 1e400 as Infinity, which is refused here too.
            if abs(value) > BIGINT_MAX:
                raise ValidationError(f"must be a number from -{BIGINT_MAX} to {BIGINT_MAX}")
            return str(int(value)) if value == int(value) else repr(value)
        if not isinstance(value, str):
            raise ValidationError("must be a string, a number or a boolean")
        return super().load_value(value)


class Parameters(ObjectOf):
    """The parameters of a strategy, by name. null means that a parameter is omitted."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(ParameterValue(), description="Parameters by name.", **kwargs)

    def load_value(self, value: Any) -> dict[str, Any]:
        if isinstance(value, dict):
            value = {name: text for name, text in value.items() if text is not None}
        return super().load_value(value)


class Variants(ListOf):
    """A list of variants, sorted by name, with weights that add up to 1000."""

    def load_value(self, value: Any) -> list[Any]:
        return balanced(super().load_value(value))


class StrategyInput(Body):
    """Body of a new strategy."""

    class Meta(Body.Meta):
        include = STRATEGY.in_new("sortOrder")

    example: ClassVar = {
        "name": "flexibleRollout",
        "parameters": {"rollout": "25", "stickiness": "default", "groupId": "new-checkout"},
    }
    beyond_json_schema: ClassVar = "a name twice|weightType variable|fixed weights"

    name = Text(min=1, max=100, required=True, description="Name of the strategy type.")
    title = Text(max=TITLE_MAX, allow_none=True, load_default=None, description="Title to show to people.")
    disabled = Boolean(allow_none=True, load_default=False, description=DISABLED)
    sortOrder = Position(description="Position in the list. By default, after the last strategy.")
    constraints = ListOf(Nested(Constraint), load_default=list, description="Constraints. All of them must be true.")
    variants = Variants(Nested(StrategyVariant), load_default=list, description="Variants of the strategy.")
    parameters = Parameters(load_default=dict)
    segments = ListOf(Integer(min=1), load_default=list, description="Ids of the segments.")

    @post_load
    def clean(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Treat null for disabled as false, and remove repeated segments."""
        return data | {"disabled": bool(data["disabled"]), "segments": sorted(set(data["segments"]))}


class StrategyChange(Body):
    """Body of an update of a strategy.

    Omitted constraints and variants are removed. Other omitted properties keep their values, and so does null.
    """

    class Meta(Body.Meta):
        include = STRATEGY.in_change()

    example: ClassVar = {
        "parameters": {"rollout": "50"},
        "constraints": [{"contextName": "country", "operator": "IN", "values": ["NO"]}],
    }
    beyond_json_schema: ClassVar = StrategyInput.beyond_json_schema

    name = Text(min=1, max=100, description="Name of the strategy type.")
    title = Text(max=TITLE_MAX, allow_none=True, description="Title to show to people.")
    disabled = Boolean(allow_none=True, description=DISABLED)
    constraints = ListOf(
        Nested(Constraint),
        load_default=list,
        allow_none=True,
        description="Constraints. All of them must be true. null changes nothing.",
    )
    variants = Variants(
        Nested(StrategyVariant),
        load_default=list,
        allow_none=True,
        description="Variants of the strategy. null changes nothing.",
    )
    parameters = Parameters()
    segments = ListOf(Integer(min=1), description="Ids of the segments.")

    @post_load
    def clean(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Return the changed properties."""
        data = {name: value for name, value in data.items() if value is not None or name in ("title", "disabled")}
        if "disabled" in data:
            data["disabled"] = bool(data["disabled"])
        return data | ({"segments": sorted(set(data["segments"]))} if "segments" in data else {})


class StrategyPatch(PatchOperation):
    """One step of a patch of a strategy."""

    example: ClassVar[dict[str, Any]] = {"op": "replace", "path": "/title", "value": "A quarter of all users"}


class PatchedStrategy(StrategyInput):
    """The result of a patch of a strategy. null is a value here, and does not mean omitted."""

    drops_nulls: ClassVar[bool] = False


# Our choice: a patch that removes a property resets it to its default.
def patched_strategy(record: Mapping[str, Any], operations: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Apply a JSON Patch to a strategy. Return what StrategyInput loads, or raise ValidationError."""
    result = patched_properties(record, operations, CHANGEABLE, UNLEASH_ONLY["strategy"])
    return read(PatchedStrategy(), result, lambda: record)


# Our choice: each omitted parameter gets its default, even if others are given.
def with_defaults(name: str, parameters: Mapping[str, str], *, flag: str, stickiness: str) -> dict[str, str]:
    """Return the parameters with defaults if the type is flexibleRollout. stickiness: of the project."""
    filled = dict(parameters)
    if name == "flexibleRollout":
        for parameter, value in (("rollout", "100"), ("groupId", flag), ("stickiness", stickiness)):
            filled.setdefault(parameter, value)
        filled["stickiness"] = filled["stickiness"] or "default"
    return filled
