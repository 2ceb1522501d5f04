"""Log in with a user name or e-mail address and a password."""

from flask import Blueprint, Response, request

from rules import login, password_login
from rules.access import SESSION_COOKIE, require
from rules.refusals import Refusal
from serving.client_address import client_address
from serving.operation import operation
from serving.request_data import load
from serving.responses import json_response, json_text
from serving.session_cookie import set_session
from sql.database import connection
from validators.login import Login

bp = Blueprint("login", __name__)


@bp.post("/auth/simple/login")
@operation(
    record="user",
    body=Login,
    refuses=(400, 401, 415),
    public=True,
    errors={
        400: Refusal(message="username: is required; password: must be a string"),
        401: Refusal("Wrong user name or password."),
        429: Refusal(
            "There were too many failed logins with this name, or too many logins from this address.",
            "Too many login attempts. Try again later.",
        ),
    },
)
def log_in() -> Response:
    """Log in.

    Creates a session and sets its cookie. In the returned record, seenAt is the time of the previous login.
    """
    payload = load(Login())
    replaced = request.cookies.get(SESSION_COOKIE, "")
    session, body = login.log_in(payload["username"], payload["password"], client_address(), replaced)
    response = json_response(body)
    set_session(response, session)
    return response


@bp.get("/api/admin/auth/simple/settings")
@operation(record="passwordLogin", refuses=(401, 403))
def get_password_login_settings() -> Response:
    """Get whether login with a password is off.

    The setting PASSWORD_LOGIN decides it.
    """
    with connection() as conn:
        require(conn, "ADMIN")
    return json_response(json_text({"disabled": not password_login.is_permitted(is_admin=True)}))
