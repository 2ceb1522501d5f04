"""Sign up with a signup token (api.md 8, neighbours.md 3.5)."""

from flask import Blueprint, Response, abort, current_app
from psycopg.rows import DictRow

from rules.access import Actor
from rules.instance_limits import unique_or_409
from rules.passwords import password_hasher
from serving.client_address import client_address
from serving.contract import operation
from serving.request_data import load
from serving.responses import empty_response, json_response
from sql import events, login_throttle
from sql.database import connection, transaction
from sql.events import Event
from sql.people import users
from sql.tokens import signup_tokens
from validators.errors import RateLimited
from validators.people.users import InvitedUser

bp = Blueprint("signup", __name__)


@bp.get("/invite/<token>/validate")
@operation(record=None, refuses=(403, 404), public=True)
def validate_signup_token(token: str) -> Response:
    """Check whether a signup token works.

    The response has no body. A disabled or expired token is 403.
    """
    throttle()
    with connection() as conn:
        require_usable(signup_tokens.get_row(conn, token))
    return empty_response()


@bp.post("/invite/<token>/signup")
@operation(record="user", body=InvitedUser, refuses=(400, 403, 404, 409, 415), public=True)
def sign_up(token: str) -> Response:
    """Add a user via a signup token.

    Creates a user with the root role Viewer. The signup token lists the user. Creates no session.
    """
    # Our choice: the body is validated before the token is looked up. So a request with an invalid body learns nothing
    # about the token.
    payload = load(InvitedUser(current_app.config["PASSWORD_MIN_LENGTH"]))
    throttle()
    with connection() as conn:
        require_usable(signup_tokens.get_row(conn, token))
    person = {"name": payload["name"], "username": payload.get("username"), "email": payload["email"]}
    password_hash = password_hasher().hash(payload["password"])
    with transaction() as conn, unique_or_409(users.TAKEN):
        invite = require_usable(signup_tokens.share(conn, token))
        user = users.insert(conn, **person, password_hash=password_hash, root_role=invite["root_role_id"])
        signup_tokens.add_user(conn, invite["id"], user["id"])
        actor = Actor(person["email"], user["id"])
        used = {"id": invite["id"], "name": invite["name"], "userId": user["id"]}
        events.record(
            conn,
            Event("user-created", actor, data=users.event_data(user)),
            Event("public-signup-token-user-added", actor, data=used),
        )
        body = users.get(conn, user["id"])
    return json_response(body)


def throttle() -> None:
    """Raise 429 if this client address tried too often in the last minute to sign up or to validate a token."""
    with transaction() as conn:
        # Count signups separately, so that signups cannot block logins from the same address.
        wait = login_throttle.admit_address(
            conn, f"signup {client_address()}", current_app.config["SIGNUP_ATTEMPTS_PER_MINUTE"]
        )
    # Raise outside the transaction, so that the counts are committed.
    if wait:
        raise RateLimited("Too many sign-up attempts. Try again later.", wait)


def require_usable(invite: DictRow | None) -> DictRow:
    """Return the signup token. Raise 404 if it is None, and 403 if it is disabled or has expired."""
    if invite is None:
        abort(404, "No signup token has that secret.")
    if not invite["is_usable"]:
        # Our choice: 403 for a token that no longer works, and 404 for an unknown secret.
        abort(403, "This signup token is disabled or has expired.")
    return invite
