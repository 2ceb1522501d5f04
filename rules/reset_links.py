"""Create links with which users set a password (neighbours.md 3.2)."""

from typing import Literal

from flask import current_app

from rules.access import Actor
from sql.database import Connection
from sql.people import reset_tokens


def create_link(conn: Connection, actor: Actor, user_id: int, page: Literal["new-user", "reset-password"]) -> str:
    """Create a link to a page of the web UI, and return it. It works once, for 24 hours.

    Older links of the user stop working.
    """
    token = reset_tokens.insert(conn, user_id, actor.name)
    reset_tokens.delete_expired(conn)
    return f"{current_app.config['BASE_URL']}/{page}?token={token}"
