"""Plain forms, which work without JavaScript: read their fields, and show them again after a refusal."""

from typing import Any

from flask import Response, current_app, request
from werkzeug.exceptions import Forbidden, HTTPException

from blueprints.pages.page import page
from rules import login
from rules.access import SESSION_COOKIE
from rules.cross_site import refuse_cross_site
from serving.client_address import client_address
from serving.responses import empty_response
from serving.session_cookie import set_session
from sql.people.past_passwords import REMEMBERED
from validators import Body, load_or_400, names_of
from validators.errors import RateLimited
from validators.integrations import PARAMETERS
from validators.people.users import PASSWORD_MAX_BYTES

LABELS = {"username": "User name", "email": "Email", "name": "Name", "password": "Password"}
LABELS |= {f"parameters.{name}": parameter["displayName"] for name, parameter in PARAMETERS.items()}


def refuse_other_sites() -> None:
    """Raise 403 if a page of another site sent the form."""
    try:
        refuse_cross_site(request)
    except Forbidden:
        raise Forbidden(f"This form works only at {current_app.config['BASE_URL']}. Open it there.") from None


def load_form(schema: Body, **more: str) -> dict[str, Any]:
    """Return the fields of the form and more, read by a schema of the API. Empty fields count as omitted."""
    return load_or_400(schema, {name: text for name in names_of(schema) if (text := request.form.get(name))} | more)


def form_page(template: str, error: HTTPException | None = None, **context: Any) -> Response:
    """Return a page with a form. With an error: what is wrong. The template shows the typed values, but no password."""
    problems = {} if error is None else problems_of(error)
    shown = page(
        template,
        200 if error is None else error.code or 500,
        **context,
        values=request.form.to_dict(),
        message=problems.pop("", ""),
        problems=problems,
        password_min_length=current_app.config["PASSWORD_MIN_LENGTH"],
        password_max_bytes=PASSWORD_MAX_BYTES,
        remembered_passwords=REMEMBERED,
    )
    if isinstance(error, RateLimited):
        shown.headers["Retry-After"] = str(error.retry_after)
    return shown


def problems_of(error: HTTPException) -> dict[str, str]:
    """Return the message of an error as a sentence for each field that it names. The key of other sentences is empty.

    Messages of the API look like "email: is required; password: must be at least 8 characters long".
    """
    message = error.description or "The form cannot be read."
    if isinstance(error, RateLimited):
        unit = "second" if error.retry_after == 1 else "seconds"
        message = message.replace("Try again later.", f"Try again in {error.retry_after} {unit}.")
    problems: dict[str, str] = {}
    for part in message.split("; "):
        field, colon, text = part.partition(": ")
        name, sentence = (field, sentence_about(LABELS[field], text)) if colon and field in LABELS else ("", part)
        problems[name] = f"{problems[name]} {sentence}" if name in problems else sentence
    return problems


def sentence_about(label: str, text: str) -> str:
    """Return what is wrong with a field as a sentence."""
    return f"{label} {text.rstrip('.')}." if text.startswith(("must ", "is ")) else f"{text[:1].upper()}{text[1:]}."


def replaced_session() -> str:
    """Return the secret of the session that a login replaces, or an empty string."""
    return request.cookies.get(SESSION_COOKIE, "")


def see_other(path: str, session: str | None = None) -> Response:
    """Return a redirect to a path of this service. session: set the cookie of a new session."""
    response = empty_response(303)
    response.headers["Location"] = f"{current_app.config['BASE_PATH']}{path}"
    if session is not None:
        set_session(response, session)
    return response


def log_in_with_new_password(username: str, password: str) -> Response:
    """Log in with the new password, and open the start page. If the login is refused, show the login form."""
    # Our choice: the API creates no session here, but people expect to be logged in.
    try:
        session, _ = login.log_in(username, password, client_address(), replaced_session())
    except HTTPException:
        return see_other("/login?notice=password-set")
    return see_other("/", session)


def link_page(error: HTTPException) -> Response:
    """Return a page that explains why a link does not work."""
    return form_page("account/unusable_link.html", error, reason=error.code)
