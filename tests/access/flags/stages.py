"""The lifecycle stages of a flag: for everybody who sees it. UPDATE_FEATURE completes it."""

TABLE = """
    route                                                                               project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/lifecycle/count                                                      -        200    200  200     200   200  200    403     403       401       2
    GET /api/admin/projects/<project_id>/features/<feature_name>/lifecycle              default  200    200  200     200   200  200    403     403       401       2
    GET /api/admin/projects/<project_id>/features/<feature_name>/lifecycle              hermes   200    200  200     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/features/<feature_name>/lifecycle              apollo   200    200  404     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/features/<feature_name>/lifecycle              nowhere  404    404  404     404   404  404    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/lifecycle/complete    default  200    200  403     403   403  200    403     403       401       7
    POST /api/admin/projects/<project_id>/features/<feature_name>/lifecycle/complete    hermes   200    403  403     403   403  200    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/lifecycle/complete    apollo   200    403  403     200   200  200    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/lifecycle/complete    nowhere  404    403  403     403   403  404    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/lifecycle/uncomplete  default  200    200  403     403   403  200    403     403       401       6
    POST /api/admin/projects/<project_id>/features/<feature_name>/lifecycle/uncomplete  hermes   200    403  403     403   403  200    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/lifecycle/uncomplete  apollo   200    403  403     200   200  200    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/lifecycle/uncomplete  nowhere  404    403  403     403   403  404    403     403       401       -
"""
