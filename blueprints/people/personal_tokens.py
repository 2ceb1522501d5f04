"""Personal access tokens, with which scripts act as you."""

from flask import Blueprint, Response

from rules.access import id_in_path, require_user
from rules.personal_tokens import issue, revoke
from rules.refusals import Refusal
from serving.operation import operation
from serving.request_data import load
from serving.responses import created, empty_response, json_response
from sql.database import connection, transaction
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
