"""The playground: for all who see the project."""

TABLE = """
    route                                                                                              project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    POST /api/admin/playground                                                                         -        200    200  200     200   200  200    403     403       401       4
    POST /api/admin/playground/advanced                                                                -        200    200  200     200   200  200    403     403       401       6
    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/evaluate  default  200    200  200     200   200  200    403     403       401       2
    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/evaluate  hermes   200    200  200     200   200  200    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/evaluate  apollo   200    200  404     200   200  200    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/evaluate  nowhere  404    404  404     404   404  404    403     403       401       -
"""
