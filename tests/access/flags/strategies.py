"""Strategies: by the permissions in the project and environment."""

from tests.access import Arguments

TABLE = """
    route                                                                                                                project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies                   default  200    200  200     200   200  200    403     403       401       2
    GET /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies                   hermes   200    200  200     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies                   apollo   200    200  404     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies                   nowhere  404    404  404     404   404  404    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies                  default  200    200  403     403   403  200    403     403       401       12
    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies                  hermes   200    403  403     403   403  200    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies                  apollo   200    403  403     200   200  200    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies                  nowhere  404    403  403     403   403  404    403     403       401       -
    GET /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies/<strategy_id>     default  200    200  200     200   200  200    403     403       401       2
    GET /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies/<strategy_id>     hermes   200    200  200     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies/<strategy_id>     apollo   200    200  404     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies/<strategy_id>     nowhere  404    404  404     404   404  404    403     403       401       -
    PUT /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies/<strategy_id>     default  200    200  403     403   403  200    403     403       401       14
    PUT /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies/<strategy_id>     hermes   200    403  403     403   403  200    403     403       401       -
    PUT /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies/<strategy_id>     apollo   200    403  403     200   200  200    403     403       401       -
    PUT /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies/<strategy_id>     nowhere  404    403  403     403   403  404    403     403       401       -
    DELETE /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies/<strategy_id>  default  200    200  403     403   403  200    403     403       401       8
    DELETE /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies/<strategy_id>  hermes   200    403  403     403   403  200    403     403       401       -
    DELETE /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies/<strategy_id>  apollo   200    403  403     200   200  200    403     403       401       -
    DELETE /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies/<strategy_id>  nowhere  404    403  403     403   403  404    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies/set-sort-order   default  200    200  403     403   403  200    403     403       401       7
    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies/set-sort-order   hermes   200    403  403     403   403  200    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies/set-sort-order   apollo   200    403  403     200   200  200    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies/set-sort-order   nowhere  404    403  403     403   403  404    403     403       401       -
    PATCH /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies/<strategy_id>   default  200    200  403     403   403  200    403     403       401       14
    PATCH /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies/<strategy_id>   hermes   200    403  403     403   403  200    403     403       401       -
    PATCH /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies/<strategy_id>   apollo   200    403  403     200   200  200    403     403       401       -
    PATCH /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies/<strategy_id>   nowhere  404    403  403     403   403  404    403     403       401       -
"""

STRATEGIES = "/api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies"
CHANGES = {f"PUT {STRATEGIES}/<strategy_id>": {"title": "another"}, f"POST {STRATEGIES}/set-sort-order": []}
ARGUMENTS = Arguments(bodies=CHANGES)
