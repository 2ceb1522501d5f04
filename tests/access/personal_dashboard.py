"""The personal dashboard: for every user. API tokens have none."""

TABLE = """
    route                                              project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/personal-dashboard                  -        200    200  200     200   200  403    403     403       401       2
    GET /api/admin/personal-dashboard/<project_id>      default  200    200  200     200   200  403    403     403       401       2
    GET /api/admin/personal-dashboard/<project_id>      hermes   200    200  200     200   200  403    403     403       401       -
    GET /api/admin/personal-dashboard/<project_id>      apollo   200    200  404     200   200  403    403     403       401       -
    GET /api/admin/personal-dashboard/<project_id>      nowhere  404    404  404     404   404  403    403     403       401       -
"""
