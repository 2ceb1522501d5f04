"""Environments of a project: by the permissions in the project."""

from sql.catalog import environments
from tests.access import Arguments
from tests.support.world import Caller, World

TABLE = """
    route                                                                              project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/environments/project/<project_id>                                   default  200    200  200     200   200  200    403     403       401       2
    GET /api/admin/environments/project/<project_id>                                   hermes   200    200  200     200   200  200    403     403       401       -
    GET /api/admin/environments/project/<project_id>                                   apollo   200    200  404     200   200  200    403     403       401       -
    GET /api/admin/environments/project/<project_id>                                   nowhere  404    404  404     404   404  404    403     403       401       -
    POST /api/admin/projects/<project_id>/environments                                 default  200    200  403     403   403  200    403     403       401       8
    POST /api/admin/projects/<project_id>/environments                                 hermes   200    403  403     403   403  200    403     403       401       -
    POST /api/admin/projects/<project_id>/environments                                 apollo   200    403  403     200   403  200    403     403       401       -
    POST /api/admin/projects/<project_id>/environments                                 nowhere  404    403  403     403   403  404    403     403       401       -
    DELETE /api/admin/projects/<project_id>/environments/<environment>                 default  200    200  403     403   403  200    403     403       401       8
    DELETE /api/admin/projects/<project_id>/environments/<environment>                 hermes   200    403  403     403   403  200    403     403       401       -
    DELETE /api/admin/projects/<project_id>/environments/<environment>                 apollo   200    403  403     200   403  200    403     403       401       -
    DELETE /api/admin/projects/<project_id>/environments/<environment>                 nowhere  404    403  403     403   403  404    403     403       401       -
    POST /api/admin/projects/<project_id>/environments/<environment>/default-strategy  default  200    200  403     403   403  200    403     403       401       9
    POST /api/admin/projects/<project_id>/environments/<environment>/default-strategy  hermes   200    403  403     403   403  200    403     403       401       -
    POST /api/admin/projects/<project_id>/environments/<environment>/default-strategy  apollo   200    403  403     200   403  200    403     403       401       -
    POST /api/admin/projects/<project_id>/environments/<environment>/default-strategy  nowhere  404    403  403     403   403  404    403     403       401       -
"""


def prepare(world: World, cast: dict[str, Caller]) -> Arguments:  # noqa: ARG001
    """An environment that no project has yet."""
    environments.insert(world.conn, "staging", "preproduction")
    return Arguments()
