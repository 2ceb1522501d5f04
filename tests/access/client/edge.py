"""Whether tokens are valid is open to everybody who has them."""

TABLE = """
    route                project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    POST /edge/validate  -        200    200  200     200   200  200    200     200       200       1
"""
