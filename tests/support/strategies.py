"""A constraint, variants, and a flag with tags for the tests of strategies."""

from typing import Any

from tests.support import fixtures
from tests.support.world import World

CONSTRAINT = {
    "contextName": "userId",
    "operator": "IN",
    "values": ["7", "3"],
    "inverted": True,
    "caseInsensitive": False,
}
VARIANTS = [
    {
        "name": "blue",
        "weight": 500,
        "weightType": "variable",
        "stickiness": "userId",
        "payload": {"type": "json", "value": "[1]"},
    },
    {"name": "red", "weight": 500, "weightType": "variable", "stickiness": "default"},
]


def tagged_flag(world: World, **fields: Any) -> int:
    """Flag f of project default, with a tag."""
    flag = world.flag("f", **fields)
    fixtures.tag(world.conn, flag, "simple", "beta")
    return flag
