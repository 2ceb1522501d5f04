"""OFREP: for all API tokens."""

from tests.access import Props
from tests.support.world import Caller, World

TABLE = """
    route                                          project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    POST /ofrep/v1/evaluate/flags                  -        403    403  403     403   403  200    200     200       401       2
    POST /ofrep/v1/evaluate/flags/<feature_name>   -        403    403  403     403   403  200    200     200       401       2
"""


def furnish(world: World, cast: dict[str, Caller]) -> Props:  # noqa: ARG001
    """The path has no project, so the words of its project are of no use."""
    return Props(words={"*": {"feature_name": "flag-of-default"}})
