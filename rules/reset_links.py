"""Links with which users set a password: create, check and use them."""

from typing import Any, Literal

from flask import abort, current_app

from rules import password_login
from rules.access import Actor
from rules.passwords import password_hasher, refuse_reused_password
from rules.users import hold_role, replace_password
from sql import login_throttle
from sql.database import Connection, connection, transaction
from sql.people import past_passwords, reset_tokens, users
from validators.errors import RateLimited

# Our choice: unknown, used and expired links get the same response, after the same statements.
UNUSABLE = "This link does not exist, was used or has expired. Ask an administrator for a new one."


def create_link(
    conn: Connection, actor: Actor, user: dict[str, Any], page: Literal["new-user", "reset-password"]
) -> str:
    """Return a new link to a page, or an empty string if PASSWORD_LOGIN excludes the user.

    It works once, for 24 hours. Older links of the user stop working.
    """
    if not password_login.is_permitted(is_admin=hold_role(conn, user["rootRole"])["is_admin"]):
        return ""
    token = reset_tokens.insert(conn, user["id"], actor.name)
    reset_tokens.delete_expired(conn)
    return f"{current_app.config['BASE_URL']}/{page}?token={token}"


def check_link(token: str, address: str) -> str:
    """Return the user of a link as JSON text. Raise 401, or 429 for too many attempts of the address."""
    throttle("reset", address)
    with connection() as conn:
        return reset_tokens.get(conn, token) or abort(401, UNUSABLE)


def set_password(token: str, password: str, address: str) -> dict[str, Any]:
    """Set a password by a link, and return the user as events do. Raise as check_link(), or 400."""
    throttle("reset", address)
    with connection() as conn:
        user_id = user_of(conn, token)
        user = past_passwords.find(conn, user_id) or abort(401, UNUSABLE)
    refuse_reused_password(user, password)
    password_hash = password_hasher().hash(password)
    with transaction() as conn:
        # Lock the row first. Of two requests with one token, the second then finds it used.
        user = users.lock(conn, user_id) or abort(401, UNUSABLE)
        user_of(conn, token)
        return replace_password(conn, Actor(user["email"] or user["username"], user_id), user, password_hash)


def user_of(conn: Connection, token: str) -> int:
    """Return the id of the user of a link. Raise 401 if the link does not work."""
    return reset_tokens.find_user(conn, token) or abort(401, UNUSABLE)


def throttle(kind: str, address: str, factor: int = 1) -> None:
    """Delete expired links. Raise 429 above factor times LOGIN_ATTEMPTS_PER_MINUTE from this address."""
    most = factor * current_app.config["LOGIN_ATTEMPTS_PER_MINUTE"]
    with transaction() as conn:
        # Count each kind apart from logins, so that they cannot block logins of the same address.
        wait = login_throttle.admit_address(conn, f"{kind} {address}", most)
        reset_tokens.delete_expired(conn)
    # Raise outside the transaction, because it also deletes old rows.
    if wait:
        raise RateLimited("Too many attempts. Try again later.", wait)
