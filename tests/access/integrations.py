"""Integrations: for Admins, Editors, and custom root roles."""

from sql import integrations
from tests.access import Arguments
from tests.support.world import Caller, World

TABLE = """
    route                                 project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/addons                    -        200    200  403     403   403  200    403     403       401       2
    POST /api/admin/addons                   -        201    201  403     403   403  201    403     403       401       6
    GET /api/admin/addons/<addon_id>         -        200    200  403     403   403  200    403     403       401       2
    PUT /api/admin/addons/<addon_id>         -        200    200  403     403   403  200    403     403       401       7
    DELETE /api/admin/addons/<addon_id>      -        200    200  403     403   403  200    403     403       401       5
    GET /api/admin/addons/<addon_id>/events  -        200    200  403     403   403  200    403     403       401       2
    POST /api/admin/addons/<addon_id>/test   -        200    200  403     403   403  200    403     403       401       6
"""


def prepare(world: World, cast: dict[str, Caller]) -> Arguments:  # noqa: ARG001
    """An integration with an address that is refused at each attempt."""
    row = {"provider": "webhook", "description": None, "enabled": True, "parameters": {"url": "https://127.0.0.1/hook"}}
    row |= {"events": ["feature-created"], "projects": [], "environments": []}
    integration = integrations.insert(world.conn, row, None)
    assert integration is not None
    return Arguments(words={"*": {"addon_id": integration["id"]}})
