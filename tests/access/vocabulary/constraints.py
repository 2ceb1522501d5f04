"""Validation of constraints: for every user and admin token."""

from tests.access import Props
from tests.support.world import Caller, World

TABLE = """
    route                                 project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    POST /api/admin/constraints/validate  -        204    204  204     204   204  204    403     403       401       2
"""


def furnish(world: World, cast: dict[str, Caller]) -> Props:  # noqa: ARG001
    """A constraint."""
    return Props(
        bodies={"POST /api/admin/constraints/validate": {"contextName": "userId", "operator": "IN", "values": ["7"]}}
    )
