"""marshmallow fields of request bodies. They convert no types, and refuse values that PostgreSQL cannot store."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from math import isfinite
from typing import Any, TypeVar
from unicodedata import category

from marshmallow import ValidationError, fields

from validators import MAX_ITEMS, Body, read, read_each

Value = TypeVar("Value")
BIGINT_MAX = 2**63 - 1
# Our choice: the maximum number of keys of an object, and of levels of a nested value. Python and PostgreSQL could
# store far more.
MAX_KEYS = 1000
MAX_LEVELS = 100
# Our choice: maximum lengths in characters. A longer text that is stored already can be sent back unchanged.
DESCRIPTION_MAX = 5000
TITLE_MAX = 255

RFC3339 = re.compile(r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)", re.ASCII)
DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
INTEGER = re.compile(r"-?\d+", re.ASCII)
NAME = re.compile(r"[A-Za-z0-9_.~!*'()-]+")  # Our choice: as in Unleash, what encodeURIComponent keeps.
# Letters of any script are allowed, but no spaces and no control characters.
EMAIL = re.compile(r"[^@\s\x00-\x1f\x7f-\x9f]+@[^@\s\x00-\x1f\x7f-\x9f]+")


class Field(fields.Field[Value]):
    """A field with a description for the OpenAPI document. Subclasses convert values with load_value()."""

    def __init__(self, *, description: str = "", metadata: Mapping[str, Any] | None = None, **kwargs: Any) -> None:
        super().__init__(metadata={"description": description, **(metadata or {})}, **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> Value:
        return self.load_value(value)

    def load_value(self, value: Any) -> Value:
        """Return the value of a request as it is used, or raise ValidationError."""
        raise NotImplementedError


class Text(Field[str]):
    """A string of min to max characters. NUL and lone surrogates, which PostgreSQL cannot store, are refused."""

    def __init__(self, *, min: int = 0, max: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.min = min
        self.max = max

    def load_value(self, value: Any) -> str:
        if not isinstance(value, str):
            raise ValidationError("must be a string")
        if problem := unstorable(value):
            raise ValidationError(problem)
        if len(value) < self.min:
            raise ValidationError(
                "must not be empty" if self.min == 1 else f"must be at least {self.min} characters long"
            )
        if self.max is not None and len(value) > self.max:
            raise ValidationError(f"must be at most {self.max} characters long")
        return value


def unstorable(text: str) -> str | None:
    """Return the reason why PostgreSQL cannot store a text, or None if it can."""
    if "\0" in text:
        return "must not contain the character NUL"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "must not contain lone surrogates"
    return None


class Trimmed(Text):
    """A text whose leading and trailing white space is removed, before its length is checked."""

    def load_value(self, value: Any) -> str:
        return super().load_value(value.strip() if isinstance(value, str) else value)


class NotBlank(Text):
    """A text that is not blank. Spaces around it are kept, because tools compare the response with their request."""

    def load_value(self, value: Any) -> str:
        value = super().load_value(value)
        # Control and format characters, such as the zero-width space, show nothing either.
        if value and all(category(character) in ("Cc", "Cf", "Zl", "Zp", "Zs") for character in value):
            raise ValidationError("must not be blank")
        return value


class Name(Text):
    """A name that needs no escape in a URL: 1 to max of A-Z a-z 0-9 - _ . ~ ! * ' ( ), but not . or .. alone."""

    def __init__(self, *, max: int = 100, **kwargs: Any) -> None:
        super().__init__(min=1, max=max, **kwargs)

    def load_value(self, value: Any) -> str:
        value = super().load_value(value)
        if not NAME.fullmatch(value):
            raise ValidationError("must contain only A-Z, a-z, 0-9 and - _ . ~ ! * ' ( )")
        if value in (".", ".."):
            raise ValidationError('must not be "." or ".."')
        return value


