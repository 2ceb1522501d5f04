"""Flags in environments: by the permissions in the project and environment."""

from tests.access import Arguments

TABLE = """
    route                                                                                         project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>       default  200    200  200     200   200  200    403     403       401       2
    GET /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>       hermes   200    200  200     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>       apollo   200    200  404     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>       nowhere  404    404  404     404   404  404    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/on   default  200    200  403     403   403  200    403     403       401       9
    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/on   hermes   200    403  403     403   403  200    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/on   apollo   200    403  403     200   200  200    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/on   nowhere  404    403  403     403   403  404    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/off  default  200    200  403     403   403  200    403     403       401       6
    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/off  hermes   200    403  403     403   403  200    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/off  apollo   200    403  403     200   200  200    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/off  nowhere  404    403  403     403   403  404    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/copy  default  200    200  403     403   403  200    403     403       401       12
    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/copy  hermes   200    403  403     403   403  200    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/copy  apollo   200    403  403     200   200  200    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/copy  nowhere  404    403  403     403   403  404    403     403       401       -
    POST /api/admin/projects/<project_id>/bulk_features/environments/<environment>/on             default  200    200  403     403   403  200    403     403       401       9
    POST /api/admin/projects/<project_id>/bulk_features/environments/<environment>/on             hermes   200    403  403     403   403  200    403     403       401       -
    POST /api/admin/projects/<project_id>/bulk_features/environments/<environment>/on             apollo   200    403  403     200   200  200    403     403       401       -
    POST /api/admin/projects/<project_id>/bulk_features/environments/<environment>/on             nowhere  404    403  403     403   403  404    403     403       401       -
    POST /api/admin/projects/<project_id>/bulk_features/environments/<environment>/off            default  200    200  403     403   403  200    403     403       401       6
    POST /api/admin/projects/<project_id>/bulk_features/environments/<environment>/off            hermes   200    403  403     403   403  200    403     403       401       -
    POST /api/admin/projects/<project_id>/bulk_features/environments/<environment>/off            apollo   200    403  403     200   200  200    403     403       401       -
    POST /api/admin/projects/<project_id>/bulk_features/environments/<environment>/off            nowhere  404    403  403     403   403  404    403     403       401       -
"""

BULK = "/api/admin/projects/<project_id>/bulk_features/environments/<environment>"
FLAGS = {f"POST {BULK}/{switch}": lambda project: {"features": [f"flag-of-{project}"]} for switch in ("on", "off")}
COPY = "POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/copy"
ARGUMENTS = Arguments(bodies=FLAGS | {COPY: {"from": "production"}})
