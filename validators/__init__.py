"""What a request may say: one marshmallow schema per request, read here from the body or the query string."""

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl

from flask import request
from marshmallow import RAISE, Schema, ValidationError
from werkzeug.exceptions import BadRequest, UnsupportedMediaType

# An unknown property is named in the message, but not a megabyte of it, and not a hundred thousand of them.
QUOTED = 100
MOST_UNKNOWN = 20
# In bytes. gunicorn takes less, but not every server in front of this code does.
QUERY_STRING_MAX = 8192


# Our choice: strict, so that a misspelt field is not lost in silence.
class Body(Schema):
    """A JSON body; unknown properties are refused unless the schema says otherwise."""

    class Meta:
        unknown = RAISE

    error_messages = {"unknown": "is not known here", "type": "must be a JSON object"}  # noqa: RUF012 (marshmallow declares it so)


class Query(Schema):
    """Query parameters; unknown ones are ignored."""

    class Meta:
        unknown = "exclude"


def load(schema: Body) -> dict[str, Any]:
    """The JSON body of the current request as the schema reads it; 415 or 400 otherwise."""
    raw = request.get_data()
    if (raw or request.mimetype) and request.mimetype != "application/json":
        raise UnsupportedMediaType("The body must be JSON, with the header Content-Type: application/json.")
    if not raw:
        raise BadRequest("A JSON body is required.")
    return checked(schema, parse(raw))


def load_query(schema: Query) -> dict[str, Any]:
    """The query parameters of the current request as the schema reads them; 400 otherwise."""
    if len(request.query_string) > QUERY_STRING_MAX:
        raise BadRequest(f"The query string must be at most {QUERY_STRING_MAX} bytes long.")
    try:
        pairs = parse_qsl(request.query_string.decode("ascii"), keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        raise BadRequest("The query string must be UTF-8, percent-encoded.") from None
    given = [name for name, _ in pairs]
    repeated = {name: ["must not be given more than once"] for name in names_of(schema) if given.count(name) > 1}
    return checked(schema, dict(pairs), repeated)


def parse(raw: bytes) -> Any:
    """A JSON text (RFC 8259) as Python values; 400 for anything else, NaN, duplicate keys and endless nesting included."""
    try:
        return json.loads(raw.decode("utf-8"), parse_constant=refuse_constant, object_pairs_hook=refuse_duplicates)
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, NotJSON) else "it cannot be parsed"
        raise BadRequest(f"The body is not valid JSON: {reason}.") from None


class NotJSON(ValueError):
    """What Python's parser would let through."""


def refuse_constant(word: str) -> None:
    """Python reads NaN and Infinity; JSON has neither."""
    raise NotJSON(f"{word} is not a JSON value")


def refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object in which no key stands twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise NotJSON("a key stands twice in one object")
    return found


def names_of(schema: Schema) -> list[str]:
    """The fields of a schema, as a request names them."""
    return [field.data_key or name for name, field in schema.fields.items()]


def checked(schema: Schema, data: Any, problems: Mapping[str, list[str]] | None = None) -> dict[str, Any]:
    """What the schema makes of the data, or 400 that names every field that was wrong, those with problems included."""
    if schema.unknown == RAISE and isinstance(data, dict):
        unknown = data.keys() - set(names_of(schema))
        if len(unknown) > MOST_UNKNOWN:
            raise BadRequest(f"body: must not hold {len(unknown)} properties that are not known here")
    wrong: dict[str, Any] = dict(problems or {})
    loaded = None
    try:
        loaded = schema.load(data)
    except ValidationError as error:
        wrong = error.normalized_messages() | wrong
    if wrong:
        raise BadRequest("; ".join(sentences(wrong)))
    assert isinstance(loaded, dict)
    return loaded


def sentences(messages: Any, path: str = "") -> Iterator[str]:
    """marshmallow's nested messages as 'field: what was wrong', one after the other."""
    if isinstance(messages, dict):
        for key, inner in messages.items():
            name = "" if key == "_schema" else str(key)[:QUOTED]
            yield from sentences(inner, ".".join(part for part in (path, name) if part))
    else:
        for message in messages:
            text = str(message).rstrip(".")
            text = "is required" if text == "Missing data for required field" else text
            text = "must not be null" if text == "Field may not be null" else text
            yield f"{path or 'body'}: {text}"
