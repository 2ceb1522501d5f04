"""Variants of flags: by the permissions in the project and environment."""

from tests.access import Arguments

TABLE = """
    route                                                                                               project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/variants    default  200    200  200     200   200  200    403     403       401       2
    GET /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/variants    hermes   200    200  200     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/variants    apollo   200    200  404     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/variants    nowhere  404    404  404     404   404  404    403     403       401       -
    PUT /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/variants    default  200    200  403     403   403  200    403     403       401       11
    PUT /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/variants    hermes   200    403  403     403   403  200    403     403       401       -
    PUT /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/variants    apollo   200    403  403     200   200  200    403     403       401       -
    PUT /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/variants    nowhere  404    403  403     403   403  404    403     403       401       -
    PATCH /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/variants  default  200    200  403     403   403  200    403     403       401       11
    PATCH /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/variants  hermes   200    403  403     403   403  200    403     403       401       -
    PATCH /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/variants  apollo   200    403  403     200   200  200    403     403       401       -
    PATCH /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/variants  nowhere  404    403  403     403   403  404    403     403       401       -
    PUT /api/admin/projects/<project_id>/features/<feature_name>/variants-batch                         default  200    200  403     403   403  200    403     403       401       14
    PUT /api/admin/projects/<project_id>/features/<feature_name>/variants-batch                         hermes   200    403  403     403   403  200    403     403       401       -
    PUT /api/admin/projects/<project_id>/features/<feature_name>/variants-batch                         apollo   200    403  403     200   200  200    403     403       401       -
    PUT /api/admin/projects/<project_id>/features/<feature_name>/variants-batch                         nowhere  404    403  403     403   403  404    403     403       401       -
    GET /api/admin/projects/<project_id>/features/<feature_name>/variants                               default  200    200  200     200   200  200    403     403       401       2
    GET /api/admin/projects/<project_id>/features/<feature_name>/variants                               hermes   200    200  200     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/features/<feature_name>/variants                               apollo   200    200  404     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/features/<feature_name>/variants                               nowhere  404    404  404     404   404  404    403     403       401       -
    PUT /api/admin/projects/<project_id>/features/<feature_name>/variants                               default  200    200  403     403   403  200    403     403       401       16
    PUT /api/admin/projects/<project_id>/features/<feature_name>/variants                               hermes   200    403  403     403   403  200    403     403       401       -
    PUT /api/admin/projects/<project_id>/features/<feature_name>/variants                               apollo   200    403  403     200   200  200    403     403       401       -
    PUT /api/admin/projects/<project_id>/features/<feature_name>/variants                               nowhere  404    403  403     403   403  404    403     403       401       -
    PATCH /api/admin/projects/<project_id>/features/<feature_name>/variants                             default  200    200  403     403   403  200    403     403       401       17
    PATCH /api/admin/projects/<project_id>/features/<feature_name>/variants                             hermes   200    403  403     403   403  200    403     403       401       -
    PATCH /api/admin/projects/<project_id>/features/<feature_name>/variants                             apollo   200    403  403     200   200  200    403     403       401       -
    PATCH /api/admin/projects/<project_id>/features/<feature_name>/variants                             nowhere  404    403  403     403   403  404    403     403       401       -
"""

FLAG = "/api/admin/projects/<project_id>/features/<feature_name>"
PATCH = [{"op": "add", "path": "/-", "value": {"name": "blue", "weight": 1000}}]
PATHS = (f"{FLAG}/environments/<environment>/variants", f"{FLAG}/variants")
ARGUMENTS = Arguments(bodies={f"PATCH {path}": PATCH for path in PATHS})
