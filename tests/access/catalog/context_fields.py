"""Context fields: every user reads them, editors change them."""

from sql.catalog import context_fields
from tests.access import Arguments
from tests.support.world import Caller, World

TABLE = """
    route                                                                 project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/context                                                -        200    200  200     200   200  200    403     403       401       2
    GET /api/admin/projects/<project_id>/context                          default  200    200  200     200   200  200    403     403       401       1
    GET /api/admin/projects/<project_id>/context                          hermes   200    200  200     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/context                          apollo   200    200  404     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/context                          nowhere  404    404  404     404   404  404    403     403       401       -
    POST /api/admin/context                                               -        201    201  403     403   403  201    403     403       401       6
    POST /api/admin/context/validate                                      -        200    200  403     403   403  200    403     403       401       2
    GET /api/admin/context/<name>                                         -        200    200  200     200   200  200    403     403       401       2
    PUT /api/admin/context/<name>                                         -        200    200  403     403   403  200    403     403       401       7
    DELETE /api/admin/context/<name>                                      -        200    200  403     403   403  200    403     403       401       7
    GET /api/admin/context/<name>/strategies                              -        200    200  200     200   200  200    403     403       401       2
    POST /api/admin/context/<name>/legal-values                           -        200    200  403     403   403  200    403     403       401       6
    DELETE /api/admin/context/<name>/legal-values/<anything:legal_value>  -        200    200  403     403   403  200    403     403       401       6
"""


def prepare(world: World, cast: dict[str, Caller]) -> Arguments:  # noqa: ARG001
    """A legal value of the field userId."""
    field = context_fields.lock(world.conn, "userId") or {}
    context_fields.update(world.conn, field | {"legalValues": [{"value": "7"}]})
    return Arguments(words={"*": {"name": "userId", "legal_value": "7"}})
