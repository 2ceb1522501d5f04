"""Segments: by the permissions in their project, or in all projects."""

from sql.catalog import segments
from sql.database import value
from tests.access import PROJECTS, Arguments
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


def prepare(world: World, cast: dict[str, Caller]) -> Arguments:  # noqa: ARG001
    """A segment of each project, and one for all projects."""
    words = {p: {"segment_id": segments.insert(world.conn, f"of {p}", [], project=p)} for p in PROJECTS}
    shared = segments.insert(world.conn, "of all", [])
    find = """
        SELECT strategies.id FROM strategies JOIN flags ON flags.id = flag_id
         WHERE environment = 'development' AND project_id = %(id)s
    """

    def strategy(project: str) -> dict[str, object]:
        found = value(world.conn, find, {"id": project}) or "no-such-strategy"
        return {"projectId": project, "strategyId": found, "environmentId": "development", "segmentIds": [shared]}

    def segment(project: str) -> dict[str, object]:
        return {"name": "new", "constraints": [], "project": project}

    path = "/api/admin/segments"
    bodies = {f"POST {path}": segment, f"PUT {path}/<segment_id>": segment, f"POST {path}/strategies": strategy}
    return Arguments(words=words, bodies=bodies | {f"POST {path}/validate": {"name": "new"}})
