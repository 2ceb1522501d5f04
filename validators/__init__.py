"""Read a JSON body or a query string with a marshmallow schema. Each request has one schema, in a module of its own."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, ClassVar, TypeVar

from marshmallow import RAISE, Schema, ValidationError, fields, pre_load
from werkzeug.exceptions import BadRequest

from validators.errors import MalformedJSON

# An error message quotes at most this many characters of a property name.
MAX_QUOTED = 100
# An error message names at most this many unknown properties.
MAX_UNKNOWN = 20
# An error message contains at most this many mistakes.
MAX_MESSAGES = 50
# Our choice: the maximum length of a body that is an array, and the default maximum of other lists.
MAX_ITEMS = 10_000
# Our choice: the maximum number of commas, lists and objects of a JSON text. An export of 40,000 flags has so many.
MAX_VALUES = 2_000_000
Key = TypeVar("Key")
Item = TypeVar("Item")


# Our choice: unknown properties are 400, so that no misspelled field is silently ignored.
class Body(Schema):
    """A JSON body. Unknown properties are refused unless the schema says otherwise."""

    class Meta:
        unknown = RAISE

    # A valid body, for the OpenAPI document and its tests.
    example: ClassVar[dict[str, Any]]
    # The checks of validates_schema as JSON Schema, such as {"minProperties": 1}, for the OpenAPI document.
    schema: ClassVar[dict[str, Any]] = {}
    # A regular expression for the error messages of checks that JSON Schema cannot express. Tests compare the service
    # with the OpenAPI document, and accept these refusals of documented values.
    beyond_json_schema: ClassVar[str] = ""
    # Our choice: null means that an optional property is omitted, because many clients send it for what is unset. The
    # nine operations of decisions.md refuse it.
    drops_nulls: ClassVar[bool] = True
    # Our choice: for these properties an empty text means omitted too, because forms send it for what is not filled in.
    drops_empty: ClassVar[frozenset[str]] = frozenset()

    error_messages = {"unknown": "unknown property", "type": "must be a JSON object"}  # noqa: RUF012 (marshmallow declares it so)

    def drops_null(self, field: fields.Field) -> bool:
        """Return whether null means that this property is omitted."""
        return self.drops_nulls and not field.required and not field.allow_none

    @pre_load
    def drop_omitted(self, data: Any, **_: Any) -> Any:
        """Return the body without the properties that are null or empty where that means omitted."""
        if not isinstance(data, dict):
            return data
        if self.drops_empty:
            data = {name: value for name, value in data.items() if value != "" or name not in self.drops_empty}
        if None not in data.values():
            return data
        dropped = {field.data_key or name for name, field in self.fields.items() if self.drops_null(field)}
        return {name: value for name, value in data.items() if value is not None or name not in dropped}


class OpenBody(Body):
    """A JSON body in which unknown properties are ignored."""

    class Meta(Body.Meta):
        unknown = "exclude"


class Query(Schema):
    """Query parameters. Unknown ones are ignored."""

    class Meta:
        unknown = "exclude"

    # As in Body.
    beyond_json_schema: ClassVar[str] = ""


def parse(raw: bytes, what: str = "The body") -> Any:
    """Parse a JSON text (RFC 8259). Raise 400 for anything else, including NaN, duplicate keys and deep nesting."""
    if has_too_many_values(raw):
        raise BadRequest(f"{what} must have at most {MAX_VALUES} values.")
    try:
        return json.loads(raw.decode("utf-8"), parse_constant=refuse_constant, object_pairs_hook=refuse_duplicates)
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, NotJSON) else "it cannot be parsed"
        raise MalformedJSON(f"{what} is not valid JSON: {reason}.") from None


def has_too_many_values(raw: bytes) -> bool:
    """Return whether a JSON text would take too much memory. A list of empty lists takes 24 times its size."""
    return sum(map(raw.count, (b",", b"[", b"{"))) > MAX_VALUES


class NotJSON(ValueError):
    """A text that Python's parser would accept although it is not valid JSON."""


def refuse_constant(word: str) -> None:
    """Raise NotJSON for NaN and Infinity, which Python would accept."""
    raise NotJSON(f"{word} is not a JSON value")


def refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs as a dict. Raise NotJSON if a key occurs twice."""
    parsed = dict(pairs)
    if len(parsed) < len(pairs):
        raise NotJSON("an object has a key twice")
    return parsed


def names_of(schema: Schema) -> list[str]:
    """Return the names that the fields of a schema have in requests."""
    return [field.data_key or name for name, field in schema.fields.items()]


# Returns the record that a request changes, as an object or as JSON text, or None if it does not exist.
Stored = Callable[[], Mapping[str, Any] | str | None]


def read(schema: Schema, data: Any, stored: Stored | None = None) -> dict[str, Any]:
    """Load data with a schema, or raise ValidationError. Its message counts unknown properties if they are many.

    stored: called if the data is invalid. Texts that the record already has are valid: older versions had no maximum.
    """
    if schema.unknown == RAISE and isinstance(data, dict):
        unknown = data.keys() - set(names_of(schema))
        if len(unknown) > MAX_UNKNOWN:
            raise ValidationError(f"{len(unknown)} unknown properties")
    try:
        loaded = schema.load(data)
    except ValidationError as error:
        if stored is None or not isinstance(data, dict):
            raise
        found = stored()
        record = json.loads(found) if isinstance(found, str) else found or {}
        optional = {name for name, field in schema.fields.items() if not field.required}
        texts = {name for name in optional & error.normalized_messages().keys() if isinstance(data.get(name), str)}
        same = {name: data[name] for name in texts if data[name] == record.get(name)}
        if not same:
            raise
        loaded = read(schema, {name: value for name, value in data.items() if name not in same}) | same
    assert isinstance(loaded, dict)
    return loaded


def read_each(read_one: Callable[[Any], Item], items: Iterable[tuple[Key, Any]]) -> dict[Key, Item]:
    """Return read_one() of each value by key, or raise ValidationError with the mistakes of all."""
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


def read_array(schema: Schema, items: Any) -> list[dict[str, Any]]:
    """Load each item of a JSON array with a schema, or raise ValidationError."""
    if not isinstance(items, list):
        raise ValidationError("must be a JSON array")
    if len(items) > MAX_ITEMS:
        raise ValidationError(f"must have at most {MAX_ITEMS} items")
    return list(read_each(lambda item: read(schema, item), enumerate(items)).values())


def load_or_400(schema: Schema, data: Any, problems: Mapping[str, list[str]] | None = None) -> dict[str, Any]:
    """Load data with a schema, or raise 400 with every mistake and with problems found before, by field."""
    return or_400(lambda payload: read(schema, payload), data, problems)


def or_400(reader: Callable[[Any], Item], data: Any, problems: Mapping[str, list[str]] | None = None) -> Item:
    """Return the result of reader(data). Raise 400 instead of its ValidationError, and for problems as above."""
    wrong: dict[str, Any] = dict(problems or {})
    try:
        loaded = reader(data)
    except ValidationError as error:
        wrong = error.normalized_messages() | wrong
    else:
        if not wrong:
            return loaded
    raise BadRequest(format_messages(wrong))


def format_messages(messages: Any) -> str:
    """Return marshmallow's nested messages in one line, at most MAX_MESSAGES of them."""
    return join_first(each_message(messages))


def join_first(texts: Iterable[str]) -> str:
    """Return the first MAX_MESSAGES texts in one line, and the number of the others."""
    remaining = iter(texts)
    first = list(islice(remaining, MAX_MESSAGES))
    more = sum(1 for _ in remaining)
    return "; ".join([*first, f"and {more} more"] if more else first)


def each_message(messages: Any, path: str = "") -> Iterator[str]:
    """Yield marshmallow's nested messages as 'field: what is wrong'."""
    if isinstance(messages, dict):
        for key, inner in messages.items():
            name = "" if key == "_schema" else str(key)[:MAX_QUOTED]
            yield from each_message(inner, ".".join(part for part in (path, name) if part))
    else:
        for message in messages:
            text = str(message).rstrip(".")
            text = "is required" if text == "Missing data for required field" else text
            text = "must not be null" if text == "Field may not be null" else text
            yield f"{path or 'body'}: {text}"
