"""Access to a project: for users who may change the project."""

from sql.people import groups
from tests.access import Arguments
from tests.support.world import Caller, World

TABLE = """
    route                                                                   project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    POST /api/admin/projects/<project_id>/access                            default  200    200  403     403   403  200    403     403       401       10
    POST /api/admin/projects/<project_id>/access                            hermes   200    403  403     403   403  200    403     403       401       -
    POST /api/admin/projects/<project_id>/access                            apollo   200    403  403     200   403  200    403     403       401       -
    POST /api/admin/projects/<project_id>/access                            nowhere  404    403  403     403   403  404    403     403       401       -
    PUT /api/admin/projects/<project_id>/access                             default  200    200  403     403   403  200    403     403       401       10
    PUT /api/admin/projects/<project_id>/access                             hermes   200    403  403     403   403  200    403     403       401       -
    PUT /api/admin/projects/<project_id>/access                             apollo   200    403  403     200   403  200    403     403       401       -
    PUT /api/admin/projects/<project_id>/access                             nowhere  404    403  403     403   403  404    403     403       401       -
    PUT /api/admin/projects/<project_id>/users/<user_id>/roles              default  200    200  403     403   403  200    403     403       401       11
    PUT /api/admin/projects/<project_id>/users/<user_id>/roles              hermes   200    403  403     403   403  200    403     403       401       -
    PUT /api/admin/projects/<project_id>/users/<user_id>/roles              apollo   200    403  403     200   403  200    403     403       401       -
    PUT /api/admin/projects/<project_id>/users/<user_id>/roles              nowhere  404    403  403     403   403  404    403     403       401       -
    DELETE /api/admin/projects/<project_id>/users/<user_id>/roles           default  200    200  403     403   403  200    403     403       401       6
    DELETE /api/admin/projects/<project_id>/users/<user_id>/roles           hermes   200    403  403     403   403  200    403     403       401       -
    DELETE /api/admin/projects/<project_id>/users/<user_id>/roles           apollo   200    403  403     200   403  200    403     403       401       -
    DELETE /api/admin/projects/<project_id>/users/<user_id>/roles           nowhere  404    403  403     403   403  404    403     403       401       -
    PUT /api/admin/projects/<project_id>/groups/<group_id>/roles            default  200    200  403     403   403  200    403     403       401       11
    PUT /api/admin/projects/<project_id>/groups/<group_id>/roles            hermes   200    403  403     403   403  200    403     403       401       -
    PUT /api/admin/projects/<project_id>/groups/<group_id>/roles            apollo   200    403  403     200   403  200    403     403       401       -
    PUT /api/admin/projects/<project_id>/groups/<group_id>/roles            nowhere  404    403  403     403   403  404    403     403       401       -
    DELETE /api/admin/projects/<project_id>/groups/<group_id>/roles         default  200    200  403     403   403  200    403     403       401       6
    DELETE /api/admin/projects/<project_id>/groups/<group_id>/roles         hermes   200    403  403     403   403  200    403     403       401       -
    DELETE /api/admin/projects/<project_id>/groups/<group_id>/roles         apollo   200    403  403     200   403  200    403     403       401       -
    DELETE /api/admin/projects/<project_id>/groups/<group_id>/roles         nowhere  404    403  403     403   403  404    403     403       401       -
"""


def prepare(world: World, cast: dict[str, Caller]) -> Arguments:
    """A group without roles, and the role Member for Victor."""
    group = groups.insert(world.conn, "a group")
    access = "/api/admin/projects/<project_id>/access"
    victor, olga, max = (cast[name].id for name in ("victor", "olga", "max"))
    # Owners and members stay the same, so that a refusal depends on the caller alone.
    everybody = [{"id": 4, "users": [olga], "groups": []}, {"id": 5, "users": [max, victor], "groups": [group]}]
    bodies = {
        f"POST {access}": {"roles": [5], "users": [victor], "groups": [group]},
        f"PUT {access}": {"roles": everybody},
    }
    return Arguments(words={"*": {"user_id": victor, "group_id": group}}, bodies=bodies)
