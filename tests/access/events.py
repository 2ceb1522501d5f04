"""The events: every user finds those that they may see, and undoes those of changes that they may make."""

from rules.access import SYSTEM
from rules.flags import change_flags, lock_flag
from tests.access import Arguments
from tests.support.world import Caller, World

TABLE = """
    route                                            project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/events                            -        200    403  403     403   403  200    403     403       401       2
    GET /api/admin/events/<not_search:feature_name>  -        200    200  200     200   200  200    403     403       401       2
    GET /api/admin/event-creators                    -        200    200  200     200   200  200    403     403       401       2
    GET /api/admin/search/events                     -        200    200  200     200   200  200    403     403       401       2
    POST /api/admin/events/search                    -        200    200  200     200   200  200    403     403       401       2
    POST /api/admin/events/<event_id>/undo           -        200    200  403     403   403  200    403     403       401       10
"""


def prepare(world: World, cast: dict[str, Caller]) -> Arguments:  # noqa: ARG001
    """An event that can be undone."""
    change_flags(world.conn, SYSTEM, [(lock_flag(world.conn, "default", "flag-of-default"), {"stale": True})])
    words = {"*": {"event_id": world.last_event_id()}}
    return Arguments(words=words, bodies={"POST /api/admin/events/search": {}})
