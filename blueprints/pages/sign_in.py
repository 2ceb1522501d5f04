"""Log in with OpenID Connect: to the identity provider, and back with its answer. Failures show the login form."""

import logging
import re
import secrets

from flask import Blueprint, Response, current_app, request
from itsdangerous import BadData, URLSafeTimedSerializer
from werkzeug.exceptions import HTTPException, NotFound

from blueprints.pages.login import login_page, next_path
from blueprints.pages.plain_forms import replaced_session, see_other
from rules import sessions
from rules.login import raise_if_throttled
from rules.sign_in import sign_in
from serving.client_address import client_address
from serving.identity_provider import CALLBACK, EXPIRED, LoginFailed, code_in, find_person, login_url
from serving.responses import empty_response
from serving.session_cookie import attributes
from sql import instance_key, login_throttle
from sql.database import transaction
from validators.errors import RateLimited

COOKIE_PATH = "/auth/oidc"
# People type a password and a second factor meanwhile.
LOGIN_SECONDS = 600
# Browsers drop cookies above 4 kB.
NEXT_MAX = 2000

bp = Blueprint("sign_in", __name__)
log = logging.getLogger(__name__)


@bp.before_request
def require_provider() -> None:
    """Raise 404 without an identity provider."""
    if not current_app.config["OIDC_ISSUER"]:
        raise NotFound


@bp.get("/auth/oidc/login")
def begin_sign_in() -> Response:
    """Send the browser to the identity provider, with a cookie that the callback needs."""
    next = next_path() if len(next_path()) <= NEXT_MAX else "/"
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    try:
        cookie = signer("", state).dumps([nonce, verifier, next])
        url = login_url(state, nonce, verifier)
    except HTTPException as error:
        return failure(error, next)
    response = empty_response(302)
    response.headers["Location"] = url
    response.set_cookie(cookie_name(state), cookie, max_age=LOGIN_SECONDS, **attributes(COOKIE_PATH))
    return response


@bp.get(CALLBACK)
def end_sign_in() -> Response:
    """Log in the person whom the identity provider has sent back, and open the page that they came for."""
    state, next = request.args.get("state", ""), "/"
    try:
        nonce, verifier, next = begun(state)
        person = find_person(code_in(request.args), nonce, verifier)
        session = sign_in(person, current_app.config["OIDC_NAME"], client_address(), replaced_session())
        response = see_other(next, session)
        response.status_code = 302
    except HTTPException as error:
        response = failure(error, next)
    response.delete_cookie(cookie_name(state), **attributes(COOKIE_PATH))
    return response


def signer(bucket: str, state: str) -> URLSafeTimedSerializer:
    """Return what signs the cookie of a login. Raises 429 for too many attempts of the address."""
    with transaction() as conn:
        most = current_app.config["LOGIN_ATTEMPTS_PER_MINUTE"]
        wait = login_throttle.admit_address(conn, f"{bucket}{client_address()}", most)
        key = instance_key.get(conn)
    raise_if_throttled(wait)
    return URLSafeTimedSerializer(key, salt=f"oidc {state}")


def begun(state: str) -> list[str]:
    """Return nonce, verifier and next of the login that this browser has begun with a state. Raises LoginFailed."""
    # Callbacks count apart, so a login counts once.
    cookies, cookie = signer("callback ", state), request.cookies.get(cookie_name(state), "")
    try:
        return cookies.loads(cookie, max_age=LOGIN_SECONDS)
    except BadData:
        # Some providers send an error without the state.
        if "error" in request.args and not state:
            code_in(request.args)
        raise LoginFailed(400, EXPIRED, "The callback has no valid cookie.") from None


def failure(error: HTTPException, next: str) -> Response:
    """Log why a login has failed, and return the login form with a sentence."""
    # sign_in() logs its own refusals.
    if isinstance(error, LoginFailed):
        log.warning("Single sign-on: %s", error.reason)
        sessions.log_login("refused", "oidc", client_address())
    elif isinstance(error, RateLimited):
        sessions.log_login("throttled", "oidc", client_address())
    return login_page(error, next)


def cookie_name(state: str) -> str:
    """Return the name of the cookie of a login. Each tab has its own."""
    return f"oidc-{re.sub('[^A-Za-z0-9_-]', '', state[:8])}"
