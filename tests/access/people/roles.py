"""Roles and permissions: every user reads them, administrators change them."""

from sql.people import roles
from tests.access import Arguments
from tests.support.world import Caller, World

TABLE = """
    route                                           project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/permissions                      -        200    200  200     200   200  200    403     403       401       2
    GET /api/admin/roles                            -        200    403  403     403   403  200    403     403       401       2
    GET /api/admin/roles/<role_id>                  -        200    403  403     403   403  200    403     403       401       2
    POST /api/admin/roles                           -        200    403  403     403   403  200    403     403       401       9
    POST /api/admin/roles/validate                  -        200    403  403     403   403  200    403     403       401       3
    GET /api/admin/projects/roles/<role_id>/access  -        200    403  403     403   403  200    403     403       401       2
    PUT /api/admin/roles/<role_id>                  -        200    403  403     403   403  200    403     403       401       11
    DELETE /api/admin/roles/<role_id>               -        200    403  403     403   403  200    403     403       401       8
"""


def prepare(world: World, cast: dict[str, Caller]) -> Arguments:  # noqa: ARG001
    """A role that no user has."""
    return Arguments(words={"*": {"role_id": roles.insert(world.conn, "A role")}})
