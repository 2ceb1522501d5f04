"""Set a password by a link from an administrator (neighbours.md 3.2)."""

from flask import Blueprint, Response, abort, current_app

from rules.access import Actor
from rules.passwords import password_hasher, refuse_reused_password
from serving.client_address import client_address
from serving.contract import operation
from serving.request_data import load, load_query
from serving.responses import empty_response, json_response
from sql import events, login_throttle, sessions
from sql.database import Connection, connection, transaction
from sql.events import Event
from sql.people import past_passwords, reset_tokens, users
from validators.errors import RateLimited
from validators.people.users import CheckPassword, ResetPassword, ResetToken

bp = Blueprint("password_reset", __name__)

# Our choice: unknown, used and expired links get the same response, after the same statements.
UNUSABLE = "This link does not exist, was used or has expired. Ask an administrator for a new one."
# Our choice: web pages check a password while it is typed, so these checks have a higher limit of their own.
CHECKS_PER_ATTEMPT = 10


@bp.get("/auth/reset/validate")
@operation(record="resetToken", query=ResetToken, refuses=(401,), public=True)
def validate_reset_token() -> Response:
    """Check a link to set a password.

    Returns the user of the link. Does not use the link up.
    """
    token = load_query(ResetToken)["token"]
    throttle("reset")
    with connection() as conn:
        body = reset_tokens.get(conn, token) or abort(401, UNUSABLE)
    return json_response(body)


@bp.post("/auth/reset/password")
@operation(body=ResetPassword, refuses=(400, 401, 415), public=True)
def set_password_by_link() -> Response:
    """Set a password by a link.

    The link then stops working, and all sessions of the user end. The password must not be one of the user's last five.
    """
    # The body is checked before the token is looked up. So an invalid body reveals nothing about the token.
    payload = load(ResetPassword(current_app.config["PASSWORD_MIN_LENGTH"]))
    throttle("reset")
    with connection() as conn:
        user_id = user_of(conn, payload["token"])
        user = past_passwords.find(conn, user_id) or abort(401, UNUSABLE)
    refuse_reused_password(user, payload["password"])
    password_hash = password_hasher().hash(payload["password"])
    with transaction() as conn:
        # Lock the row first. Of two requests with one token, the second then finds it used.
        user = users.lock(conn, user_id) or abort(401, UNUSABLE)
        user_of(conn, payload["token"])
        past_passwords.replace(conn, user_id, password_hash)
        sessions.delete_of_user(conn, user_id)
        data = users.event_data(user)
        actor = Actor(user["email"] or user["username"], user_id)
        events.record(conn, Event("user-updated", actor, data=data, pre_data=data))
    return empty_response()


@bp.post("/auth/reset/validate-password")
@operation(body=CheckPassword, refuses=(400, 415), public=True)
def validate_reset_password() -> Response:
    """Check a new password before it is set by a link.

    200 if its length is valid. When it is set, the user's names and last five passwords are refused too.
    """
    throttle("password", CHECKS_PER_ATTEMPT)
    load(CheckPassword(current_app.config["PASSWORD_MIN_LENGTH"]))
    return empty_response()


def user_of(conn: Connection, token: str) -> int:
    """Return the id of the user of a link. Raise 401 if the link does not work."""
    return reset_tokens.find_user(conn, token) or abort(401, UNUSABLE)


def throttle(kind: str, factor: int = 1) -> None:
    """Raise 429 if this client address made too many requests of a kind in the last minute. Also delete expired links.

    factor: how many times LOGIN_ATTEMPTS_PER_MINUTE are allowed.
    """
    most = factor * current_app.config["LOGIN_ATTEMPTS_PER_MINUTE"]
    with transaction() as conn:
        # Count each kind apart from logins, so that they cannot block logins of the same address.
        wait = login_throttle.admit_address(conn, f"{kind} {client_address()}", most)
        reset_tokens.delete_expired(conn)
    # Raise outside the transaction, because it also deletes old rows.
    if wait:
        raise RateLimited("Too many attempts. Try again later.", wait)
