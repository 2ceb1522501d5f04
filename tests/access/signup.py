"""Signing up is open to the world."""

from datetime import UTC, datetime, timedelta

from tests.access import Arguments
from tests.support import fixtures
from tests.support.world import PASSWORD, Caller, World

TABLE = """
    route                        project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    POST /invite/<token>/signup  -        200    200  200     200   200  200    200     200       200       12
"""


def prepare(world: World, cast: dict[str, Caller]) -> Arguments:  # noqa: ARG001
    """A token that invites, and somebody new."""
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    token = fixtures.signup_token(world.conn, name="an invitation", expires_at=tomorrow, created_by="alice")["secret"]
    newcomer = {"email": "new@example.org", "name": "New Comer", "password": PASSWORD}
    return Arguments(words={"*": {"token": token}}, bodies={"POST /invite/<token>/signup": newcomer})
