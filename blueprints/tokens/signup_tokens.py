"""Public signup tokens. People sign up with the link of such a token."""

from flask import Blueprint, Response, abort, current_app

from rules.access import require
from rules.refusals import Refusal
from serving.operation import operation
from serving.request_data import load
from serving.responses import created, json_response
from sql import events
from sql.database import connection, transaction
from sql.events import Event
from sql.tokens import signup_tokens
from validators.tokens.signup_tokens import PublicSignupTokenCreate, SignupTokenUpdate

bp = Blueprint("signup_tokens", __name__)
UNKNOWN_TOKEN = Refusal("No token has that secret.", "No signup token has that secret.")


@bp.get("/api/admin/invite-link/tokens")
@operation(record="publicSignupTokens", refuses=(401, 403))
def list_signup_tokens() -> Response:
    """List public signup tokens.

    Returns all of them, newest first, including disabled and expired ones.
    """
    with connection() as conn:
        require(conn, "ADMIN")
        body = signup_tokens.list_all(conn, current_app.config["BASE_URL"])
    return json_response(body)


@bp.get("/api/admin/invite-link/tokens/<token>")
@operation(record="publicSignupToken", refuses=(401, 403, 404))
def get_signup_token(token: str) -> Response:
    """Get a public signup token.

    Returns the token with the users who signed up with it, oldest first.
    """
    with connection() as conn:
        require(conn, "ADMIN")
        body = signup_tokens.get(conn, token, current_app.config["BASE_URL"]) or abort(
            404, "No signup token has that secret."
        )
    return json_response(body)


@bp.post("/api/admin/invite-link/tokens")
@operation(record="publicSignupToken", body=PublicSignupTokenCreate, status=201, refuses=(400, 401, 403, 415))
def create_signup_token() -> Response:
    """Create a public signup token.

    People with the link of the token can create an account with the root role Viewer, until the token expires.
    """
    with transaction() as conn:
        actor = require(conn, "ADMIN")
        secret = signup_tokens.generate()
        token = signup_tokens.insert(conn, secret, load(PublicSignupTokenCreate()), created_by=actor.name)
        events.record(conn, Event("public-signup-token-created", actor, data=token))
        body = signup_tokens.get(conn, secret, current_app.config["BASE_URL"])
    return created(body, "tokens/{}", secret)


@bp.put("/api/admin/invite-link/tokens/<token>")
@operation(
    record="publicSignupToken",
    body=SignupTokenUpdate,
    refuses=(400, 401, 403, 404, 415),
    errors={400: Refusal(message="enabled: must be true or false"), 404: UNKNOWN_TOKEN},
)
def update_signup_token(token: str) -> Response:
    """Update a public signup token.

    Changes its expiry, whether it is enabled, or both. A token works until the instant of its expiry.
    """
    with transaction() as conn:
        actor = require(conn, "ADMIN")
        change = load(SignupTokenUpdate())
        before = signup_tokens.lock(conn, token) or abort(404, "No signup token has that secret.")
        after = signup_tokens.update(conn, before | change)
        events.record_change(conn, Event("public-signup-token-updated", actor, data=after, pre_data=before))
        body = signup_tokens.get(conn, token, current_app.config["BASE_URL"])
    return json_response(body)
