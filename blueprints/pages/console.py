"""Switch the console off: the setting CONSOLE leaves only login, sign-up and password reset."""

from flask import Blueprint, Response, current_app, request
from werkzeug.exceptions import NotFound

from blueprints.pages.plain_forms import see_other

ALWAYS_ON = {"pages.assets", "pages.login", "pages.new_user", "pages.reset_password"}


def init_blueprint(bp: Blueprint) -> None:
    """Let the setting decide about every page of this blueprint."""
    bp.before_request(refuse_if_off)


def refuse_if_off() -> Response | None:
    """Raise 404 for the pages of the console if it is off. The start page leads to the login form instead."""
    if current_app.config["CONSOLE"] or request.blueprint in ALWAYS_ON:
        return None
    # Our choice: logins and logouts end at the start page.
    if request.path == "/":
        return see_other("/login")
    raise NotFound
