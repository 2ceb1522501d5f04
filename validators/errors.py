"""The error body, and the exceptions that werkzeug does not have."""

import json
from uuid import uuid4

from werkzeug.exceptions import Conflict, HTTPException

# Our choice: names that api.md does not show. The name of every other status is ValidationError.
NAMES = {
    400: "ValidationError",
    401: "AuthenticationRequired",
    403: "NoAccessError",
    404: "NotFoundError",
    405: "MethodNotAllowedError",
    409: "ConflictError",
    413: "PayloadTooLargeError",
    415: "ContentTypeError",
    429: "RateLimitError",
    500: "InternalError",
    503: "UnavailableError",
}


class NameExists(Conflict):
    """409: a name that must be unique is taken."""

    error_name = "NameExistsError"


class Unavailable(HTTPException):
    """503 with Retry-After: the service cannot answer now."""

    code = 503
    description = "The database is unavailable or too slow."


class RateLimited(HTTPException):
    """429 with Retry-After, in seconds."""

    code = 429

    def __init__(self, message: str, seconds: int) -> None:
        super().__init__(message)
        self.retry_after = seconds


def error_name(status: int, error: Exception | None = None) -> str:
    """Return the name of an error: its own, or that of its status (decisions.md)."""
    return getattr(error, "error_name", None) or NAMES.get(status, NAMES[400] if status < 500 else NAMES[500])


def error_body(name: str, message: str) -> tuple[str, str]:
    """Return the error body as JSON text, and its id, a new UUID for the log line.

    Lone surrogates in the message become question marks.
    """
    error_id = str(uuid4())
    message = message.encode("utf-8", "replace").decode("utf-8")
    body = {"id": error_id, "name": name, "message": message}
    # The same spaces as in the JSON that PostgreSQL writes.
    return json.dumps(body, ensure_ascii=False, separators=(", ", " : ")), error_id
