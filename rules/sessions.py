"""Begin sessions."""

import secrets

from flask import current_app

from sql import sessions
from sql.access import digest, mark_user_seen
from sql.database import Connection


def begin(conn: Connection, user_id: int, via: str, address: str, replaced: str = "") -> str:  # noqa: ARG001
    """Begin a session and return its secret. replaced: the secret of the session that it replaces."""
    secret = secrets.token_urlsafe(32)
    sessions.delete(conn, digest(replaced))
    sessions.insert(conn, digest(secret), user_id, current_app.config["SESSION_TTL_HOURS"], via)
    mark_user_seen(conn, user_id)
    return secret


def log_login(result: str, via: str, address: str, user_id: int | None = None) -> None:
    """Log a login."""
