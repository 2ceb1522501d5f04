"""create_app(): settings, database, blueprints and error handlers."""

import os
from collections.abc import Mapping
from typing import Any

import psycopg
from flask import Flask, Response, current_app, request
from psycopg_pool import PoolTimeout
from werkzeug.exceptions import BadRequest, Conflict, HTTPException, RequestEntityTooLarge

import blueprints
import commands
from commands.database import load_settings
from rules import passwords
from serving import browser_headers as browser_rules
from serving import caller_limit, event_stream, request_log, slow_requests
from serving import metrics_endpoint as metrics
from serving.mount import Mount
from serving.path_converters import CONVERTERS
from sql import database
from sql.event_stream import OpenTransaction
from validators.errors import RateLimited, Unavailable, error_body, error_name


def create_app(overrides: Mapping[str, Any] | None = None) -> Flask:
    """Return the application with the settings of the environment.

    overrides: values by setting name, which replace those of the environment unchecked. Raises SettingError.
    """
    app = Flask(__name__, static_folder=None)
    app.config.from_mapping(load_settings(os.environ) | dict(overrides or {}))
    # One byte more than the limit: Werkzeug truncates a body without Content-Length silently. read_body() counts it.
    app.config.update(PROVIDE_AUTOMATIC_OPTIONS=False, MAX_CONTENT_LENGTH=app.config["MAX_BODY_BYTES"] + 1)
    # Do not redirect a path with a double slash. It is another path, and usually 404.
    app.url_map.merge_slashes = False
    app.url_map.redirect_defaults = False
    app.url_map.converters |= CONVERTERS
    database.init_app(app)
    caller_limit.init_app(app)
    passwords.init_app(app)
    # First, so that the measured time includes the other hooks.
    metrics.init_app(app)
    request_log.init_app(app)
    browser_rules.init_app(app)
    slow_requests.init_app(app)
    event_stream.init_app(app)
    app.before_request(require_host)
    app.before_request(read_body)
    app.url_value_preprocessor(replace_nul)
    for blueprint in blueprints.ALL:
        app.register_blueprint(blueprint)
    for group in commands.ALL:
        app.cli.add_command(group)
    app.register_error_handler(HTTPException, error_response)
    app.register_error_handler(Exception, exception_response)
    roots = {rule.rule.split("/")[1] for rule in app.url_map.iter_rules()}
    app.wsgi_app = Mount(app.wsgi_app, app.config["BASE_PATH"], roots)
    return app


def require_host() -> None:
    """Raise 400 for an HTTP/1.1 request without the header Host (RFC 9112, 3.2)."""
    if request.environ.get("SERVER_PROTOCOL") == "HTTP/1.1" and "Host" not in request.headers:
        raise BadRequest("The header Host is missing.")


def read_body() -> None:
    """Read the whole body. If it is too large, raise 413 before the caller is authenticated."""
    try:
        body = request.get_data()
    except HTTPException:
        raise
    except Exception as error:
        # gunicorn raises its own exceptions for a body with invalid framing.
        raise BadRequest("The body cannot be read.") from error
    if len(body) > current_app.config["MAX_BODY_BYTES"]:
        raise RequestEntityTooLarge


def replace_nul(_endpoint: str | None, values: dict[str, Any] | None) -> None:
    """Replace NUL in path parameters by U+FFFD. PostgreSQL refuses NUL. No name contains U+FFFD, so views return 404."""
    if values:
        values.update({name: word.replace("\0", "\ufffd") for name, word in values.items() if isinstance(word, str)})


def error_response(error: HTTPException, cause: Exception | None = None) -> Response:
    """Return the response for an HTTP error. cause: the exception to log instead of the error."""
    status = error.code or 500
    message = error.description or "The request cannot be answered."
    if status in PLAIN_MESSAGES and message == type(error).description:
        message = PLAIN_MESSAGES[status]
    body, error_id = error_body(error_name(status, error), message)
    request_log.note(error_id=error_id, error=cause or error)
    response = Response(body, status, mimetype="application/json")
    allowed = getattr(error, "valid_methods", None)
    if allowed:
        response.headers["Allow"] = ", ".join(sorted(allowed))
    if isinstance(error, RateLimited):
        response.headers["Retry-After"] = str(error.retry_after)
    if status == 503:
        response.headers["Retry-After"] = "1"
    return response


# These replace the messages of Werkzeug, which address people at a browser.
PLAIN_MESSAGES = {
    400: "The request is malformed. Check its path, headers and body.",
    404: "Not found.",
    405: "Method not allowed.",
    413: "The body is larger than this service accepts.",
}


def exception_response(error: Exception) -> Response:
    """Return the response for an exception that no view handles: 400, 409, 503 or 500. Its traceback is only logged."""
    # Our choice: clients see these two database errors, because the person behind the request may be able to fix them.
    if isinstance(error, psycopg.errors.DiskFull):
        return error_response(Unavailable("The disk of the database is full."), error)
    if isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
        return error_response(Unavailable("The database is read-only at the moment."), error)
    # SQLSTATE class 54, such as a text above 1 GB: the same request will fail again.
    if isinstance(error, psycopg.errors.ProgramLimitExceeded | psycopg.errors.StatementTooComplex):
        message = "The request or its response is too large for the database. Send or request less."
        return error_response(BadRequest(message), error)
    if isinstance(error, PoolTimeout):
        return error_response(Unavailable("Too many requests. Try again later."), error)
    if isinstance(error, psycopg.OperationalError):
        return error_response(Unavailable(), error)
    # Our choice: a record that a change refers to can be deleted between the check and the change.
    if isinstance(error, psycopg.errors.ForeignKeyViolation):
        message = "Another request has just deleted or used something that this change refers to. Try again."
        return error_response(Conflict(message), error)
    if isinstance(error, passwords.Busy | OpenTransaction):
        return error_response(Unavailable(str(error)), error)
    message = "Internal error. The log of the service has details under the id of this error."
    body, error_id = error_body("InternalError", message)
    request_log.note(error_id=error_id, error=error)
    return Response(body, 500, mimetype="application/json")
