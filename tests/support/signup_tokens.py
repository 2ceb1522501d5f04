"""Signup tokens for tests: creates, updates and reads them."""

from datetime import datetime, timedelta
from typing import Any

from werkzeug.test import TestResponse

from sql.database import Connection, value
from tests.support import fixtures
from tests.support.world import Caller

EXPIRY = "2099-12-31T23:59:59.999Z"


def make_token(
    conn: Connection, *, expires_in: timedelta = timedelta(days=1), enabled: bool = True, **fields: Any
) -> str:
    """The secret of a token named 'for friends'; its expiry counts from now()."""
    expires_at: datetime = value(conn, "SELECT now()") + expires_in
    fields = {"name": "for friends", "created_by": "alice@example.org"} | fields
    return fixtures.signup_token(conn, expires_at=expires_at, enabled=enabled, **fields)["secret"]


def put(caller: Caller, secret: str, **change: Any) -> TestResponse:
    return caller.put(f"/api/admin/invite-link/tokens/{secret}", json=change)


# Columns that the log does not show.
UNLOGGED = ["secret", "expires_at", "created_at", "created_by", "root_role_id", "root_role_scope"]
STORED = """
    SELECT to_jsonb(signup_tokens) - %(unlogged)s::text[] || jsonb_build_object('expiresAt', iso(expires_at))
      FROM signup_tokens
     WHERE secret = %(secret)s
"""


def stored(conn: Connection, secret: str) -> dict[str, Any]:
    """Return the columns of a token that its events show."""
    return value(conn, STORED, {"unlogged": UNLOGGED, "secret": secret})
