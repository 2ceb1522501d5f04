"""The login form, and the form for forgotten passwords. The menu logs out with POST /logout of the API."""

import re

from flask import Blueprint, Response, current_app, request
from werkzeug.exceptions import Forbidden, HTTPException, Unauthorized

from blueprints.pages.page import page, require_reader
from blueprints.pages.plain_forms import form_page, load_form, refuse_other_sites, replaced_session, see_other
from rules import login, password_login, sign_in
from serving import mail
from serving.client_address import client_address
from serving.identity_provider import logout_url
from sql.database import connection
from validators.login import Login
from validators.people.users import ForgottenPassword

LOGGED_OUT = "logged-out"
NOTICES = {
    LOGGED_OUT: "You are logged out.",
    "password-set": "Your password is set. Log in with it.",
    "link-sent": "If a user has this address, an e-mail with a link is on its way.",
    "password-changed": "Your password is changed. Log in with the new one.",
}

bp = Blueprint("login", __name__)


@bp.get("/login")
def show_login() -> Response:
    """Show the login form. Users who are logged in, or whom a proxy names, go on to the page that they came for."""
    if is_logged_in():
        return see_other(next_path()) if current_app.config["CONSOLE"] else page("account/logged_in.html")
    try:
        session = None if is_logged_out() else sign_in.sign_in_by_proxy(client_address(), replaced_session())
    except Forbidden as error:
        return login_page(error, next_path())
    return see_other(next_path(), session) if session else login_page(None, next_path())


@bp.post("/login")
def log_in() -> Response:
    """Log in, and open the page that the user came for."""
    refuse_other_sites()
    try:
        form = load_form(Login())
        session, _ = login.log_in(form["username"], form["password"], client_address(), replaced_session())
    except HTTPException as error:
        return login_page(error, next_path())
    return see_other(next_path(), session)


def login_page(error: HTTPException | None, next: str) -> Response:
    """Return the login form. next: the page that the user came for."""
    return form_page(
        "account/login.html",
        error,
        next=next,
        notice=NOTICES.get(request.args.get("notice", "")),
        is_logged_out=is_logged_out(),
        logout_url=logout_url() if is_logged_out() and current_app.config["OIDC_ISSUER"] else None,
        closed=password_login.closed(),
    )


def is_logged_out() -> bool:
    """Return whether the user has just logged out, and does not want to be logged in again."""
    return request.args.get("notice") == LOGGED_OUT


@bp.get("/forgot-password")
def show_forgot_password() -> Response:
    """Show the form that sends a link by e-mail."""
    return form_page("account/forgot_password.html")


@bp.post("/forgot-password")
def send_link() -> Response:
    """Send a link by e-mail if the address is that of a user, and show the login form."""
    refuse_other_sites()
    try:
        mail.ask_for_reset_link(load_form(ForgottenPassword())["email"], client_address())
    except HTTPException as error:
        return form_page("account/forgot_password.html", error)
    return see_other("/login?notice=link-sent")


def is_logged_in() -> bool:
    """Return whether the request has a valid session."""
    try:
        with connection() as conn:
            require_reader(conn)
    except (Unauthorized, Forbidden):
        return False
    return True


def next_path() -> str:
    """Return the path in the parameter next, or that of the start page if it is missing or can lead to another site."""
    path = request.args.get("next", "")
    # Our choice: browsers read //host and /\host as another site, and skip tabs and line breaks.
    return path if re.fullmatch(r"/(?![/\\])[^\x00-\x20\x7f]*", path) else "/"
