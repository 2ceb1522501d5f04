"""Signup tokens: for administrators. Validation is public."""

from datetime import UTC, datetime, timedelta

from tests.access import Arguments
from tests.support import fixtures
from tests.support.world import Caller, World

TABLE = """
    route                                      project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/invite-link/tokens          -        200    403  403     403   403  200    403     403       401       2
    POST /api/admin/invite-link/tokens         -        201    403  403     403   403  201    403     403       401       6
    GET /api/admin/invite-link/tokens/<token>  -        200    403  403     403   403  200    403     403       401       2
    PUT /api/admin/invite-link/tokens/<token>  -        200    403  403     403   403  200    403     403       401       7
    GET /invite/<token>/validate               -        200    200  200     200   200  200    200     200       200       5
"""


def prepare(world: World, cast: dict[str, Caller]) -> Arguments:  # noqa: ARG001
    """A token, which is to be disabled."""
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    token = fixtures.signup_token(world.conn, name="a token", expires_at=tomorrow, created_by="alice")["secret"]
    bodies = {
        "POST /api/admin/invite-link/tokens": {"name": "a new token", "expiresAt": "2099-12-31T00:00:00Z"},
        "PUT /api/admin/invite-link/tokens/<token>": {"enabled": False},
    }
    return Arguments(words={"*": {"token": token}}, bodies=bodies)
