"""What a request may say: one marshmallow schema per request, read here from the body or the query string."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, ClassVar, TypeVar

from marshmallow import RAISE, Schema, ValidationError
from werkzeug.exceptions import BadRequest

# An unknown property is named in the message, but not a megabyte of it, and not a hundred thousand of them.
QUOTED = 100
MOST_UNKNOWN = 20
# Lists make more mistakes possible than anybody reads.
MOST_SENTENCES = 50
# Our choice: of what a list holds, unless it says otherwise, and a body that is one.
MOST_ITEMS = 10_000
Key = TypeVar("Key")
Item = TypeVar("Item")


# Our choice: strict, so that a misspelt field is not lost in silence.
class Body(Schema):
    """A JSON body; unknown properties are refused unless the schema says otherwise."""

    class Meta:
        unknown = RAISE

    # One that fits, for the OpenAPI document and its tests.
    example: ClassVar[dict[str, Any]]
    # What a validates_schema asks for beside the fields, as JSON Schema, such as {"minProperties": 1}.
    schema: ClassVar[dict[str, Any]] = {}
    # A regular expression: the reasons to refuse a body for which JSON Schema has no words.
    unsaid: ClassVar[str] = ""

    error_messages = {"unknown": "unknown property", "type": "must be a JSON object"}  # noqa: RUF012 (marshmallow declares it so)


class Query(Schema):
    """Query parameters; unknown ones are ignored."""

    class Meta:
        unknown = "exclude"

    # As that of a body.
    unsaid: ClassVar[str] = ""


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
        raise NotJSON("an object has a key twice")
    return found


def names_of(schema: Schema) -> list[str]:
    """The fields of a schema, as a request names them."""
    return [field.data_key or name for name, field in schema.fields.items()]


def read(schema: Schema, data: Any) -> dict[str, Any]:
    """What the schema makes of the data; ValidationError otherwise. Unknown properties are counted once they are many."""
    if schema.unknown == RAISE and isinstance(data, dict):
        unknown = data.keys() - set(names_of(schema))
        if len(unknown) > MOST_UNKNOWN:
            raise ValidationError(f"{len(unknown)} unknown properties")
    loaded = schema.load(data)
    assert isinstance(loaded, dict)
    return loaded


def read_each(one: Callable[[Any], Item], sent: Iterable[tuple[Key, Any]]) -> dict[Key, Item]:
    """What one() makes of each value, by its place; ValidationError with what was wrong at every place otherwise."""
    found: dict[Key, Item] = {}
    wrong: dict[Key, Any] = {}
    for place, value in sent:
        try:
            found[place] = one(value)
        except ValidationError as error:
            wrong[place] = error.messages
    if wrong:
        raise ValidationError(wrong)
    return found


def checked(schema: Schema, data: Any, problems: Mapping[str, list[str]] | None = None) -> dict[str, Any]:
    """What the schema makes of the data, or 400 that names every field that was wrong, those with problems included."""
    return or_400(lambda asked: read(schema, asked), data, problems)


def or_400(reader: Callable[[Any], Item], data: Any, problems: Mapping[str, list[str]] | None = None) -> Item:
    """What a reader makes of the data, or 400 in place of its ValidationError, with the problems."""
    wrong: dict[str, Any] = dict(problems or {})
    try:
        loaded = reader(data)
    except ValidationError as error:
        wrong = error.normalized_messages() | wrong
    else:
        if not wrong:
            return loaded
    said = sentences(wrong)
    named = list(islice(said, MOST_SENTENCES))
    more = sum(1 for _ in said)
    raise BadRequest("; ".join([*named, f"and {more} more"] if more else named))


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
