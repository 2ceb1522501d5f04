"""Users: for administrators. Every user may search for them."""

from tests.access import Arguments
from tests.support.world import Caller, World

TABLE = """
    route                                                 project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/user-admin                             -        200    403  403     403   403  200    403     403       401       2
    POST /api/admin/user-admin                            -        201    403  403     403   403  201    403     403       401       11
    GET /api/admin/user-admin/search                      -        200    200  200     200   200  200    403     403       401       2
    GET /api/admin/user-admin/access                      -        200    200  200     200   200  200    403     403       401       2
    GET /api/admin/user-admin/admin-count                 -        200    403  403     403   403  200    403     403       401       2
    POST /api/admin/user-admin/reset-password             -        200    403  403     403   403  200    403     403       401       7
    POST /api/admin/user-admin/validate-password          -        200    200  200     200   200  200    403     403       401       1
    GET /api/admin/user-admin/<user_id>                   -        200    403  403     403   403  200    403     403       401       2
    GET /api/admin/user-admin/<user_id>/permissions       -        200    403  403     403   403  200    403     403       401       2
    PUT /api/admin/user-admin/<user_id>                   -        200    403  403     403   403  200    403     403       401       9
    DELETE /api/admin/user-admin/<user_id>/sessions       -        200    403  403     403   403  200    403     403       401       5
    DELETE /api/admin/user-admin/<user_id>                -        200    403  403     403   403  200    403     403       401      12
    POST /api/admin/user-admin/<user_id>/change-password  -        200    403  403     403   403  200    403     403       401       8
"""


def prepare(world: World, cast: dict[str, Caller]) -> Arguments:  # noqa: ARG001
    """Ida, of whom all this is asked."""
    return Arguments(
        words={"*": {"user_id": world.user("Ida").id}},
        bodies={"POST /api/admin/user-admin/reset-password": {"id": "ida"}},
        queries={"GET /api/admin/user-admin/search": "?q=ida"},
    )
