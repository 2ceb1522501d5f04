"""Sign up with a signup token."""

from flask import Blueprint, Response, current_app

from rules import signup
from rules.refusals import USER_TAKEN, Refusal
from serving.client_address import client_address
from serving.operation import operation
from serving.request_data import load
from serving.responses import empty_response, json_response
from validators.people.users import InvitedUser

bp = Blueprint("signup", __name__)
DISABLED = Refusal("The token is disabled or has expired.", "This signup token is disabled or has expired.")
UNKNOWN_TOKEN = Refusal("No token has that secret.", "No signup token has that secret.")
TOO_MANY_ATTEMPTS = Refusal(
    "This client address made too many attempts in the last minute.", "Too many sign-up attempts. Try again later."
)


@bp.get("/invite/<token>/validate")
@operation(
    record=None, refuses=(403, 404), public=True, errors={403: DISABLED, 404: UNKNOWN_TOKEN, 429: TOO_MANY_ATTEMPTS}
)
def validate_signup_token(token: str) -> Response:
    """Check whether a signup token works.

    The response has no body. A disabled or expired token is 403.
    """
    signup.check_token(token, client_address())
    return empty_response()


@bp.post("/invite/<token>/signup")
@operation(
    record="user",
    body=InvitedUser,
    refuses=(400, 403, 404, 409, 415),
    public=True,
    errors={
        400: Refusal(message="email: must be an email address such as ada@example.org"),
        403: DISABLED,
        404: UNKNOWN_TOKEN,
        409: USER_TAKEN,
        429: TOO_MANY_ATTEMPTS,
    },
)
def sign_up(token: str) -> Response:
    """Add a user via a signup token.

    Creates a user with the root role Viewer. The signup token lists the user. Creates no session.
    """
    # Our choice: the body is validated before the token is looked up. So a request with an invalid body learns nothing
    # about the token.
    payload = load(InvitedUser(current_app.config["PASSWORD_MIN_LENGTH"]))
    return json_response(signup.sign_up(token, payload, client_address()))
