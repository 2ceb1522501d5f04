"""One's own account: who one is, one's password, and the end of one's sessions (neighbours.md 3.1)."""

from flask import Blueprint, Response, abort, current_app, request
from psycopg.rows import DictRow
from werkzeug.exceptions import BadRequest, Unauthorized

from rules.access import SESSION_COOKIE, credentials, require, require_user
from rules.login import count_failure, name_digest, refuse_for
from rules.passwords import passwords
from serving.contract import operation
from serving.request_data import load
from serving.responses import empty_response, json_response
from sql import account as accounts
from sql import login_throttle, sessions
from sql.database import connection, transaction
from sql.people import past_passwords, users
from validators.people.users import ChangePassword, refuse_own_name

bp = Blueprint("account", __name__)


@bp.get("/api/admin/user")
@operation(record="me", refuses=(401, 403))
def get_account() -> Response:
    """Get who you are and what you may do.

    Who may do everything has the permission ADMIN alone. Without a project or environment, a permission holds in all of them.
    """
    with connection() as conn:
        actor = require(conn)
        body = accounts.get(conn, actor.user_id, credentials(request)[0])
    return json_response(body)


@bp.post("/api/admin/user/change-password")
@operation(body=ChangePassword, refuses=(401, 403, 415))
def update_own_password() -> Response:
    """Change your own password.

    All of your sessions end, the one that asks for this included.
    """
    with connection() as conn:
        _, user_id = require_user(conn, credential="session")
        asked = load(ChangePassword(current_app.config["PASSWORD_MIN_LENGTH"]))
        user = past_passwords.find(conn, user_id) or abort(404, "This user has been deleted.")
    verify(user, asked["oldPassword"])
    refuse_known(user, asked["password"])
    password_hash = passwords().hash(asked["password"])
    with transaction() as conn:
        # The row first: whoever changes the password at the same time ends this session before require() looks at it.
        users.lock(conn, user_id)
        require_user(conn, credential="session")
        past_passwords.replace(conn, user_id, password_hash)
        sessions.delete_of_user(conn, user_id)
    return empty_response()


@bp.post("/logout")
@operation(status=302, refuses=(401, 403))
def log_out() -> Response:
    """Log out.

    Ends all sessions of the user, on other devices too, and sends the browser to the start page.
    """
    with transaction() as conn:
        _, user_id = require_user(conn, credential="session")
        sessions.delete_of_user(conn, user_id)
    response = empty_response(302)
    response.headers["Location"] = f"{current_app.config['BASE_PATH']}/"
    response.headers["Clear-Site-Data"] = '"cookies", "storage"'
    clear_session(response)
    return response


@bp.get("/logout")
@operation(status=302, refuses=(401, 403))
def log_out_by_link() -> Response:
    """Log out by a link.

    The same for old clients and links. A link on a page of another site is refused.
    """
    return log_out()


def verify(user: DictRow, old_password: str) -> None:
    """401 unless this is the password of the user; failures count as those of a login, so that a stolen session is no way to guess it."""
    name = name_digest(user["email"] or user["username"])
    with transaction() as conn:
        wait = login_throttle.name_wait(conn, name)
    refuse_for(wait)
    right = passwords().matches(old_password, user["password_hash"])
    with transaction() as conn:
        # Others may have failed with this name while this password was compared.
        wait = login_throttle.name_wait(conn, name) if right else count_failure(conn, user, name)
    refuse_for(wait)
    if not right:
        raise Unauthorized("oldPassword: is not your present password")


def refuse_known(user: DictRow, password: str) -> None:
    """400 for a password that is a name of the user's, or one of his last ones."""
    refuse_own_name(password, user)
    if any(passwords().matches(password, kept) for kept in user["last_hashes"]):
        raise BadRequest(f"password: must not be one of your last {past_passwords.REMEMBERED} passwords")


def clear_session(response: Response) -> None:
    """Have the browser forget the session: the cookie of a login, with the same attributes."""
    config = current_app.config
    is_secure = config["BASE_URL"].startswith("https:")
    response.delete_cookie(SESSION_COOKIE, path=config["BASE_PATH"] or "/", secure=is_secure, httponly=True, samesite="Lax")
