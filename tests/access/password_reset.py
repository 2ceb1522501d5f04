"""Setting a password by a link is open to the world."""

from sql.people import reset_tokens
from tests.access import Arguments
from tests.support.world import PASSWORD, Caller, World

TABLE = """
    route                               project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /auth/reset/validate            -        200    200  200     200   200  200    200     200       200       6
    POST /auth/reset/password           -        200    200  200     200   200  200    200     200       200       14
    POST /auth/reset/password-email     -        200    200  200     200   200  200    200     200       200       5
    POST /auth/reset/validate-password  -        200    200  200     200   200  200    200     200       200       5
"""


def prepare(world: World, cast: dict[str, Caller]) -> Arguments:  # noqa: ARG001
    """A link of Ida."""
    token = reset_tokens.insert(world.conn, world.user("Ida").id or 0, "alice")
    return Arguments(
        bodies={"POST /auth/reset/password": {"token": token, "password": PASSWORD}},
        queries={"GET /auth/reset/validate": f"?token={token}"},
    )
