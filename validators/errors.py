"""HTTP errors that Werkzeug does not have. serving/errors.py turns every error into a response."""

from werkzeug.exceptions import BadRequest, Conflict, HTTPException, NotFound


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


class MalformedJSON(BadRequest):
    """400: the body is not JSON."""

    ofrep_code = "PARSE_ERROR"


class InvalidPayload(BadRequest):
    """400: the payload of a variant cannot be parsed, or cannot be a value in OFREP."""

    ofrep_code = "PARSE_ERROR"


class TargetingKeyMissing(BadRequest):
    """400: the result depends on a targeting key that the context lacks."""

    ofrep_code = "TARGETING_KEY_MISSING"


class UnknownFlag(NotFound):
    """404: no flag has that name."""

    ofrep_code = "FLAG_NOT_FOUND"
