"""Favorite flags: for users who see the flag, not for API tokens."""

TABLE = """
    route                                                                      project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    POST /api/admin/projects/<project_id>/features/<feature_name>/favorites    default  200    200  200     200   200  403    403     403       401       8
    POST /api/admin/projects/<project_id>/features/<feature_name>/favorites    hermes   200    200  200     200   200  403    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/favorites    apollo   200    200  404     200   200  403    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/favorites    nowhere  404    404  404     404   404  403    403     403       401       -
    DELETE /api/admin/projects/<project_id>/features/<feature_name>/favorites  default  200    200  200     200   200  403    403     403       401       6
    DELETE /api/admin/projects/<project_id>/features/<feature_name>/favorites  hermes   200    200  200     200   200  403    403     403       401       -
    DELETE /api/admin/projects/<project_id>/features/<feature_name>/favorites  apollo   200    200  404     200   200  403    403     403       401       -
    DELETE /api/admin/projects/<project_id>/features/<feature_name>/favorites  nowhere  404    404  404     404   404  403    403     403       401       -
"""
