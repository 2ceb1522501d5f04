"""The settings of single sign-on are for administrators, and cannot be changed."""

TABLE = """
    route                                 project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/auth/oidc/settings     -        200    403  403     403   403  200    403     403       401       2
    POST /api/admin/auth/oidc/settings    -        409    403  403     403   403  409    403     403       401       1
    POST /api/admin/auth/simple/settings  -        409    403  403     403   403  409    403     403       401       1
"""
