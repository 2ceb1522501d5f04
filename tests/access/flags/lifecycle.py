"""Archived flags by name: the permissions in the project decide. In a hidden project they do not exist."""

from datetime import UTC, datetime

from tests.access import PROJECTS, Arguments
from tests.support.world import Caller, World

TABLE = """
    route                                          project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    POST /api/admin/archive/revive/<feature_name>  default  200    200  403     403   403  200    403     403       401       10
    POST /api/admin/archive/revive/<feature_name>  hermes   200    403  403     403   403  200    403     403       401       -
    POST /api/admin/archive/revive/<feature_name>  apollo   200    403  404     200   200  200    403     403       401       -
    POST /api/admin/archive/revive/<feature_name>  nowhere  404    404  404     404   404  404    403     403       401       -
    DELETE /api/admin/archive/<feature_name>       default  200    200  403     403   403  200    403     403       401       8
    DELETE /api/admin/archive/<feature_name>       hermes   200    403  403     403   403  200    403     403       401       -
    DELETE /api/admin/archive/<feature_name>       apollo   200    403  404     200   200  200    403     403       401       -
    DELETE /api/admin/archive/<feature_name>       nowhere  404    404  404     404   404  404    403     403       401       -
    GET /api/admin/archive/features                -        200    200  200     200   200  200    403     403       401       2
    GET /api/admin/archive/features/<project_id>   default  200    200  200     200   200  200    403     403       401       2
    GET /api/admin/archive/features/<project_id>   hermes   200    200  200     200   200  200    403     403       401       -
    GET /api/admin/archive/features/<project_id>   apollo   200    200  404     200   200  200    403     403       401       -
    GET /api/admin/archive/features/<project_id>   nowhere  404    404  404     404   404  404    403     403       401       -
"""


def prepare(world: World, cast: dict[str, Caller]) -> Arguments:  # noqa: ARG001
    """An archived flag in each project."""
    for project in PROJECTS:
        world.flag(f"archived-in-{project}", project, archived_at=datetime.now(UTC))
    return Arguments(words={project: {"feature_name": f"archived-in-{project}"} for project in (*PROJECTS, "nowhere")})
