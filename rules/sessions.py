"""Begin sessions, and log each login: who, how and from where."""

import secrets

from flask import current_app, g, request

from rules.log_lines import now, write
from sql import sessions
from sql.access import digest, mark_user_seen
from sql.database import Connection, database


def begin(conn: Connection, user_id: int, via: str, address: str, replaced: str = "") -> str:
    """Begin a session of a user, who counts as seen, and return its secret, which is the value of the cookie.

    via: password, oidc or proxy. replaced: the secret of the session that the new one replaces.
    """
    secret = secrets.token_urlsafe(32)
    sessions.delete(conn, digest(replaced))
    hours, agent = current_app.config["SESSION_TTL_HOURS"], request.user_agent.string[:200]
    sessions.insert(conn, digest(secret), user_id, hours, via, address, agent)
    mark_user_seen(conn, user_id)
    return secret


def log_login(result: str, via: str, address: str, user_id: int | None = None) -> None:
    """Count a login, and log it. Call this after the commit. result: succeeded, refused or throttled."""
    # Our choice: never the typed name, because people type passwords into its field.
    write({"time": now(), "requestId": g.request_id, "login": result, "via": via, "user": user_id, "address": address})
    if meter := database().meter:
        meter.count_login(result, via)
