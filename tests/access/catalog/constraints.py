"""Validation of constraints: for every user and admin token."""

from tests.access import Arguments

TABLE = """
    route                                 project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    POST /api/admin/constraints/validate  -        204    204  204     204   204  204    403     403       401       2
"""
CONSTRAINT = {"contextName": "userId", "operator": "IN", "values": ["7"]}
ARGUMENTS = Arguments(bodies={"POST /api/admin/constraints/validate": CONSTRAINT})
