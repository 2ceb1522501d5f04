"""The search for flags: every user finds the flags that they may see."""

TABLE = """
    route                           project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/search/features  -        200    200  200     200   200  200    403     403       401       2
"""
