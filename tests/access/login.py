"""Logging in is open to the world."""

import bcrypt

from tests.access import Arguments
from tests.support.world import PASSWORD, Caller, World

TABLE = """
    route                                project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    POST /auth/simple/login              -        200    200  200     200   200  200    200     200       200       16
    GET /api/admin/auth/simple/settings  -        200    403  403     403   403  200    403     403       401       1
"""


def prepare(world: World, cast: dict[str, Caller]) -> Arguments:  # noqa: ARG001
    """Ida, who has a password."""
    world.user("Ida", password_hash=bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode())
    return Arguments(bodies={"POST /auth/simple/login": {"username": "ida", "password": PASSWORD}})
