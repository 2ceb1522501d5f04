"""Environments: every user sees them, administrators change them."""

from sql.catalog import environments
from tests.access import Arguments
from tests.support.world import Caller, World

TABLE = """
    route                                      project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/environments                -        200    200  200     200   200  200    403     403       401       2
    GET /api/admin/environments/<name>         -        200    200  200     200   200  200    403     403       401       2
    POST /api/admin/environments               -        201    403  403     403   403  201    403     403       401       8
    POST /api/admin/environments/validate      -        200    403  403     403   403  200    403     403       401       2
    POST /api/admin/environments/<name>/clone  -        200    403  403     403   403  200    403     403       401       15
    PUT /api/admin/environments/update/<name>  -        200    403  403     403   403  200    403     403       401       7
    DELETE /api/admin/environments/<name>      -        200    403  403     403   403  200    403     403       401       10
    POST /api/admin/environments/<name>/on     -        204    403  403     403   403  204    403     403       401       4
    POST /api/admin/environments/<name>/off    -        204    403  403     403   403  204    403     403       401       6
    PUT /api/admin/environments/sort-order     -        200    403  403     403   403  200    403     403       401       6
"""


def prepare(world: World, cast: dict[str, Caller]) -> Arguments:  # noqa: ARG001
    """An environment that is to be changed, and one that is to be made."""
    environments.insert(world.conn, "staging", "preproduction")
    bodies = {
        "POST /api/admin/environments": {"name": "qa", "type": "test"},
        "POST /api/admin/environments/validate": {"name": "qa"},
        "POST /api/admin/environments/<name>/clone": {"name": "qa", "type": "test"},
        "PUT /api/admin/environments/update/<name>": {"type": "test"},
        "PUT /api/admin/environments/sort-order": {"staging": 7},
    }
    return Arguments(words={"*": {"name": "staging"}}, bodies=bodies)
