"""Build responses from JSON text that PostgreSQL has written."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import quote

from flask import Response, request
from werkzeug.exceptions import BadRequest, NotFound

from serving.etags import is_named, version_of
from sql import limits
from sql.database import RecordText
from validators.errors import Unavailable


def json_response(text: str | None) -> Response:
    """Return a response with JSON text, and with an ETag if it is a RecordText.

    Raise 404 for None: the record was deleted during the request.
    """
    if text is None:
        raise NotFound("Not found. It was deleted during the request.")
    response = Response(text, mimetype="application/json")
    if isinstance(text, RecordText):
        response.set_etag(str(text.version))
    return response


def export_response(text: str, environment: str) -> Response:
    """Return an export document that browsers save as a file."""
    response = json_response(text)
    response.headers["Content-Disposition"] = f'attachment; filename="features-{environment}.json"'
    return response


def json_text(document: Any) -> str:
    """Return a document as JSON text with the spaces that PostgreSQL writes, so that all responses look alike."""
    return json.dumps(document, ensure_ascii=False, separators=(", ", " : "), allow_nan=False)


def bounded(text: str | None, advice: str) -> str:
    """Return the JSON text. Raise 400 with the advice for None: the text would exceed PAGE_BYTES."""
    if text is None:
        raise BadRequest(f"The response would exceed {limits.PAGE_BYTES >> 20} MiB. {advice}")
    return text


def created(text: str | None, location: str, *values: str | int) -> Response:
    """Return 201 with the new record.

    location: the path of the record, relative to that of the request. The values, percent-encoded, replace each {}.
    """
    response = json_response(text)
    response.status_code = 201
    response.headers["Location"] = location.format(*(quote(str(value), safe="~") for value in values))
    return response


def empty_response(status: int = 200, *, record: RecordText | int | None = None) -> Response:
    """Return a response without a body and without a Content-Type. record: what has changed, or its version."""
    response = Response(status=status)
    del response.headers["Content-Type"]
    if record is not None:
        response.set_etag(str(version_of(record)))
    return response


def etag_response(
    etag: str,
    text: Callable[[], bytes],
    gzipped: Callable[[], bytes] | None,
    *,
    age: timedelta | None = None,
    replaces: bool = False,
) -> Response:
    """Return JSON text, compressed if the client accepts that, or 304 without a body if the client has it already.

    etag: with its quotes. gzipped: None if the text is too short. Of the two functions, only the needed one is called.
    age: of the text, if it may not be current. replaces: the text replaces the one that the client has. Raise 503 if
    that one may be newer.
    """
    given = request.if_none_match
    if is_named(given, etag.strip('"')):
        response = empty_response(304)
    elif replaces and age is not None and given:
        # Our choice: another worker may have sent newer flags, and the client has them until the database is back.
        raise Unavailable
    elif gzipped and request.accept_encodings["gzip"]:
        response = Response(gzipped(), mimetype="application/json")
        response.headers["Content-Encoding"] = "gzip"
    else:
        response = Response(text(), mimetype="application/json")
    response.headers["ETag"] = etag
    response.headers["Vary"] = "Accept-Encoding"
    # Our choice: caches that many clients share must not keep it, because the flags depend on the token.
    response.headers["Cache-Control"] = "private, no-cache"
    if age is not None:
        response.age = age
    return response
