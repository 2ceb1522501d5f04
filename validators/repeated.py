"""A query parameter that may be given several times."""

from collections.abc import Mapping
from typing import Any

from marshmallow import fields


class Repeated(fields.Field[list[Any]]):
    """A parameter that may be given several times; each is read by the inner field."""

    def __init__(self, inner: fields.Field[Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.inner = inner

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> list[Any]:
        return [self.inner.deserialize(word, attr, data, **kwargs) for word in value]
