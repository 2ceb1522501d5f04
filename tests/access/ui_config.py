"""What a web UI needs to know is open to every user."""

TABLE = """
    route                     project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/ui-config  -        200    200  200     200   200  200    403     403       401       1
"""
