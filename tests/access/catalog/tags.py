"""Tags: every user reads them. Users who may change flags change them."""

from tests.access import Arguments
from tests.support.world import Caller, World

TABLE = """
    route                                           project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/tags                             -        200    200  200     200   200  200    403     403       401       2
    GET /api/admin/tags/<type>                      -        200    200  200     200   200  200    403     403       401       2
    POST /api/admin/tags                            -        201    201  403     201   201  201    403     403       401       7
    GET /api/admin/tags/<type>/<anything:value>     -        200    200  200     200   200  200    403     403       401       2
    DELETE /api/admin/tags/<type>/<anything:value>  -        200    200  403     200   200  200    403     403       401       7
"""


def prepare(world: World, cast: dict[str, Caller]) -> Arguments:  # noqa: ARG001
    """A tag that no flag has."""
    world.conn.execute("INSERT INTO tags (type, value) VALUES ('simple', 'beta')")
    bodies = {"POST /api/admin/tags": {"type": "simple", "value": "gamma"}}
    return Arguments(words={"*": {"type": "simple", "value": "beta"}}, bodies=bodies)
