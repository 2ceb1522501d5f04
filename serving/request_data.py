"""Read the body and the query string of the current request by a marshmallow schema."""

from functools import cache
from typing import Any
from urllib.parse import parse_qsl

from flask import request
from marshmallow import ValidationError
from werkzeug.exceptions import BadRequest, UnsupportedMediaType

from validators import MOST_ITEMS, Body, Query, checked, or_400, parse, read, read_each
from validators.repeated import Repeated

# In bytes. gunicorn takes less, but not every server in front of this code does.
QUERY_STRING_MAX = 8192


def load(schema: Body) -> dict[str, Any]:
    """The JSON body of the current request as the schema reads it; 415 or 400 otherwise."""
    return checked(schema, parse(required_body()))


def load_many(schema: Body) -> list[dict[str, Any]]:
    """The same for a body that is a JSON array of what the schema describes."""

    def read_array(sent: Any) -> list[dict[str, Any]]:
        if not isinstance(sent, list):
            raise ValidationError("must be a JSON array")
        if len(sent) > MOST_ITEMS:
            raise ValidationError(f"must have at most {MOST_ITEMS} items")
        return list(read_each(lambda item: read(schema, item), enumerate(sent)).values())

    return or_400(read_array, parse(required_body()))


def required_body() -> bytes:
    """The body of the current request; 415 if it is not declared as JSON, or is packed, 400 if it is empty."""
    raw = request.get_data()
    # Our choice: what is packed is not unpacked, however small it may be packed.
    if request.headers.get("Content-Encoding", "identity").strip().lower() not in ("identity", ""):
        raise UnsupportedMediaType("The body must not be compressed. Remove the header Content-Encoding.")
    if (raw or request.mimetype) and request.mimetype != "application/json":
        raise UnsupportedMediaType("The body must be JSON, with the header Content-Type: application/json.")
    if not raw:
        raise BadRequest("A JSON body is required.")
    return raw


def load_query(kind: type[Query]) -> dict[str, Any]:
    """The query parameters of the current request as a schema of this kind reads them; 400 otherwise."""
    schema = made(kind)
    if len(request.query_string) > QUERY_STRING_MAX:
        raise BadRequest(f"The query string must be at most {QUERY_STRING_MAX} bytes long.")
    try:
        pairs = parse_qsl(request.query_string.decode("ascii"), keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        raise BadRequest("The query string must be UTF-8, percent-encoded.") from None
    asked: dict[str, Any] = {}
    for name, text in pairs:
        asked.setdefault(name, []).append(text)
    single = {field.data_key or name for name, field in schema.fields.items() if not isinstance(field, Repeated)}
    asked |= {name: texts[0] for name, texts in asked.items() if name in single}
    given = [name for name, _ in pairs]
    repeated = {name: ["must not be given more than once"] for name in single if given.count(name) > 1}
    return checked(schema, asked, repeated)


@cache
def made(kind: type[Query]) -> Query:
    """The one schema of this kind: to make one takes longer than to read with it, and reading does not change it."""
    return kind()
