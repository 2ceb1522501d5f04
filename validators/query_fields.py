"""marshmallow fields of query parameters."""

import re
from datetime import date
from typing import Any

from marshmallow import ValidationError, fields

from validators.fields import BIGINT_MAX, DAY, INTEGER, Field, Integer, in_range

# The same strings match ^(IS|IS_ANY_OF):(.*?)(,([a-zA-Z0-9_]+))*$, the documented pattern. There, a dot matches no line
# terminators.
FILTER = re.compile(r"(IS|IS_ANY_OF):([^\n\r\u2028\u2029]*)")
CHANGE_REQUEST = re.compile(r"(?<=[:,])change-request-")
WHOLE_NUMBER = re.compile(r"\d+", re.ASCII)


class Day(Field[date | None]):
    """A day as yyyy-MM-dd after a fixed prefix. empty_is_absent: load an empty text as None."""

    def __init__(self, *, prefix: str = "", empty_is_absent: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.prefix = prefix
        self.empty_is_absent = empty_is_absent

    def load_value(self, value: Any) -> date | None:
        if value == "" and self.empty_is_absent:
            return None
        if value.startswith(self.prefix) and DAY.fullmatch(value, len(self.prefix)):
            try:
                return date.fromisoformat(value.removeprefix(self.prefix))
            except ValueError:
                raise ValidationError("must be a valid date") from None
        raise ValidationError(f"must look like {self.prefix}2024-05-31")


class Filter(Field[list[str]]):
    """A filter IS:a or IS_ANY_OF:a,b, loaded as the list of its values.

    Spaces are part of a value. IS: alone is loaded as [''], which matches nothing.
    """

    def load_value(self, value: Any) -> list[Any]:
        matched = FILTER.fullmatch(value)
        if matched is None:
            raise ValidationError("must look like IS:one or IS_ANY_OF:one,two")
        if "\0" in value:
            raise ValidationError("must not contain the character NUL")
        return matched[2].split(",")


class IdFilter(Filter):
    """A filter of ids, loaded as a list of integers. IS: alone is loaded as [], which matches nothing."""

    def __init__(self, noun: str = "user", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.noun = noun

    def load_value(self, value: Any) -> list[Any]:
        words = super().load_value(value)
        if words == [""]:
            return []
        if not all(INTEGER.fullmatch(word) and len(word) <= 40 and abs(int(word)) <= BIGINT_MAX for word in words):
            raise ValidationError(f"must be {self.noun} ids, which are integers")
        return [int(word) for word in words]


class GroupFilter(IdFilter):
    """A filter of groups: ids of events, or change requests, such as change-request-7. Loaded as filters of sql/."""

    def load_value(self, value: Any) -> Any:
        plain, requests = CHANGE_REQUEST.subn("", value)
        ids = super().load_value(plain)
        if requests not in (0, len(ids)):
            raise ValidationError("must be either event ids or change requests")
        return {"requests" if requests else "groups": ids}


class WholeNumber(Integer):
    """An integer in a query parameter: decimal digits only."""

    def load_value(self, value: Any) -> int:
        if not WHOLE_NUMBER.fullmatch(value) or len(value) > 40:
            raise ValidationError(f"must be a whole number from {self.min} to {self.max}")
        return in_range(int(value), self.min, self.max)


class Repeated(Field[list[Any]]):
    """A query parameter that can be sent several times. The inner field loads each value."""

    def __init__(self, inner: fields.Field[Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.inner = inner

    def load_value(self, value: Any) -> list[Any]:
        return [self.inner.deserialize(text) for text in value]
