"""Who may change a signup token: whoever administers."""

from datetime import UTC, datetime, timedelta

from sql import signup_tokens
from tests.access import Props
from tests.world import Caller, World

TABLE = """
    route                                      project  alice  eve  victor  olga  max  admin  client  frontend  stranger

    PUT /api/admin/invite-link/tokens/<token>  -        200    403  403     403   403  200    403     403       401
"""


def furnish(world: World, cast: dict[str, Caller]) -> Props:  # noqa: ARG001
    """A token, which is to be disabled."""
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    token = signup_tokens.insert(world.conn, name="a token", expires_at=tomorrow, created_by="alice")["secret"]
    return Props(words={"*": {"token": token}}, bodies={"PUT /api/admin/invite-link/tokens/<token>": {"enabled": False}})
