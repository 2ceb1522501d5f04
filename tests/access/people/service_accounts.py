"""Service accounts: for administrators."""

from sql.database import value
from tests.access import Arguments
from tests.support.world import Caller, World

TABLE = """
    route                                                            project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/service-account                                   -        200    403  403     403   403  200    403     403       401       2
    POST /api/admin/service-account                                  -        201    403  403     403   403  201    403     403       401       7
    PUT /api/admin/service-account/<account_id>                      -        200    403  403     403   403  200    403     403       401       8
    DELETE /api/admin/service-account/<account_id>                   -        200    403  403     403   403  200    403     403       401      11
    GET /api/admin/service-account/<account_id>/token                -        200    403  403     403   403  200    403     403       401       2
    POST /api/admin/service-account/<account_id>/token               -        201    403  403     403   403  201    403     403       401       9
    DELETE /api/admin/service-account/<account_id>/token/<token_id>  -        200    403  403     403   403  200    403     403       401       6
"""


def prepare(world: World, cast: dict[str, Caller]) -> Arguments:  # noqa: ARG001
    """A service account with a token."""
    robot = world.user("Robot", email=None, account_type="Service Account").id
    token = value(world.conn, "SELECT id FROM personal_tokens WHERE user_id = %(id)s", {"id": robot})
    return Arguments(words={"*": {"account_id": robot, "token_id": token}})
