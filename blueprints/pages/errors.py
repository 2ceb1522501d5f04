"""Show errors as pages: on the routes of pages, and for unknown addresses that a browser opens."""

import json
from contextlib import suppress
from urllib.parse import quote

import psycopg
from flask import Blueprint, Response, current_app, g, redirect, request
from werkzeug.exceptions import HTTPException, NotFound, Unauthorized
from werkzeug.wrappers import Response as Redirect

from blueprints.pages.page import Reader, page, require_reader
from rules.access import credentials
from serving.errors import PLAIN_MESSAGES, error_response, exception_response
from serving.session_cookie import logged_out
from sql.database import connection

TITLES = {
    400: "This address is not valid",
    401: "Your session has ended",
    403: "You cannot see this page",
    404: "Page not found",
    409: "Somebody else was faster",
    413: "That is too much text",
    429: "Too many requests",
    500: "Something went wrong",
    503: "The service is not available",
}
# What a page says instead of a message of the API.
MESSAGES = {
    PLAIN_MESSAGES[404]: "Check the address. The page may have been deleted, or you may not be permitted to see it.",
    "You lack the permission ADMIN.": "Only administrators can see it.",
}
# Unknown addresses below these have the error body of the API, also for browsers.
API_ROOTS = {"api", "auth", "invite", "ofrep"}


def init_blueprint(bp: Blueprint) -> None:
    """Register the handlers for the routes of pages and for unknown addresses."""
    bp.register_error_handler(HTTPException, http_error_page)
    bp.register_error_handler(Exception, exception_page)
    bp.app_errorhandler(404)(unknown_address)
    bp.app_errorhandler(401)(session_ended)


def http_error_page(error: HTTPException) -> Response | Redirect:
    """Return the page of an HTTP error. Visitors without a session are sent to the login form."""
    if not isinstance(error, Unauthorized):
        return as_page(error_response(error))
    # A form is on another page than its address, and the browser names that page.
    address = (request.referrer or "").removeprefix(current_app.config["BASE_URL"])
    if request.method == "GET":
        # A ? or # in a name must not end the path. % is only there before 25 and 2F (serving/path_converters.py).
        query = request.query_string.decode("ascii", "replace")
        address = quote(request.path, safe="/%") + (f"?{query}" if query else "")
    login = f"{current_app.config['BASE_PATH']}/login?next={quote(address, safe='/')}"
    return redirect(login) if request.method == "GET" else as_page(error_response(error), login)


def exception_page(error: Exception) -> Response:
    """Return the page of an exception: the database is not available, or an internal error."""
    return as_page(exception_response(error))


def unknown_address(error: NotFound) -> Response | Redirect:
    """Return a page for an unknown address if a browser asks, and the error body otherwise."""
    if "pages" in request.blueprints:
        return http_error_page(error)
    if request.endpoint is None and accepts_html() and request.path.split("/")[1] not in API_ROOTS:
        return as_page(error_response(error))
    return error_response(error)


def session_ended(error: Unauthorized) -> Response | Redirect:
    """Return the response of a logout if a browser logs out of a session that has ended already."""
    if "pages" in request.blueprints:
        return http_error_page(error)
    # Our choice: the person wanted to be logged out, and is.
    if request.path == "/logout" and accepts_html():
        return logged_out()
    return error_response(error)


def accepts_html() -> bool:
    """Return whether the request asks for a page, as browsers do."""
    return any(kind == "text/html" and quality > 0 for kind, quality in request.accept_mimetypes)


def as_page(response: Response, login: str = "") -> Response:
    """Return an error of the API as a page with the same status, message and id, or with a link to a login form."""
    error = json.loads(response.get_data())
    if response.status_code == 404 and not isinstance(g.get("caller"), Reader) and any(credentials(request)):
        # The page has the menu too, if a user reads it.
        with suppress(HTTPException, psycopg.Error), connection() as conn:
            require_reader(conn)
    title = TITLES.get(response.status_code, TITLES[400])
    shown = page(
        "error.html",
        response.status_code,
        title=title,
        message=MESSAGES.get(error["message"], error["message"]),
        error_id=error["id"],
        login=login,
        retry=response.status_code == 503,
        # The flag may have moved to another project.
        near=request.path.partition("/flags/")[2].split("/")[0] if isinstance(g.get("caller"), Reader) else "",
    )
    if "Retry-After" in response.headers:
        shown.headers["Retry-After"] = response.headers["Retry-After"]
    return shown
