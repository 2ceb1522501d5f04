"""Who may delete a strategy."""

TABLE = """
    route                                                                                                                project  alice  eve  victor  olga  max  admin  client  frontend  stranger

    DELETE /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies/<strategy_id>  default  200    200  403     403   403  200    403     403       401
    DELETE /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies/<strategy_id>  hermes   200    403  403     403   403  200    403     403       401
    DELETE /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies/<strategy_id>  apollo   200    403  403     200   200  200    403     403       401
    DELETE /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies/<strategy_id>  nowhere  404    403  403     403   403  404    403     403       401
"""
