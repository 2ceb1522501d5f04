"""The account of the caller. The callers here use tokens, so the routes for sessions refuse them."""

import bcrypt

from rules.access import digest
from sql import sessions
from sql.database import value
from tests.access import Arguments
from tests.support.world import PASSWORD, Caller, World

TABLE = """
    route                                         project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    DELETE /api/admin/user/sessions/<session_id>  -        403    403  403     403   403  403    403     403       401       4
    GET /api/admin/user                           -        200    200  200     200   200  200    403     403       401       2
    GET /api/admin/user/profile                   -        200    200  200     200   200  403    403     403       401       2
    GET /api/admin/user/roles                     -        200    200  200     200   200  403    403     403       401       2
    POST /api/admin/user/change-password          -        403    403  403     403   403  403    403     403       401       14
    GET /logout                                   -        403    403  403     403   403  403    403     403       401       4
    POST /logout                                  -        403    403  403     403   403  403    403     403       401       4
    GET /api/admin/user/sessions                  -        200    200  200     200   200  403    403     403       401       2
    DELETE /api/admin/user/sessions               -        403    403  403     403   403  403    403     403       401       4
"""


def prepare(world: World, cast: dict[str, Caller]) -> Arguments:
    """Everybody's password, and another. Another session of Alice."""
    world.conn.execute(
        "UPDATE users SET password_hash = %s", [bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()]
    )
    change = {"password": f"another {PASSWORD}", "confirmPassword": f"another {PASSWORD}", "oldPassword": PASSWORD}
    queries = {"GET /api/admin/user/roles": "?projectId=default"}
    sessions.insert(world.conn, digest("another session of Alice"), cast["alice"].id or 0, 48)
    words = {"*": {"session_id": value(world.conn, "SELECT max(id) FROM sessions")}}
    return Arguments(words=words, bodies={"POST /api/admin/user/change-password": change}, queries=queries)
