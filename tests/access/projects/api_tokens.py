"""API tokens of a project: for members with the permission, such as its owner."""

from tests.access import PROJECTS, Arguments
from tests.support.world import Caller, World

TABLE = """
    route                                                                   project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/projects/<project_id>/api-tokens                         default  200    200  403     403   403  200    403     403       401       2
    GET /api/admin/projects/<project_id>/api-tokens                         hermes   200    403  403     403   403  200    403     403       401       -
    GET /api/admin/projects/<project_id>/api-tokens                         apollo   200    403  403     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/api-tokens                         nowhere  404    403  403     403   403  404    403     403       401       -
    POST /api/admin/projects/<project_id>/api-tokens                        default  201    201  403     403   403  201    403     403       401       11
    POST /api/admin/projects/<project_id>/api-tokens                        hermes   201    403  403     403   403  201    403     403       401       -
    POST /api/admin/projects/<project_id>/api-tokens                        apollo   201    403  403     201   201  201    403     403       401       -
    POST /api/admin/projects/<project_id>/api-tokens                        nowhere  404    403  403     403   403  404    403     403       401       -
    DELETE /api/admin/projects/<project_id>/api-tokens/<slashed:api_token>  default  200    200  403     403   403  200    403     403       401       7
    DELETE /api/admin/projects/<project_id>/api-tokens/<slashed:api_token>  hermes   200    403  403     403   403  200    403     403       401       -
    DELETE /api/admin/projects/<project_id>/api-tokens/<slashed:api_token>  apollo   200    403  403     200   200  200    403     403       401       -
    DELETE /api/admin/projects/<project_id>/api-tokens/<slashed:api_token>  nowhere  404    403  403     403   403  404    403     403       401       -
"""


def prepare(world: World, cast: dict[str, Caller]) -> Arguments:  # noqa: ARG001
    """A token of each project."""
    tokens = {project: world.api_key("client", projects=[project]).key for project in PROJECTS}
    words = {project: {"api_token": token} for project, token in tokens.items()}
    bodies = {"POST /api/admin/projects/<project_id>/api-tokens": {"type": "client", "tokenName": "a new token"}}
    return Arguments(words={"*": {"api_token": "unknown"}} | words, bodies=bodies)
