"""Set a password by a link from an administrator."""

from flask import Blueprint, Response, current_app

from rules import reset_links
from rules.refusals import Refusal
from serving import mail
from serving.client_address import client_address
from serving.operation import operation
from serving.request_data import load, load_query
from serving.responses import empty_response, json_response
from validators.people.users import CheckPassword, ForgottenPassword, ResetPassword, ResetToken

bp = Blueprint("password_reset", __name__)
INVALID_LINK = Refusal(
    "The link does not exist, was used or has expired.",
    "This link does not exist, was used or has expired. Ask an administrator for a new one.",
)
TOO_MANY_ATTEMPTS = Refusal(
    "This client address made too many attempts in the last minute.", "Too many attempts. Try again later."
)

# Our choice: web pages check a password while it is typed, so these checks have a higher limit of their own.
CHECKS_PER_ATTEMPT = 10


@bp.get("/auth/reset/validate")
@operation(
    record="resetToken",
    query=ResetToken,
    refuses=(401,),
    public=True,
    errors={401: INVALID_LINK, 429: TOO_MANY_ATTEMPTS},
)
def validate_reset_token() -> Response:
    """Check a link to set a password.

    Returns the user of the link. Does not use the link up.
    """
    return json_response(reset_links.check_link(load_query(ResetToken)["token"], client_address()))


@bp.post("/auth/reset/password")
@operation(
    body=ResetPassword,
    refuses=(400, 401, 415),
    public=True,
    errors={
        400: Refusal(message="password: must not be one of your last 5 passwords"),
        401: INVALID_LINK,
        429: TOO_MANY_ATTEMPTS,
    },
)
def set_password_by_link() -> Response:
    """Set a password by a link.

    The link then stops working, and all sessions of the user end. The password must not be one of the user's last five.
    """
    # The body is checked before the token is looked up. So an invalid body reveals nothing about the token.
    payload = load(ResetPassword(current_app.config["PASSWORD_MIN_LENGTH"]))
    reset_links.set_password(payload["token"], payload["password"], client_address())
    return empty_response()


@bp.post("/auth/reset/password-email")
@operation(
    body=ForgottenPassword,
    refuses=(400, 409, 415),
    public=True,
    errors={409: Refusal("The service sends no e-mail.", mail.OFF), 429: TOO_MANY_ATTEMPTS},
)
def send_reset_password_email() -> Response:
    """Send a link to set a password by e-mail.

    The response is the same for unknown addresses. A user gets one e-mail in 5 minutes, and none without a password.
    """
    mail.ask_for_reset_link(load(ForgottenPassword())["email"], client_address())
    return empty_response()


@bp.post("/auth/reset/validate-password")
@operation(body=CheckPassword, refuses=(400, 415), public=True, errors={429: TOO_MANY_ATTEMPTS})
def validate_reset_password() -> Response:
    """Check a new password before it is set by a link.

    200 if its length is valid. When it is set, the user's names and last five passwords are refused too.
    """
    reset_links.throttle("password", client_address(), CHECKS_PER_ATTEMPT)
    load(CheckPassword(current_app.config["PASSWORD_MIN_LENGTH"]))
    return empty_response()
