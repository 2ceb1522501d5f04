"""The usage of a flag: for everybody who sees its project."""

TABLE = """
    route                                                      project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/client-metrics/features/<feature_name>      default  200    200  200     200   200  200    403     403       401       2
    GET /api/admin/client-metrics/features/<feature_name>      hermes   200    200  200     200   200  200    403     403       401       -
    GET /api/admin/client-metrics/features/<feature_name>      apollo   200    200  404     200   200  200    403     403       401       -
    GET /api/admin/client-metrics/features/<feature_name>      nowhere  404    404  404     404   404  404    403     403       401       -
    GET /api/admin/client-metrics/features/<feature_name>/raw  default  200    200  200     200   200  200    403     403       401       2
    GET /api/admin/client-metrics/features/<feature_name>/raw  hermes   200    200  200     200   200  200    403     403       401       -
    GET /api/admin/client-metrics/features/<feature_name>/raw  apollo   200    200  404     200   200  200    403     403       401       -
    GET /api/admin/client-metrics/features/<feature_name>/raw  nowhere  404    404  404     404   404  404    403     403       401       -
"""
