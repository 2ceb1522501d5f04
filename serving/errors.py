"""Turn every exception into a response with the error body."""

import json
from typing import Any
from uuid import uuid4

import psycopg
from flask import Flask, Response, current_app, request
from psycopg_pool import PoolTimeout
from werkzeug.exceptions import BadRequest, Conflict, HTTPException

from rules import password_login, passwords
from serving import request_log
from serving.body_limits import OFREP
from sql.event_stream import OpenTransaction
from validators.errors import RateLimited, Unavailable

# Our choice: these names. Other statuses below 500 have the name of 400, others that of 500.
NAMES = {
    400: "ValidationError",
    401: "AuthenticationRequired",
    403: "NoAccessError",
    404: "NotFoundError",
    405: "MethodNotAllowedError",
    409: "ConflictError",
    412: "PreconditionFailedError",
    413: "PayloadTooLargeError",
    415: "ContentTypeError",
    429: "RateLimitError",
    500: "InternalError",
    503: "UnavailableError",
}


def init_app(app: Flask) -> None:
    """Register the handlers for all exceptions of requests."""
    app.register_error_handler(HTTPException, error_response)
    app.register_error_handler(Exception, exception_response)


def error_response(error: HTTPException, cause: Exception | None = None) -> Response:
    """Return the response for an HTTP error. cause: the exception to log instead of the error."""
    status = error.code or 500
    message = error.description or "The request cannot be answered."
    if status in PLAIN_MESSAGES and message == type(error).description:
        message = PLAIN_MESSAGES[status]
    more = login_form(status) | ofrep_members(message, error)
    body, error_id = error_body(error_name(status, error), message, **more)
    request_log.entry.get().note(error_id=error_id, error=cause or error)
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
    413: "The body is too large.",
}

# Our choice: clients see these two database errors, because the person behind the request may be able to fix them.
FIXABLE: dict[type[Exception], str] = {
    psycopg.errors.DiskFull: "The disk of the database is full.",
    psycopg.errors.ReadOnlySqlTransaction: "The database is read-only at the moment.",
}


def exception_response(error: Exception) -> Response:
    """Return the response for an exception that no view handles: 400, 409, 503 or 500. Its traceback is only logged."""
    if type(error) in FIXABLE:
        return error_response(Unavailable(FIXABLE[type(error)]), error)
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
    body, error_id = error_body("InternalError", message, **ofrep_members(message))
    request_log.entry.get().note(error_id=error_id, error=error)
    return Response(body, 500, mimetype="application/json")


def error_name(status: int, error: Exception | None = None) -> str:
    """Return the name of an error: its own, or that of its status."""
    return getattr(error, "error_name", None) or NAMES.get(status, NAMES[400] if status < 500 else NAMES[500])


# The web UI of Unleash asks for the account first, and draws its login form only if the 401 describes one.
def login_form(status: int) -> dict[str, Any]:
    """Return the description of the login form, which only the 401 of GET /api/admin/user has beside the three keys."""
    if status != 401 or request.endpoint != "account.get_account":
        return {}
    auth, name = f"{current_app.config['BASE_PATH']}/auth", current_app.config["OIDC_NAME"]
    oidc = {"type": "oidc", "message": f"Log in with {name}", "path": f"{auth}/oidc/login"}
    options = [oidc] if current_app.config["OIDC_ISSUER"] else []
    is_off = not password_login.is_permitted(is_admin=True)
    return {"type": "password", "path": f"{auth}/simple/login", "defaultHidden": is_off, "options": options}


# Our choice: the error body of OFREP beside our three keys. OFREP has no code for the status 401 and others.
def ofrep_members(message: str, error: HTTPException | None = None) -> dict[str, str]:
    """Return what an error of OFREP has beside the three keys. Other errors have nothing more."""
    # By path, because a request with a wrong method has no view.
    if not request.path.startswith(OFREP):
        return {}
    key = (request.view_args or {}).get("feature_name", request.path.removeprefix(OFREP).removeprefix("/"))
    code = getattr(error, "ofrep_code", "INVALID_CONTEXT" if isinstance(error, BadRequest) else "GENERAL")
    return ({"key": key} if key else {}) | {"errorCode": code, "errorDetails": message}


def error_body(name: str, message: str, **more: Any) -> tuple[str, str]:
    """Return the error body as JSON text, and its id for the log line. more: further members of the body."""
    error_id = str(uuid4())
    body = {"id": error_id, "name": name, "message": message, **more}
    # The same spaces as in the JSON that PostgreSQL writes.
    text = json.dumps(body, ensure_ascii=False, separators=(", ", " : "))
    return text.encode("utf-8", "replace").decode("utf-8"), error_id
