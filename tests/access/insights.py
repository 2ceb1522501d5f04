"""Insights: every user sees the projects that they may see."""

TABLE = """
    route                    project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/insights  -        200    200  200     200   200  200    403     403       401       2
"""
