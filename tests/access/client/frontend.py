"""The flags of one user: for frontend tokens, and for admin tokens."""

TABLE = """
    route               project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/frontend   -        403    403  403     403   403  200    403     200       401       2
    POST /api/frontend  -        403    403  403     403   403  200    403     200       401       2
"""
