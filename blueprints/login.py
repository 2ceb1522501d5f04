"""Log in with a user name or e-mail address and a password."""

from flask import Blueprint, Response, request

from rules import login
from rules.access import SESSION_COOKIE
from rules.refusals import Refusal
from serving.client_address import client_address
from serving.operation import operation
from serving.request_data import load
from serving.responses import json_response
from serving.session_cookie import set_session
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
