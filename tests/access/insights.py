"""Who may see the insights: every user, what he may see of them."""

TABLE = """
    route                    project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/insights  -        200    200  200     200   200  200    403     403       401       2
"""
