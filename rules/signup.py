"""Sign up with a signup token, and throttle this for each client address."""

from typing import Any

from flask import abort, current_app
from psycopg.rows import DictRow

from rules import password_login
from rules.access import Actor
from rules.instance_limits import unique_or_409
from rules.passwords import password_hasher
from sql import events, login_throttle
from sql.database import connection, transaction
from sql.events import Event
from sql.people import users
from sql.tokens import signup_tokens
from validators.errors import RateLimited


def check_token(token: str, address: str) -> None:
    """Raise 404 for an unknown signup token, 403 if it does not work, and 429 after too many attempts."""
    throttle(address)
    with connection() as conn:
        require_usable(signup_tokens.get_row(conn, token))


def sign_up(token: str, payload: dict[str, Any], address: str) -> str | None:
    """Create a user without a session, and return them as JSON text. Raise as check_token(), or 409."""
    check_token(token, address)
    person = {"name": payload["name"], "username": payload.get("username"), "email": payload["email"]}
    # Many people can have the same signup token, so they count as unknown.
    password_hash = password_hasher().hash(payload["password"], is_known=False)
    with transaction() as conn, unique_or_409(users.TAKEN):
        invite = require_usable(signup_tokens.hold(conn, token))
        user = users.insert(conn, **person, password_hash=password_hash, root_role=invite["root_role_id"])
        signup_tokens.add_user(conn, invite["id"], user["id"])
        actor = Actor(person["email"], user["id"])
        used = {"id": invite["id"], "name": invite["name"], "userId": user["id"]}
        events.record(
            conn,
            Event("user-created", actor, data=users.event_data(user)),
            Event("public-signup-token-user-added", actor, data=used),
        )
        return users.get(conn, user["id"])


def throttle(address: str) -> None:
    """Raise 429 if this client address tried too often in the last minute to sign up or to check a token."""
    with transaction() as conn:
        # Count signups separately, so that signups cannot block logins from the same address.
        wait = login_throttle.admit_address(conn, f"signup {address}", current_app.config["SIGNUP_ATTEMPTS_PER_MINUTE"])
    # Raise outside the transaction, so that the counts are committed.
    if wait:
        raise RateLimited("Too many sign-up attempts. Try again later.", wait)


def require_usable(invite: DictRow | None) -> DictRow:
    """Return the signup token. Raise 404 if it is None, and 403 if it does not work or PASSWORD_LOGIN is not on."""
    if invite is None:
        abort(404, "No signup token has that secret.")
    if not invite["is_usable"]:
        # Our choice: 403 for a token that no longer works, and 404 for an unknown secret.
        abort(403, "This signup token is disabled or has expired.")
    if not password_login.is_permitted(is_admin=False):
        abort(403, password_login.closed())
    return invite
