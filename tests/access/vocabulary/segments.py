"""Segments: by the permissions in their project, or in all projects."""

from sql.vocabulary import segments
from tests.access import Props
from tests.support.world import Caller, World

TABLE = """
    route                                             project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/segments                           -        200    200  200     200   200  200    403     403       401       2
    POST /api/admin/segments                          default  201    201  403     403   403  201    403     403       401       13
    POST /api/admin/segments                          hermes   201    201  403     403   403  201    403     403       401       -
    POST /api/admin/segments                          apollo   201    201  403     403   403  201    403     403       401       -
    POST /api/admin/segments/validate                 -        204    204  204     204   204  204    403     403       401       2
    GET /api/admin/segments/<segment_id>              default  200    200  200     200   200  200    403     403       401       2
    GET /api/admin/segments/<segment_id>              hermes   200    200  200     200   200  200    403     403       401       -
    GET /api/admin/segments/<segment_id>              apollo   200    200  404     200   200  200    403     403       401       -
    PUT /api/admin/segments/<segment_id>              default  204    204  403     403   403  204    403     403       401       10
    PUT /api/admin/segments/<segment_id>              hermes   204    204  403     403   403  204    403     403       401       -
    PUT /api/admin/segments/<segment_id>              apollo   204    204  403     403   403  204    403     403       401       -
    DELETE /api/admin/segments/<segment_id>           default  204    204  403     403   403  204    403     403       401       9
    DELETE /api/admin/segments/<segment_id>           hermes   204    204  403     403   403  204    403     403       401       -
    DELETE /api/admin/segments/<segment_id>           apollo   204    204  403     403   403  204    403     403       401       -
    GET /api/admin/segments/<segment_id>/strategies   default  200    200  200     200   200  200    403     403       401       2
    GET /api/admin/segments/<segment_id>/strategies   hermes   200    200  200     200   200  200    403     403       401       -
    GET /api/admin/segments/<segment_id>/strategies   apollo   200    200  404     200   200  200    403     403       401       -
    GET /api/admin/segments/strategies/<strategy_id>  default  200    200  200     200   200  200    403     403       401       2
    GET /api/admin/segments/strategies/<strategy_id>  hermes   200    200  200     200   200  200    403     403       401       -
    GET /api/admin/segments/strategies/<strategy_id>  apollo   200    200  200     200   200  200    403     403       401       -
    POST /api/admin/segments/strategies               default  201    201  403     403   403  201    403     403       401       12
    POST /api/admin/segments/strategies               hermes   201    403  403     403   403  201    403     403       401       -
    POST /api/admin/segments/strategies               apollo   201    403  403     201   201  201    403     403       401       -
    POST /api/admin/segments/strategies               nowhere  404    403  403     403   403  404    403     403       401       -
"""


def furnish(world: World, cast: dict[str, Caller]) -> Props:  # noqa: ARG001
    """A segment of each project, and one of all, which the strategies can have."""
    words = {
        p: {"segment_id": segments.insert(world.conn, f"of {p}", [], project=p)}
        for p in ("default", "hermes", "apollo")
    }
    shared = segments.insert(world.conn, "of all", [])
    find = """
        SELECT strategies.id FROM strategies JOIN flags ON flags.id = flag_id
         WHERE environment = 'development' AND project_id = %s
    """

    def give(project: str) -> dict:
        found = world.conn.execute(find, [project]).fetchone()
        strategy = found["id"] if found else "no-such-strategy"
        return {"projectId": project, "strategyId": strategy, "environmentId": "development", "segmentIds": [shared]}

    bodies = {
        "POST /api/admin/segments": lambda project: {"name": "new", "constraints": [], "project": project},
        "POST /api/admin/segments/validate": {"name": "new"},
        "PUT /api/admin/segments/<segment_id>": lambda project: {"name": "new", "constraints": [], "project": project},
        "POST /api/admin/segments/strategies": give,
    }
    return Props(words=words, bodies=bodies)
