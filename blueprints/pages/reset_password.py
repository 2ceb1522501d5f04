"""Links from an administrator with which users set a password."""

import json

from flask import Blueprint, Response, current_app, request
from werkzeug.exceptions import HTTPException, Unauthorized

from blueprints.pages.plain_forms import form_page, link_page, load_form, log_in_with_new_password, refuse_other_sites
from rules import reset_links
from serving.client_address import client_address
from validators.people.users import ResetPassword

bp = Blueprint("reset_password", __name__)


@bp.get("/reset-password")
def show_reset_password() -> Response:
    """Show the form for a new password."""
    return show_link()


@bp.post("/reset-password")
def reset_password() -> Response:
    """Set the new password, and log in."""
    return set_password()


def show_link() -> Response:
    """Return the form of a link, with the name of its user, or the reason why the link does not work."""
    try:
        user = json.loads(reset_links.check_link(request.args.get("token", ""), client_address()))
    except HTTPException as error:
        return link_page(error)
    return form_page("account/reset_password.html", user=user, is_new=is_new())


def set_password() -> Response:
    """Set the password by the link, and log in."""
    refuse_other_sites()
    try:
        token = request.args.get("token", "")
        form = load_form(ResetPassword(current_app.config["PASSWORD_MIN_LENGTH"]), token=token)
        user = reset_links.set_password(token, form["password"], client_address())
    except Unauthorized as error:
        return link_page(error)
    except HTTPException as error:
        return form_page("account/reset_password.html", error, is_new=is_new())
    return log_in_with_new_password(user.get("email") or user["username"], form["password"])


def is_new() -> bool:
    """Return whether the link is that of a user who has no password yet."""
    return request.path == "/new-user"
