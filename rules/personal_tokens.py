"""Create and delete personal access tokens, with the events."""

from typing import Any

from flask import abort, current_app

from rules.access import Actor
from rules.instance_limits import unique_or_409
from rules.refusals import quantity
from sql import events
from sql.database import Connection
from sql.events import Event
from sql.people import personal_tokens


def issue(conn: Connection, actor: Actor, owner_id: int, payload: dict[str, Any]) -> tuple[int, str]:
    """Create a token of a user or service account, record the event, and return its id and its record as JSON text.

    Raise 409 if the owner has too many tokens, or one with this description.
    """
    limit = current_app.config["MAX_PERSONAL_TOKENS"]
    count = personal_tokens.count(conn, owner_id)
    if count is None:
        abort(401, "This user has been deleted.")
    if count >= limit:
        most = f"A user can have at most {quantity(limit, 'personal access token')}."
        abort(409, f"{most} The setting MAX_PERSONAL_TOKENS raises this limit.")
    with unique_or_409(personal_tokens.TAKEN):
        secret = personal_tokens.insert(conn, owner_id, payload["description"], payload["expiresAt"])
    token, body = personal_tokens.get(conn, secret)
    events.record(conn, Event("pat-created", actor, data=token))
    return token["id"], body


def revoke(conn: Connection, actor: Actor, owner_id: int, token_id: int) -> None:
    """Delete a token of a user or service account, and record the event. Raise 404 if the owner has no such token."""
    token = personal_tokens.delete(conn, token_id, owner_id)
    if token is None:
        # Our choice: a token of another user is 404 too.
        abort(404, "No personal access token has that id.")
    events.record(conn, Event("pat-deleted", actor, data=token))
