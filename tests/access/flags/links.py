"""Links of flags: by the permissions in the project."""

from sql.database import rows
from tests.access import PROJECTS, Arguments
from tests.support import fixtures
from tests.support.world import Caller, World

TABLE = """
    route                                                                           project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    POST /api/admin/projects/<project_id>/features/<feature_name>/link              default  204    204  403     403   403  204    403     403       401       8
    POST /api/admin/projects/<project_id>/features/<feature_name>/link              hermes   204    403  403     403   403  204    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/link              apollo   204    403  403     204   204  204    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/link              nowhere  404    403  403     403   403  404    403     403       401       -
    PUT /api/admin/projects/<project_id>/features/<feature_name>/link/<link_id>     default  204    204  403     403   403  204    403     403       401       8
    PUT /api/admin/projects/<project_id>/features/<feature_name>/link/<link_id>     hermes   204    403  403     403   403  204    403     403       401       -
    PUT /api/admin/projects/<project_id>/features/<feature_name>/link/<link_id>     apollo   204    403  403     204   204  204    403     403       401       -
    PUT /api/admin/projects/<project_id>/features/<feature_name>/link/<link_id>     nowhere  404    403  403     403   403  404    403     403       401       -
    DELETE /api/admin/projects/<project_id>/features/<feature_name>/link/<link_id>  default  204    204  403     403   403  204    403     403       401       8
    DELETE /api/admin/projects/<project_id>/features/<feature_name>/link/<link_id>  hermes   204    403  403     403   403  204    403     403       401       -
    DELETE /api/admin/projects/<project_id>/features/<feature_name>/link/<link_id>  apollo   204    403  403     204   204  204    403     403       401       -
    DELETE /api/admin/projects/<project_id>/features/<feature_name>/link/<link_id>  nowhere  404    403  403     403   403  404    403     403       401       -
"""


def prepare(world: World, cast: dict[str, Caller]) -> Arguments:  # noqa: ARG001
    """A link of the flag of each project."""
    flags = {row["name"]: row["id"] for row in rows(world.conn, "SELECT name, id FROM flags")}
    words = {
        project: {"link_id": fixtures.link(world.conn, flags[f"flag-of-{project}"], "https://example.org")}
        for project in PROJECTS
    }
    return Arguments(words=words | {"nowhere": {"link_id": "1"}})
