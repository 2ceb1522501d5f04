"""Read the body and the query string of the current request with a marshmallow schema."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import BoundedSemaphore
from typing import Any
from urllib.parse import parse_qsl

from flask import current_app, request
from marshmallow import ValidationError
from werkzeug.exceptions import BadRequest, HTTPException, UnsupportedMediaType

from validators import MAX_ITEMS, Body, Query, Stored, load_or_400, or_400, parse, read, read_each
from validators.errors import MalformedJSON, Unavailable
from validators.query_fields import Repeated

# In bytes. gunicorn limits the whole request line, but other WSGI servers may not.
QUERY_STRING_MAX = 8192


def load(schema: Body, stored: Stored | None = None) -> dict[str, Any]:
    """Return the JSON body of the current request, read by the schema. Raise 415 or 400 if it is invalid.

    stored: returns the record that the request changes. What the body leaves unchanged is not checked.
    """
    return or_400(lambda body: read(schema, body, stored), parse(required_body()))


def load_many(schema: Body) -> list[dict[str, Any]]:
    """Return the JSON array in the body, with each item read by the schema. Raise 415 or 400 if it is invalid."""

    def read_array(items: Any) -> list[dict[str, Any]]:
        if not isinstance(items, list):
            raise ValidationError("must be a JSON array")
        if len(items) > MAX_ITEMS:
            raise ValidationError(f"must have at most {MAX_ITEMS} items")
        return list(read_each(lambda item: read(schema, item), enumerate(items)).values())

    return or_400(read_array, parse(required_body()))


def required_body() -> bytes:
    """Return the body of the current request. Raise 415 if it is compressed or not declared as JSON, 400 if empty."""
    raw = request.get_data()
    # Our choice: compressed bodies are refused, because a small one can become very large.
    if request.headers.get("Content-Encoding", "identity").strip().lower() not in ("identity", ""):
        raise UnsupportedMediaType("The body must not be compressed. Remove the header Content-Encoding.")
    if (raw or request.mimetype) and request.mimetype != "application/json":
        raise UnsupportedMediaType("The body must be JSON, with the header Content-Type: application/json.")
    if not raw:
        raise MalformedJSON("A JSON body is required.")
    return raw


# The reports of applications have a limit of their own, because a Node SDK never reports again after a 413.
MAX_REPORT_BYTES = 10 << 20
# Larger ones are read and dropped, up to this size and for as long as gunicorn waits for a request.
MAX_DROPPED_BYTES = 100 << 20
# Reports above MAX_BODY_BYTES that a worker reads at the same time. Parsing one takes up to 200 MB.
LARGE_REPORTS = BoundedSemaphore(2)


@contextmanager
def report_body() -> Iterator[bytes | None]:
    """Lend the body of a report, or None if it is above MAX_REPORT_BYTES. app.read_body() has not read it.

    Raise 503 if other large reports take too long.
    """
    # Instead of MAX_CONTENT_LENGTH, above which Werkzeug raises 413. None would mean MAX_CONTENT_LENGTH.
    request.max_content_length = sys.maxsize
    usual = current_app.config["MAX_BODY_BYTES"]
    body = read_up_to(usual + 1)
    if len(body) <= usual:
        yield body
        return
    if not LARGE_REPORTS.acquire(timeout=current_app.config["WAIT_SECONDS"]):
        raise Unavailable("Too many large reports. Try again later.")
    try:
        body += read_up_to(MAX_REPORT_BYTES + 1 - len(body))
        if len(body) > MAX_REPORT_BYTES:
            body = None
            drop_rest()
        yield body
    finally:
        LARGE_REPORTS.release()


def drop_rest() -> None:
    """Read the rest of the body, up to MAX_DROPPED_BYTES."""
    for _ in range(MAX_DROPPED_BYTES >> 16):
        if not read_up_to(1 << 16):
            return


def read_up_to(size: int) -> bytes:
    """Return the next bytes of the body. Raise 400 if they cannot be read."""
    return read_or_400(lambda: request.stream.read(size))


def read_or_400(read: Callable[[], bytes]) -> bytes:
    """Return the bytes that a function reads from the body. Raise 400 if they cannot be read."""
    try:
        return read()
    except HTTPException:
        raise
    except Exception as error:
        # gunicorn raises its own exceptions for a body with invalid framing.
        raise BadRequest("The body cannot be read.") from error


def load_query(kind: type[Query]) -> dict[str, Any]:
    """Return the query parameters of the current request, read by the schema. Raise 400 if they are invalid."""
    schema = schema_of(kind)
    pairs = query_pairs()
    parameters: dict[str, Any] = {}
    for name, text in pairs:
        parameters.setdefault(name, []).append(text)
    single = {field.data_key or name for name, field in schema.fields.items() if not isinstance(field, Repeated)}
    parameters |= {name: texts[0] for name, texts in parameters.items() if name in single}
    names = [name for name, _ in pairs]
    repeated = {name: ["must not be given more than once"] for name in single if names.count(name) > 1}
    return load_or_400(schema, parameters, repeated)


def query_pairs() -> list[tuple[str, str]]:
    """Return the names and values of the query parameters. Raise 400 if they are too long or not UTF-8."""
    if len(request.query_string) > QUERY_STRING_MAX:
        raise BadRequest(f"The query string must be at most {QUERY_STRING_MAX} bytes long.")
    try:
        return parse_qsl(request.query_string.decode("ascii"), keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        raise BadRequest("The query string must be UTF-8, percent-encoded.") from None


@cache
def schema_of(kind: type[Query]) -> Query:
    """Return a shared instance of the schema. Creating one takes longer than reading a query with it."""
    return kind()
