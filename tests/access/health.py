"""Whether the service lives and can serve is open to the world."""

TABLE = """
    route        project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /health  -        200    200  200     200   200  200    200     200       200       0
    GET /ready   -        200    200  200     200   200  200    200     200       200       2
"""
