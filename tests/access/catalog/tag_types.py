"""Types of tags: every user reads them, editors change them."""

from tests.access import Arguments

TABLE = """
    route                               project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/tag-types            -        200    200  200     200   200  200    403     403       401       2
    POST /api/admin/tag-types           -        201    201  403     403   403  201    403     403       401       5
    POST /api/admin/tag-types/validate  -        200    200  200     200   200  200    403     403       401       2
    GET /api/admin/tag-types/<name>     -        200    200  200     200   200  200    403     403       401       2
    PUT /api/admin/tag-types/<name>     -        200    200  403     403   403  200    403     403       401       6
    DELETE /api/admin/tag-types/<name>  -        200    200  403     403   403  200    403     403       401       6
"""
ARGUMENTS = Arguments(words={"*": {"name": "simple"}})
