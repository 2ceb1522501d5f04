"""Personal access tokens, with which scripts act as you."""

from typing import Any

from flask import Blueprint, Response, abort, current_app

from rules.access import Actor, id_in_path, require_user
from rules.instance_limits import unique_or_409
from rules.refusals import quantity
from serving.contract import Refusal, operation
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

    Does not return their secrets.
    """
    with connection() as conn:
        _, user_id = require_user(conn)
        body = personal_tokens.list_of_user(conn, user_id)
    return json_response(body)


@bp.post("/api/admin/user/tokens")
@operation(
    record="personalToken",
    body=CreatePersonalToken,
    status=201,
    refuses=(401, 403, 409, 415),
    errors={
        409: Refusal(
            "You have the maximum number of tokens, or a token with this description.",
            "description: a token with this description already exists",
            name="NameExistsError",
        )
    },
)
def create_personal_token() -> Response:
    """Create a personal access token.

    The token has your permissions until it expires. Only this response contains its secret. A personal access token
    cannot create another one that expires later than itself.
    """
    with transaction() as conn:
        actor, user_id = require_user(conn)
        # Our choice: no token outlives the token that created it, so that a stolen token cannot be renewed.
        payload = load(CreatePersonalToken(latest=actor.token_expires_at))
        token_id, body = issue(conn, actor, user_id, payload)
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
