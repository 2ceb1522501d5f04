"""Flags to evaluate in tests."""

from typing import Any

from tests.support.world import World

Json = dict[str, Any]


def switched_on(
    world: World, flag: str = "f", project: str = "default", strategy: Json | None = None, **fields: Any
) -> int:
    """A flag that is on in development, with a strategy (default, unless it has a name) if one is given."""
    flag_id = world.flag(flag, project, enabled_in=("development",), **fields)
    if strategy is not None:
        world.strategy(flag_id, **{"name": "default", **strategy})
    return flag_id


def one_of(field: str, *values: str) -> Json:
    """A strategy for contexts in which the field has one of these values."""
    return {"constraints": [{"contextName": field, "operator": "IN", "values": list(values)}]}


def rollout(percentage: int, stickiness: str) -> Json:
    """A gradual rollout."""
    parameters = {"rollout": str(percentage), "stickiness": stickiness, "groupId": "g"}
    return {"name": "flexibleRollout", "parameters": parameters}


def addresses(text: str) -> Json:
    """A strategy for these addresses of clients."""
    return {"name": "remoteAddress", "parameters": {"IPs": text}}
