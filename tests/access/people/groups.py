"""Groups: for administrators."""

from sql.people import groups
from tests.access import Arguments
from tests.support.world import Caller, World

TABLE = """
    route                                project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/groups                -        200    403  403     403   403  200    403     403       401       2
    POST /api/admin/groups               -        201    403  403     403   403  201    403     403       401       10
    GET /api/admin/groups/<group_id>     -        200    403  403     403   403  200    403     403       401       2
    PUT /api/admin/groups/<group_id>     -        200    403  403     403   403  200    403     403       401       12
    DELETE /api/admin/groups/<group_id>  -        200    403  403     403   403  200    403     403       401       8
"""


def prepare(world: World, cast: dict[str, Caller]) -> Arguments:  # noqa: ARG001
    """A group."""
    return Arguments(words={"*": {"group_id": groups.insert(world.conn, "A group")}})
