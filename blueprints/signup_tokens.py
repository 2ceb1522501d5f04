"""Public signup tokens (api.md 1)."""

from flask import Blueprint, Response, abort, current_app

from blueprints.access import require
from blueprints.contract import operation
from blueprints.respond import json_response
from sql import events, signup_tokens, transaction
from validators import load
from validators.signup_tokens import SignupTokenUpdate

bp = Blueprint("signup_tokens", __name__)


@bp.put("/api/admin/invite-link/tokens/<token>")
@operation(record="publicSignupToken", body=SignupTokenUpdate, refuses=(400, 401, 403, 404, 415))
def update_signup_token(token: str) -> Response:
    """Update a public signup token.

    Changes its expiry, its enabled flag, or both. A token works until the instant of its expiry.
    """
    with transaction() as conn:
        actor = require(conn, "ADMIN")
        asked = load(SignupTokenUpdate())
        before = signup_tokens.lock(conn, token)
        if before is None:
            abort(404, "No signup token has that secret.")
        after = signup_tokens.update(conn, before["id"], enabled=asked.get("enabled"), expires_at=asked.get("expiresAt"))
        # Our choice: a request that changes nothing is no change, and the log tells what is stored: an expired token that nobody has
        # disabled stands there as enabled.
        if after != before:
            events.record(conn, "public-signup-token-updated", actor, data=after, pre_data=before)
        body = signup_tokens.get(conn, before["id"], current_app.config["BASE_URL"])
    return json_response(body)
