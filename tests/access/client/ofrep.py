"""OFREP: for all API tokens."""

from tests.access import Arguments

TABLE = """
    route                                          project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    POST /ofrep/v1/evaluate/flags                  -        403    403  403     403   403  200    200     200       401       2
    POST /ofrep/v1/evaluate/flags/<feature_name>   -        403    403  403     403   403  200    200     200       401       2
"""
# The path has no project.
ARGUMENTS = Arguments(words={"*": {"feature_name": "flag-of-default"}})
