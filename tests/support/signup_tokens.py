"""Signup tokens for tests: creates, updates and reads them."""

from datetime import datetime, timedelta
from typing import Any

from werkzeug.test import TestResponse

from sql.database import Connection, one, value
from tests.support import fixtures
from tests.support.world import Caller

EXPIRY = "2099-12-31T23:59:59.999Z"


def make_token(conn: Connection, *, expires_in: timedelta = timedelta(days=1), enabled: bool = True, **fields: Any) -> str:
    """The secret of a token named 'for friends'; its expiry counts from now()."""
    expires_at: datetime = value(conn, "SELECT now()") + expires_in
    fields = {"name": "for friends", "created_by": "alice@example.org"} | fields
    return fixtures.signup_token(conn, expires_at=expires_at, enabled=enabled, **fields)["secret"]


def put(caller: Caller, secret: str, **change: Any) -> TestResponse:
    """Change a token."""
    return caller.put(f"/api/admin/invite-link/tokens/{secret}", json=change)


def stored(conn: Connection, secret: str) -> dict[str, Any]:
    """What the table holds of a token, as the log tells it."""
    return one(conn, 'SELECT id, name, enabled, iso(expires_at) AS "expiresAt" FROM signup_tokens WHERE secret = %(it)s', {"it": secret})
