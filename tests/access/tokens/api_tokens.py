"""API tokens: for administrators. Editors may read the tokens of SDKs."""

from tests.access import Arguments
from tests.support.world import Caller, World

TABLE = """
    route                                             project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/api-tokens                         -        200    200  403     403   403  200    403     403       401       2
    GET /api/admin/api-tokens/<slashed:api_token>     -        200    200  403     403   403  200    403     403       401       2
    POST /api/admin/api-tokens                        -        201    403  403     403   403  201    403     403       401       11
    PUT /api/admin/api-tokens/<slashed:api_token>     -        200    403  403     403   403  200    403     403       401       8
    DELETE /api/admin/api-tokens/<slashed:api_token>  -        200    403  403     403   403  200    403     403       401       8
"""


def prepare(world: World, cast: dict[str, Caller]) -> Arguments:  # noqa: ARG001
    """The token of an SDK."""
    bodies = {
        "POST /api/admin/api-tokens": {"type": "client", "tokenName": "a new token"},
        "PUT /api/admin/api-tokens/<slashed:api_token>": {"expiresAt": "2099-12-31T00:00:00Z"},
    }
    return Arguments(words={"*": {"api_token": world.api_key("client").key}}, bodies=bodies)
