"""Dependencies of flags: by the permissions in the project."""

from tests.access import PROJECTS, Arguments
from tests.support.world import Caller, World

TABLE = """
    route                                                                                  project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    POST /api/admin/projects/<project_id>/features/<feature_name>/dependencies             default  200    200  403     403   403  200    403     403       401       8
    POST /api/admin/projects/<project_id>/features/<feature_name>/dependencies             hermes   200    403  403     403   403  200    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/dependencies             apollo   200    403  403     200   200  200    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/dependencies             nowhere  404    403  403     403   403  404    403     403       401       -
    DELETE /api/admin/projects/<project_id>/features/<feature_name>/dependencies/<parent>  default  200    200  403     403   403  200    403     403       401       6
    DELETE /api/admin/projects/<project_id>/features/<feature_name>/dependencies/<parent>  hermes   200    403  403     403   403  200    403     403       401       -
    DELETE /api/admin/projects/<project_id>/features/<feature_name>/dependencies/<parent>  apollo   200    403  403     200   200  200    403     403       401       -
    DELETE /api/admin/projects/<project_id>/features/<feature_name>/dependencies/<parent>  nowhere  404    403  403     403   403  404    403     403       401       -
    DELETE /api/admin/projects/<project_id>/features/<feature_name>/dependencies           default  200    200  403     403   403  200    403     403       401       6
    DELETE /api/admin/projects/<project_id>/features/<feature_name>/dependencies           hermes   200    403  403     403   403  200    403     403       401       -
    DELETE /api/admin/projects/<project_id>/features/<feature_name>/dependencies           apollo   200    403  403     200   200  200    403     403       401       -
    DELETE /api/admin/projects/<project_id>/features/<feature_name>/dependencies           nowhere  404    403  403     403   403  404    403     403       401       -
    GET /api/admin/projects/<project_id>/features/<feature_name>/parents                   default  200    200  200     200   200  200    403     403       401       2
    GET /api/admin/projects/<project_id>/features/<feature_name>/parents                   hermes   200    200  200     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/features/<feature_name>/parents                   apollo   200    200  404     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/features/<feature_name>/parents                   nowhere  404    404  404     404   404  404    403     403       401       -
    GET /api/admin/projects/<project_id>/features/<feature_name>/parent-variants           default  200    200  200     200   200  200    403     403       401       2
    GET /api/admin/projects/<project_id>/features/<feature_name>/parent-variants           hermes   200    200  200     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/features/<feature_name>/parent-variants           apollo   200    200  404     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/features/<feature_name>/parent-variants           nowhere  404    404  404     404   404  404    403     403       401       -
    GET /api/admin/projects/<project_id>/dependencies                                      default  200    200  200     200   200  200    403     403       401       2
    GET /api/admin/projects/<project_id>/dependencies                                      hermes   200    200  200     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/dependencies                                      apollo   200    200  404     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/dependencies                                      nowhere  404    404  404     404   404  404    403     403       401       -
"""


def prepare(world: World, cast: dict[str, Caller]) -> Arguments:  # noqa: ARG001
    """A flag to depend on in each project."""
    for project in PROJECTS:
        world.flag(f"parent-in-{project}", project)
    words = {project: {"parent": f"parent-in-{project}"} for project in (*PROJECTS, "nowhere")}
    depend = "POST /api/admin/projects/<project_id>/features/<feature_name>/dependencies"
    return Arguments(words=words, bodies={depend: lambda project: {"feature": f"parent-in-{project}"}})
