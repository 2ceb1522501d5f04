"""Log in with a user name or e-mail address and a password (api.md 6)."""

import secrets

from flask import Blueprint, Response, current_app, request
from psycopg.rows import DictRow
from werkzeug.exceptions import Unauthorized

from rules.access import SESSION_COOKIE, digest
from rules.login import count_failure, name_digest, raise_if_throttled
from rules.passwords import password_hasher
from serving.client_address import client_address
from serving.contract import operation
from serving.request_data import load
from serving.responses import json_response
from sql import login_throttle, sessions
from sql.access import mark_user_seen
from sql.database import Connection, connection, transaction
from sql.people import users
from validators.login import Login

bp = Blueprint("login", __name__)


@bp.post("/auth/simple/login")
@operation(record="user", body=Login, refuses=(400, 401, 415), public=True)
def log_in() -> Response:
    """Log in.

    Creates a session and sets its cookie. In the returned record, seenAt is the time of the previous login.
    """
    payload = load(Login())
    with transaction() as conn:
        wait = login_throttle.admit_address(conn, client_address(), current_app.config["LOGIN_ATTEMPTS_PER_MINUTE"])
    raise_if_throttled(wait)
    name = name_digest(payload["username"])
    with connection() as conn:
        wait = login_throttle.name_wait(conn, name)
    raise_if_throttled(wait)
    session = secrets.token_urlsafe(32)
    body, wait = try_password(payload["username"], name, payload["password"], session)
    raise_if_throttled(wait)
    # Our choice: a wrong password and an unknown, deleted or password-less user get the same response.
    if body is None:
        raise Unauthorized("Wrong user name or password.")
    response = json_response(body)
    response.set_cookie(
        SESSION_COOKIE,
        session,
        max_age=current_app.config["SESSION_TTL_HOURS"] * 3600,
        path=current_app.config["BASE_PATH"] or "/",
        secure=current_app.config["BASE_URL"].startswith("https:"),
        httponly=True,
        samesite="Lax",
    )
    return response


def try_password(username: str, name: bytes, password: str, session: str) -> tuple[str | None, int]:
    """Compare the password and begin the session. Return the user record or None, and the seconds to wait.

    Success: the record and 0. Wrong password: None and 0. Too many failures with this name: None and the seconds.
    """
    user = None
    # Try twice at most. A concurrent login may have replaced the compared hash by one with the current BCRYPT_ROUNDS.
    for _ in range(2):
        with connection() as conn:
            user = users.find_for_login(conn, username)
        password_hash = user["password_hash"] if user else None
        if not password_hasher().matches(password, password_hash) or user is None:
            break
        new_hash = password_hasher().hash(password) if password_hasher().needs_rehash(user["password_hash"]) else None
        names = [
            name,
            *(name_digest(other) for other in (user["username"], user["email"]) if other not in (None, username)),
        ]
        with transaction() as conn:
            # Other requests may have failed with this name while the password was compared.
            wait = login_throttle.name_wait(conn, name)
            body = None if wait else begin_session(conn, user, names, new_hash, session)
        if body is not None or wait:
            return body, wait
    # Use a new transaction, because every transaction must lock rows of the throttle before rows of users.
    with transaction() as conn:
        return None, count_failure(conn, user, name)


def begin_session(
    conn: Connection, user: DictRow, names: list[bytes], new_hash: str | None, session: str
) -> str | None:
    """Replace the session of the request by a new one and return the user record.

    Return None if the user was deleted, or their password changed, while the password was compared.
    """
    body = users.log_in(conn, user["id"], user["password_hash"], new_hash)
    if body is not None:
        sessions.delete(conn, digest(request.cookies.get(SESSION_COOKIE, "")))
        sessions.insert(conn, digest(session), user["id"], current_app.config["SESSION_TTL_HOURS"])
        login_throttle.forget(conn, *names)
        mark_user_seen(conn, user["id"])
    return body
