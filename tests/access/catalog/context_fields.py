"""Context fields: every user reads them, editors change them."""

from tests.access import Arguments

TABLE = """
    route                                     project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/context                    -        200    200  200     200   200  200    403     403       401       2
    POST /api/admin/context                   -        201    201  403     403   403  201    403     403       401       5
    POST /api/admin/context/validate          -        200    200  403     403   403  200    403     403       401       2
    GET /api/admin/context/<name>             -        200    200  200     200   200  200    403     403       401       2
    PUT /api/admin/context/<name>             -        200    200  403     403   403  200    403     403       401       6
    DELETE /api/admin/context/<name>          -        200    200  403     403   403  200    403     403       401       7
    GET /api/admin/context/<name>/strategies  -        200    200  200     200   200  200    403     403       401       2
"""
ARGUMENTS = Arguments(words={"*": {"name": "userId"}})
