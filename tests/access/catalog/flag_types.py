"""Types of flags: every user reads them, administrators change lifetimes."""

from tests.access import Arguments

TABLE = """
    route                                            project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/feature-types                     -        200    200  200     200   200  200    403     403       401       2
    PUT /api/admin/feature-types/<type_id>/lifetime  -        200    403  403     403   403  200    403     403       401       6
"""
ARGUMENTS = Arguments(words={"*": {"type_id": "release"}})
