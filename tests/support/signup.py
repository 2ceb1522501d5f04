"""Signs up guests with a signup token, and counts what that leaves."""

from datetime import datetime, timedelta
from typing import Any

from werkzeug.test import TestResponse

from sql.database import one, value
from tests.support import fixtures
from tests.support.world import Caller, World


def invitation(world: World, *, expires_in: timedelta = timedelta(days=1), enabled: bool = True) -> str:
    now: datetime = value(world.conn, "SELECT now()")
    token = fixtures.signup_token(
        world.conn, name="for friends", expires_at=now + expires_in, created_by="alice@example.org", enabled=enabled
    )
    return token["secret"]


def guest(**changes: Any) -> dict[str, Any]:
    return {
        "username": "grace",
        "email": "grace@example.org",
        "name": "Grace Hopper",
        "password": "amazing grace",
    } | changes


def sign_up(caller: Caller, secret: str, **changes: Any) -> TestResponse:
    """Sign Grace up with a token, or somebody who is not quite Grace; a field of ... is left out."""
    body = {field: content for field, content in guest(**changes).items() if content is not ...}
    return caller.post(f"/invite/{secret}/signup", json=body)


def counts(world: World) -> dict[str, int]:
    """How many rows there are in the tables that a signup writes to."""
    statement = """
        SELECT (SELECT count(*) FROM users) AS users,
               (SELECT count(*) FROM signup_token_users) AS links,
               (SELECT count(*) FROM sessions) AS sessions
    """
    return one(world.conn, statement)