class OneOf(Text):
    """A string that is one of the choices. what: the choices as the error message names them."""

    def __init__(self, choices: frozenset[str], what: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.choices = choices
        self.what = what

    def load_value(self, value: Any) -> str:
        value = super().load_value(value)
        if value not in self.choices:
            raise ValidationError(f"must be {self.what}")
        return value


class Email(Text):
    """An e-mail address in lower case: at most 254 characters, one @ with text on both sides, no spaces."""

    def load_value(self, value: Any) -> str:
        # The length is checked below, because lower-casing can make a text longer.
        value = super().load_value(value).lower()
        if len(value) > 254:
            raise ValidationError("must be at most 254 characters long")
        if not EMAIL.fullmatch(value):
            raise ValidationError("must be an email address such as ada@example.org")
        return value


class Username(NotBlank):
    """A user name of 1 to 255 characters. It has no @, because a login name with @ is an e-mail address."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(min=1, max=255, **kwargs)

    def load_value(self, value: Any) -> str:
        value = super().load_value(value)
        if "@" in value:
            raise ValidationError("must not contain @")
        if value != value.strip():
            raise ValidationError("must not begin or end with a space")
        return value


class Boolean(Field[bool]):
    """true or false, without conversion."""

    def load_value(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise ValidationError("must be true or false")
        return value


class Integer(Field[int]):
    """A JSON integer from min to max. Other JSON values such as 5.0 and true are refused."""

    def __init__(self, *, min: int, max: int = BIGINT_MAX, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.min = min
        self.max = max

    def load_value(self, value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValidationError(f"must be a whole number{', without quotes' if isinstance(value, str) else ''}")
        return in_range(value, self.min, self.max)


# Our choice: all values of the PostgreSQL type integer, also negative ones.
class Position(Integer):
    """The position of a record in a list, by which the list is sorted."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(min=-(2**31), max=2**31 - 1, **kwargs)


def in_range(number: int, low: int, high: int) -> int:
    """Return the number, or raise ValidationError that names the range."""
    if not low <= number <= high:
        raise ValidationError(f"must be from {low} to {high}")
    return number


class DateTime(Field[datetime]):
    """An RFC 3339 date-time with an offset, loaded as a datetime in UTC without digits after the millisecond."""

    def load_value(self, value: Any) -> datetime:
        if isinstance(value, str) and RFC3339.fullmatch(value):
            try:
                instant = datetime.fromisoformat(value.upper()).astimezone(UTC)
                return instant.replace(microsecond=instant.microsecond // 1000 * 1000)
            except (ValueError, OverflowError):
                pass
        raise ValidationError("must be a date-time with an offset such as 2024-05-31T12:00:00Z")


class ListOf(Field[list[Any]]):
    """A JSON array of at most max items (default MAX_ITEMS), each loaded by inner. what: their plural noun."""

    def __init__(self, inner: fields.Field, *, max: int | None = None, what: str = "items", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.inner = inner
        self.max = max
        self.what = what

    def load_value(self, value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise ValidationError("must be a list")
        limit = MAX_ITEMS if self.max is None else self.max
        if len(value) > limit:
            raise ValidationError(f"must have at most {limit} {self.what}")
        return list(read_each(self.inner.deserialize, enumerate(value)).values())


class Nested(Field[dict[str, Any]]):
    """A JSON object that is loaded with a schema of its own."""

    def __init__(self, schema_class: type[Body], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.schema_class = schema_class
        self.schema = schema_class()

    def load_value(self, value: Any) -> dict[str, Any]:
        return read(self.schema, value)


class ObjectOf(Field[dict[str, Any]]):
    """A JSON object with any keys, at most MAX_KEYS of them. The value field loads each value."""

    def __init__(self, value_field: fields.Field, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.value_field = value_field

    def load_value(self, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise ValidationError("must be a JSON object")
        if len(value) > MAX_KEYS:
            raise ValidationError(f"must have at most {MAX_KEYS} properties")
        for problem in filter(None, map(unstorable, value)):
            raise ValidationError(f"the name of a property {problem}")
        return read_each(self.value_field.deserialize, value.items())


class Anything(Field[Any]):
    """Any JSON value that PostgreSQL can store, with at most MAX_LEVELS levels.

    Numbers that Python reads as Infinity, such as 1e400, are refused.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_none=True, **kwargs)

    def load_value(self, value: Any) -> Any:
        for part in json_parts(value):
            if isinstance(part, str) and (problem := unstorable(part)):
                raise ValidationError(problem)
            if isinstance(part, float) and not isfinite(part):
                raise ValidationError("must not contain a number that is too large")
        return value


def json_parts(value: Any) -> Iterator[Any]:
    """Yield a JSON value and every key and value in it. Raise ValidationError if it has more than MAX_LEVELS levels."""
    level = [value]
    for _ in range(MAX_LEVELS + 1):
        yield from level
        inner: list[Any] = []
        for part in level:
            if isinstance(part, dict):
                inner += [*part.keys(), *part.values()]
            elif isinstance(part, list):
                inner += part
        level = inner
        if not level:
            return
    raise ValidationError(f"must not be nested more than {MAX_LEVELS} levels deep")
