"""Who may see a project, and who has access to it."""

TABLE = """
    route                                          project  alice  eve  victor  olga  max  admin  client  frontend  stranger

    GET /api/admin/projects/<project_id>/overview  default  200    200  200     200   200  200    403     403       401
    GET /api/admin/projects/<project_id>/overview  hermes   200    200  200     200   200  200    403     403       401
    GET /api/admin/projects/<project_id>/overview  apollo   200    200  404     200   200  200    403     403       401
    GET /api/admin/projects/<project_id>/overview  nowhere  404    404  404     404   404  404    403     403       401
    GET /api/admin/projects/<project_id>/access    default  200    200  403     403   403  200    403     403       401
    GET /api/admin/projects/<project_id>/access    hermes   200    403  403     403   403  200    403     403       401
    GET /api/admin/projects/<project_id>/access    apollo   200    403  403     200   403  200    403     403       401
    GET /api/admin/projects/<project_id>/access    nowhere  404    403  403     403   403  404    403     403       401
"""
