"""Read the body and the query string of the current request with a marshmallow schema."""

from functools import cache
from typing import Any
from urllib.parse import parse_qsl

from flask import request
from marshmallow import ValidationError
from werkzeug.exceptions import BadRequest, UnsupportedMediaType

from validators import MAX_ITEMS, Body, Query, load_or_400, or_400, parse, read, read_each
from validators.query_fields import Repeated

# In bytes. gunicorn limits the whole request line, but other WSGI servers may not.
QUERY_STRING_MAX = 8192


def load(schema: Body) -> dict[str, Any]:
    """Return the JSON body of the current request, read by the schema. Raise 415 or 400 if it is invalid."""
    return load_or_400(schema, parse(required_body()))


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
        raise BadRequest("A JSON body is required.")
    return raw


def load_query(kind: type[Query]) -> dict[str, Any]:
    """Return the query parameters of the current request, read by the schema. Raise 400 if they are invalid."""
    schema = schema_of(kind)
    if len(request.query_string) > QUERY_STRING_MAX:
        raise BadRequest(f"The query string must be at most {QUERY_STRING_MAX} bytes long.")
    try:
        pairs = parse_qsl(request.query_string.decode("ascii"), keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        raise BadRequest("The query string must be UTF-8, percent-encoded.") from None
    parameters: dict[str, Any] = {}
    for name, text in pairs:
        parameters.setdefault(name, []).append(text)
    single = {field.data_key or name for name, field in schema.fields.items() if not isinstance(field, Repeated)}
    parameters |= {name: texts[0] for name, texts in parameters.items() if name in single}
    names = [name for name, _ in pairs]
    repeated = {name: ["must not be given more than once"] for name in single if names.count(name) > 1}
    return load_or_400(schema, parameters, repeated)


@cache
def schema_of(kind: type[Query]) -> Query:
    """Return a shared instance of the schema. Creating one takes longer than reading a query with it."""
    return kind()
