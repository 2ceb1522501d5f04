"""Archiving, reviving and deleting projects: by the permissions in the project."""

from tests.access import Arguments
from tests.support.world import Caller, World

TABLE = """
    route                                          project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    POST /api/admin/projects/archive/<project_id>  default  409    409  403     403   403  409    403     403       401       9
    POST /api/admin/projects/archive/<project_id>  hermes   200    403  403     403   403  200    403     403       401       -
    POST /api/admin/projects/archive/<project_id>  apollo   200    403  403     200   403  200    403     403       401       -
    POST /api/admin/projects/archive/<project_id>  nowhere  404    403  403     403   403  404    403     403       401       -
    DELETE /api/admin/projects/<project_id>        default  409    409  403     403   403  409    403     403       401       15
    DELETE /api/admin/projects/<project_id>        hermes   200    403  403     403   403  200    403     403       401       -
    DELETE /api/admin/projects/<project_id>        apollo   200    403  403     200   403  200    403     403       401       -
    DELETE /api/admin/projects/<project_id>        nowhere  404    403  403     403   403  404    403     403       401       -
    POST /api/admin/projects/revive/<project_id>   default  200    200  403     403   403  200    403     403       401       4
    POST /api/admin/projects/revive/<project_id>   hermes   200    403  403     403   403  200    403     403       401       -
    POST /api/admin/projects/revive/<project_id>   apollo   200    403  403     200   403  200    403     403       401       -
    POST /api/admin/projects/revive/<project_id>   nowhere  404    403  403     403   403  404    403     403       401       -
"""


def prepare(world: World, cast: dict[str, Caller]) -> Arguments:  # noqa: ARG001
    """No live flag in the two projects that can end."""
    world.conn.execute("UPDATE flags SET archived_at = now() WHERE project_id IN ('hermes', 'apollo')")
    return Arguments()
