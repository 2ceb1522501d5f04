"""Sign up with a signup token (api.md 8, neighbours.md 3.5)."""

from flask import Blueprint, Response, current_app

from rules import signup
from serving.client_address import client_address
from serving.contract import operation
from serving.request_data import load
from serving.responses import empty_response, json_response
from validators.people.users import InvitedUser

bp = Blueprint("signup", __name__)


@bp.get("/invite/<token>/validate")
@operation(record=None, refuses=(403, 404), public=True)
def validate_signup_token(token: str) -> Response:
    """Check whether a signup token works.

    The response has no body. A disabled or expired token is 403.
    """
    signup.check_token(token, client_address())
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
    return json_response(signup.sign_up(token, payload, client_address()))
