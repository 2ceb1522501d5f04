"""Invitations: sign up with a signup token, or set the first password by a link."""

from flask import Blueprint, Response, current_app, request
from werkzeug.exceptions import Forbidden, HTTPException, NotFound

from blueprints.pages.plain_forms import form_page, link_page, load_form, log_in_with_new_password, refuse_other_sites
from blueprints.pages.reset_password import set_password, show_link
from rules import signup
from serving.client_address import client_address
from validators.people.users import InvitedUser

bp = Blueprint("new_user", __name__)


@bp.get("/new-user")
def show_new_user() -> Response:
    """Show the sign-up form, or for a user whom an administrator created the form of their first password."""
    if "invite" not in request.args:
        return show_link()
    try:
        signup.check_token(request.args["invite"], client_address())
    except HTTPException as error:
        return link_page(error)
    return form_page("account/sign_up.html")


@bp.post("/new-user")
def sign_up() -> Response:
    """Create the user, or set their first password. Then log in."""
    if "invite" not in request.args:
        return set_password()
    refuse_other_sites()
    try:
        form = load_form(InvitedUser(current_app.config["PASSWORD_MIN_LENGTH"]))
        signup.sign_up(request.args["invite"], form, client_address())
    except (Forbidden, NotFound) as error:
        return link_page(error)
    except HTTPException as error:
        return form_page("account/sign_up.html", error)
    return log_in_with_new_password(form["email"], form["password"])
