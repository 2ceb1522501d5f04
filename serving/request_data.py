"""Read the body and the query string of the current request with a marshmallow schema."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any
from urllib.parse import parse_qsl

from flask import request
from marshmallow import ValidationError
from werkzeug.exceptions import BadRequest, UnsupportedMediaType

from serving.body_limits import LARGE_IMPORTS, late_body, parsing, too_large
from validators import Body, Query, Stored, load_or_400, or_400, parse, read, read_array
from validators.errors import MalformedJSON
from validators.query_fields import Repeated

# In bytes. gunicorn limits the whole request line, but other WSGI servers may not.
QUERY_STRING_MAX = 8192


def load(schema: Body, stored: Stored | None = None, *, body: bytes | None = None) -> dict[str, Any]:
    """Return the JSON body of the current request, read by the schema. Raise 415 or 400 if it is invalid.

    stored: returns the record that the request changes. What the body leaves unchanged is not checked. body: if the
    view has read it.
    """
    return or_400(lambda data: read(schema, data, stored), parse_body(body))


def load_many(schema: Body) -> list[dict[str, Any]]:
    """Return the JSON array in the body, with each item read by the schema. Raise 415 or 400 if it is invalid."""
    return or_400(lambda items: read_array(schema, items), parse_body())


def load_one_or_many(schema: Body, most: int) -> list[dict[str, Any]]:
    """Return the JSON object in the body, or each of the 1 to most objects of an array, in a list. Raise 415 or 400."""

    def read_items(data: Any) -> list[dict[str, Any]]:
        if isinstance(data, list) and not 1 <= len(data) <= most:
            raise ValidationError(f"must have 1 to {most} items")
        return read_array(schema, data) if isinstance(data, list) else [read(schema, data)]

    return or_400(read_items, parse_body())


def parse_body(body: bytes | None = None) -> Any:
    """Return the parsed body, of the request by default. Raise 415 if compressed or not JSON, or 400."""
    raw = request.get_data() if body is None else body
    # Our choice: compressed bodies are refused, because a small one can become very large.
    if request.headers.get("Content-Encoding", "identity").strip().lower() not in ("identity", ""):
        raise UnsupportedMediaType("The body must not be compressed. Remove the header Content-Encoding.")
    if (raw or request.mimetype) and request.mimetype != "application/json":
        raise UnsupportedMediaType("The body must be JSON, with the header Content-Type: application/json.")
    if not raw:
        raise MalformedJSON("A JSON body is required.")
    with parsing(raw):
        return parse(raw)


@contextmanager
def load_document(schema: Body, limit: int) -> Iterator[dict[str, Any]]:
    """Lend the body of an import. Raise as load(), 413 above the limit, 503 if its turn does not come."""
    with late_body(limit, LARGE_IMPORTS) as raw:
        if raw is None:
            raise too_large(limit)
        yield load(schema, body=raw)


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
