"""The flags of an application: for client tokens, and for admin tokens. No user has any."""

TABLE = """
    route                                    project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/client/features                 -        403    403  403     403   403  200    200     403       401       2
    GET /api/client/features/<feature_name>  default  403    403  403     403   403  200    200     403       401       2
    GET /api/client/delta                    -        403    403  403     403   403  200    200     403       401       2
    GET /api/client/streaming                -        403    403  403     403   403  200    200     403       401       2
"""
