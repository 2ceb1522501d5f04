"""The event search: every user finds the events that they may see."""

from tests.access import Arguments

TABLE = """
    route                                            project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/events                            -        200    403  403     403   403  200    403     403       401       2
    GET /api/admin/events/<not_search:feature_name>  -        200    200  200     200   200  200    403     403       401       2
    GET /api/admin/event-creators                    -        200    200  200     200   200  200    403     403       401       2
    GET /api/admin/search/events                     -        200    200  200     200   200  200    403     403       401       2
    POST /api/admin/events/search                    -        200    200  200     200   200  200    403     403       401       2
"""
ARGUMENTS = Arguments(bodies={"POST /api/admin/events/search": {}})
