"""The flags of one user: for frontend tokens, and for admin tokens."""

from tests.access import Arguments

TABLE = """
    route                                       project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/frontend                           -        403    403  403     403   403  200    403     200       401       2
    POST /api/frontend                          -        403    403  403     403   403  200    403     200       401       2
    GET /api/frontend/all                       -        403    403  403     403   403  200    403     200       401       2
    POST /api/frontend/all                      -        403    403  403     403   403  200    403     200       401       2
    GET /api/frontend/features/<feature_name>   -        403    403  403     403   403  200    403     200       401       2
    POST /api/frontend/features/<feature_name>  -        403    403  403     403   403  200    403     200       401       2
"""
ARGUMENTS = Arguments(words={"*": {"feature_name": "flag-of-default"}})
