"""Personal access tokens: for users, not for API tokens. Tokens of other users do not exist."""

from sql.database import value
from tests.access import Arguments
from tests.support.world import Caller, World

TABLE = """
    route                                     project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/user/tokens                -        200    200  200     200   200  403    403     403       401       2
    POST /api/admin/user/tokens               -        201    201  201     201   201  403    403     403       401       8
    DELETE /api/admin/user/tokens/<token_id>  -        404    404  200     404   404  403    403     403       401       5
"""


def prepare(world: World, cast: dict[str, Caller]) -> Arguments:
    """The token that Victor uses."""
    token = value(world.conn, "SELECT id FROM personal_tokens WHERE user_id = %(id)s", {"id": cast["victor"].id})
    return Arguments(words={"*": {"token_id": token}})
