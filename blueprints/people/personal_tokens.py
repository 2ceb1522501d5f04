"""Personal access tokens: keys with which scripts act as a user (neighbours.md 3.1)."""

from typing import Any

from flask import Blueprint, Response, abort, current_app

from rules.access import Actor, id_in_path, require_user
from rules.limits import unique
from serving.contract import operation
from serving.request_data import load
from serving.responses import created, empty_response, json_response
from sql import events
from sql.database import Connection, connection, transaction
from sql.events import Event
from sql.people import personal_tokens
from validators.people.personal_tokens import CreatePersonalToken

bp = Blueprint("personal_tokens", __name__)


@bp.get("/api/admin/user/tokens")
@operation(record="personalTokens", refuses=(401, 403))
def list_personal_tokens() -> Response:
    """List your personal access tokens.

    Without their secrets, which nobody can see again.
    """
    with connection() as conn:
        _, user_id = require_user(conn)
        body = personal_tokens.list_of_user(conn, user_id)
    return json_response(body)


@bp.post("/api/admin/user/tokens")
@operation(record="personalToken", body=CreatePersonalToken, status=201, refuses=(401, 403, 409, 415))
def create_personal_token() -> Response:
    """Make a personal access token.

    It can do what you can do, until it expires. Its secret is in this answer and never again. A request with a personal access token cannot
    create one that expires later than its own.
    """
    with transaction() as conn:
        actor, user_id = require_user(conn)
        # Our choice: no token outlives the one that made it, so a stolen one cannot be renewed.
        asked = load(CreatePersonalToken(latest=actor.token_expires_at))
        token_id, body = issue(conn, actor, user_id, asked)
    return created(body, "tokens/{}", token_id)


@bp.delete("/api/admin/user/tokens/<token_id>")
@operation(refuses=(401, 403, 404))
def delete_personal_token(token_id: str) -> Response:
    """Delete one of your personal access tokens.

    It stops working at once.
    """
    with transaction() as conn:
        actor, user_id = require_user(conn)
        revoke(conn, actor, user_id, id_in_path(token_id))
    return empty_response()


def issue(conn: Connection, actor: Actor, owner_id: int, asked: dict[str, Any]) -> tuple[int, str]:
    """The id and the record of a new token of this user or service account; 409 when he has too many, or one of that description."""
    most = current_app.config["MAX_PERSONAL_TOKENS"]
    held = personal_tokens.count(conn, owner_id)
    if held is None:
        abort(401, "This user has been deleted.")
    if held >= most:
        abort(409, f"One user can have at most {most} personal access tokens.")
    with unique(personal_tokens.TAKEN):
        secret = personal_tokens.insert(conn, owner_id, asked["description"], asked["expiresAt"])
    said, body = personal_tokens.get(conn, secret)
    events.record(conn, Event("pat-created", actor, data=said))
    return said["id"], body


def revoke(conn: Connection, actor: Actor, owner_id: int, token_id: int) -> None:
    """End a token of this user or service account; 404 when he has none of that id."""
    said = personal_tokens.delete(conn, token_id, owner_id)
    if said is None:
        # Our choice: somebody else's is not there.
        abort(404, "No personal access token has that id.")
    events.record(conn, Event("pat-deleted", actor, data=said))
