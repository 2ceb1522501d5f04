"""Projects: by the permissions in the project."""

TABLE = """
    route                                               project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/projects                             -        200    200  200     200   200  200    403     403       401       2
    POST /api/admin/projects                            -        201    201  403     403   403  201    403     403       401       10
    POST /api/admin/projects/validate                   -        200    200  403     403   403  200    403     403       401       2
    GET /api/admin/projects/<project_id>                default  200    200  200     200   200  200    403     403       401       2
    GET /api/admin/projects/<project_id>                hermes   200    200  200     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>                apollo   200    200  404     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>                nowhere  404    404  404     404   404  404    403     403       401       -
    PUT /api/admin/projects/<project_id>                default  200    200  403     403   403  200    403     403       401       7
    PUT /api/admin/projects/<project_id>                hermes   200    403  403     403   403  200    403     403       401       -
    PUT /api/admin/projects/<project_id>                apollo   200    403  403     200   403  200    403     403       401       -
    PUT /api/admin/projects/<project_id>                nowhere  404    403  403     403   403  404    403     403       401       -
    PUT /api/admin/projects/<project_id>/settings       default  200    200  403     403   403  200    403     403       401       7
    PUT /api/admin/projects/<project_id>/settings       hermes   200    403  403     403   403  200    403     403       401       -
    PUT /api/admin/projects/<project_id>/settings       apollo   200    403  403     200   403  200    403     403       401       -
    PUT /api/admin/projects/<project_id>/settings       nowhere  404    403  403     403   403  404    403     403       401       -
    POST /api/admin/projects/<project_id>/favorites     default  200    200  200     200   200  403    403     403       401       6
    POST /api/admin/projects/<project_id>/favorites     hermes   200    200  200     200   200  403    403     403       401       -
    POST /api/admin/projects/<project_id>/favorites     apollo   200    200  404     200   200  403    403     403       401       -
    POST /api/admin/projects/<project_id>/favorites     nowhere  404    404  404     404   404  403    403     403       401       -
    DELETE /api/admin/projects/<project_id>/favorites   default  200    200  200     200   200  403    403     403       401       4
    DELETE /api/admin/projects/<project_id>/favorites   hermes   200    200  200     200   200  403    403     403       401       -
    DELETE /api/admin/projects/<project_id>/favorites   apollo   200    200  404     200   200  403    403     403       401       -
    DELETE /api/admin/projects/<project_id>/favorites   nowhere  404    404  404     404   404  403    403     403       401       -
    GET /api/admin/projects/<project_id>/overview       default  200    200  200     200   200  200    403     403       401       2
    GET /api/admin/projects/<project_id>/overview       hermes   200    200  200     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/overview       apollo   200    200  404     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/overview       nowhere  404    404  404     404   404  404    403     403       401       -
    GET /api/admin/projects/<project_id>/health-report  default  200    200  200     200   200  200    403     403       401       2
    GET /api/admin/projects/<project_id>/health-report  hermes   200    200  200     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/health-report  apollo   200    200  404     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/health-report  nowhere  404    404  404     404   404  404    403     403       401       -
    GET /api/admin/projects/<project_id>/status         default  200    200  200     200   200  200    403     403       401       2
    GET /api/admin/projects/<project_id>/status         hermes   200    200  200     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/status         apollo   200    200  404     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/status         nowhere  404    404  404     404   404  404    403     403       401       -
    GET /api/admin/projects/<project_id>/access         default  200    200  403     403   403  200    403     403       401       2
    GET /api/admin/projects/<project_id>/access         hermes   200    403  403     403   403  200    403     403       401       -
    GET /api/admin/projects/<project_id>/access         apollo   200    403  403     200   403  200    403     403       401       -
    GET /api/admin/projects/<project_id>/access         nowhere  404    403  403     403   403  404    403     403       401       -
"""
