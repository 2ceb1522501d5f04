"""One marshmallow schema per request. This module reads a body or a query string with a schema."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, ClassVar, TypeVar

from marshmallow import RAISE, Schema, ValidationError
from werkzeug.exceptions import BadRequest

# A message quotes at most this many characters of a property, and names at most this many unknown properties.
QUOTED = 100
MOST_UNKNOWN = 20
# A message names at most this many mistakes.
MOST_SENTENCES = 50
# Our choice: the limit of a list without a limit of its own, and of a body that is an array.
MOST_ITEMS = 10_000
Key = TypeVar("Key")
Item = TypeVar("Item")


# Our choice: unknown properties are 400, so that no misspelt field is silently ignored.
class Body(Schema):
    """A JSON body. Unknown properties are refused unless the schema says otherwise."""

    class Meta:
        unknown = RAISE

    # A valid body, for the OpenAPI document and its tests.
    example: ClassVar[dict[str, Any]]
    # JSON Schema of the checks in validates_schema, such as {"minProperties": 1}.
    schema: ClassVar[dict[str, Any]] = {}
    # A regular expression for the messages of checks that JSON Schema cannot express.
    unsaid: ClassVar[str] = ""

    error_messages = {"unknown": "unknown property", "type": "must be a JSON object"}  # noqa: RUF012 (marshmallow declares it so)


class Query(Schema):
    """Query parameters. Unknown ones are ignored."""

    class Meta:
        unknown = "exclude"

    # As in Body.
    unsaid: ClassVar[str] = ""


def parse(raw: bytes) -> Any:
    """Parse a JSON text (RFC 8259); raise 400 for anything else, including NaN, duplicate keys and endless nesting."""
    try:
        return json.loads(raw.decode("utf-8"), parse_constant=refuse_constant, object_pairs_hook=refuse_duplicates)
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, NotJSON) else "it cannot be parsed"
        raise BadRequest(f"The body is not valid JSON: {reason}.") from None


class NotJSON(ValueError):
    """A text that Python's parser would accept although it is not valid JSON."""


def refuse_constant(word: str) -> None:
    """Raise NotJSON for NaN and Infinity, which Python would accept."""
    raise NotJSON(f"{word} is not a JSON value")


def refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs as an object; raise NotJSON if a key occurs twice."""
    object = dict(pairs)
    if len(object) < len(pairs):
        raise NotJSON("an object has a key twice")
    return object


def names_of(schema: Schema) -> list[str]:
    """Return the names of the fields of a schema in requests."""
    return [field.data_key or name for name, field in schema.fields.items()]


def read(schema: Schema, data: Any) -> dict[str, Any]:
    """Load data with a schema, or raise ValidationError. Many unknown properties are counted instead of named."""
    if schema.unknown == RAISE and isinstance(data, dict):
        unknown = data.keys() - set(names_of(schema))
        if len(unknown) > MOST_UNKNOWN:
            raise ValidationError(f"{len(unknown)} unknown properties")
    loaded = schema.load(data)
    assert isinstance(loaded, dict)
    return loaded


def read_each(read_one: Callable[[Any], Item], items: Iterable[tuple[Key, Any]]) -> dict[Key, Item]:
    """Apply read_one() to each value and return the results by key.

    Raise ValidationError with the mistakes of all values.
    """
    loaded: dict[Key, Item] = {}
    wrong: dict[Key, Any] = {}
    for key, value in items:
        try:
            loaded[key] = read_one(value)
        except ValidationError as error:
            wrong[key] = error.messages
    if wrong:
        raise ValidationError(wrong)
    return loaded


def checked(schema: Schema, data: Any, problems: Mapping[str, list[str]] | None = None) -> dict[str, Any]:
    """Load data with a schema; raise 400 that names every invalid field, including the given problems."""
    return or_400(lambda payload: read(schema, payload), data, problems)


def or_400(reader: Callable[[Any], Item], data: Any, problems: Mapping[str, list[str]] | None = None) -> Item:
    """Apply a reader to data; raise 400 instead of its ValidationError, including the given problems."""
    wrong: dict[str, Any] = dict(problems or {})
    try:
        loaded = reader(data)
    except ValidationError as error:
        wrong = error.normalized_messages() | wrong
    else:
        if not wrong:
            return loaded
    raise BadRequest(sentence(wrong))


def sentence(messages: Any) -> str:
    """Return marshmallow's nested messages in one line, at most MOST_SENTENCES of them."""
    return first_of(sentences(messages))


def first_of(texts: Iterable[str]) -> str:
    """Return texts in one line: at most MOST_SENTENCES of them, and how many more there are."""
    left = iter(texts)
    named = list(islice(left, MOST_SENTENCES))
    more = sum(1 for _ in left)
    return "; ".join([*named, f"and {more} more"] if more else named)


def sentences(messages: Any, path: str = "") -> Iterator[str]:
    """Yield marshmallow's nested messages as 'field: what is wrong'."""
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
