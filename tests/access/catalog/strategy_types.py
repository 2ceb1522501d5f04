"""Types of strategies: every user reads them, editors change them."""

from tests.access import Arguments
from tests.support.world import Caller, World

TABLE = """
    route                                         project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/strategies                     -        200    200  200     200   200  200    403     403       401       2
    POST /api/admin/strategies                    -        201    201  403     403   403  201    403     403       401       5
    GET /api/admin/strategies/<name>              -        200    200  200     200   200  200    403     403       401       2
    PUT /api/admin/strategies/<name>              -        200    200  403     403   403  200    403     403       401       6
    DELETE /api/admin/strategies/<name>           -        200    200  403     403   403  200    403     403       401       7
    POST /api/admin/strategies/<name>/deprecate   -        200    200  403     403   403  200    403     403       401       6
    POST /api/admin/strategies/<name>/reactivate  -        200    200  403     403   403  200    403     403       401       4
"""


def prepare(world: World, cast: dict[str, Caller]) -> Arguments:  # noqa: ARG001
    """A custom type."""
    world.conn.execute("INSERT INTO strategy_types (name) VALUES ('byHost')")
    bodies = {"POST /api/admin/strategies": {"name": "byShop", "parameters": []}}
    return Arguments(words={"*": {"name": "byHost"}}, bodies=bodies)
