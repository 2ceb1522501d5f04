"""Banners: every user reads them, administrators write them."""

from tests.access import Arguments
from tests.support.world import Caller, World

TABLE = """
    route                                    project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/banners                   -        200    200  200     200   200  200    403     403       401       2
    POST /api/admin/banners                  -        201    403  403     403   403  201    403     403       401       5
    PUT /api/admin/banners/<banner_id>       -        200    403  403     403   403  200    403     403       401       6
    DELETE /api/admin/banners/<banner_id>    -        200    403  403     403   403  200    403     403       401       5
    POST /api/admin/banners/<banner_id>/on   -        200    403  403     403   403  200    403     403       401       6
    POST /api/admin/banners/<banner_id>/off  -        200    403  403     403   403  200    403     403       401       5
"""


def prepare(world: World, cast: dict[str, Caller]) -> Arguments:  # noqa: ARG001
    """A banner."""
    banner = cast["alice"].post("/api/admin/banners", json={"message": "Welcome", "enabled": False}).json
    return Arguments(words={"*": {"banner_id": banner["id"]}})
