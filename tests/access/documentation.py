"""The documentation is open to the world."""

# What its page is made of is in none of these: its address has a version in it.
TABLE = """
    route              project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /openapi.json  -        200    200  200     200   200  200    200     200       200       0
    GET /docs          -        200    200  200     200   200  200    200     200       200       0
"""
