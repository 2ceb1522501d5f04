"""Read the filters of a page, which its form sends with GET."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from marshmallow import ValidationError

from serving.request_data import query_pairs, schema_of
from validators import Query, read
from validators.query_fields import Repeated


@dataclass(frozen=True)
class Filters:
    """The filters of a page."""

    # As they were sent, without those that are not filled in. The form shows them again.
    texts: dict[str, str | list[str]]
    # Loaded by the schema. None if a filter is wrong.
    values: dict[str, Any] | None
    # What is wrong, by the name of the field.
    errors: dict[str, str]

    @property
    def query(self) -> str:
        """Return the query string of these filters without the offset, to which a link can append others."""
        kept = [(name, text) for name, text in self.texts.items() if name != "offset"]
        return urlencode(kept, doseq=True) + "&" if kept else ""


def read_filters(kind: type[Query]) -> Filters:
    """Return the filters of the current request, read by a schema."""
    schema = schema_of(kind)
    texts: dict[str, str | list[str]] = {}
    for name, text in query_pairs():
        if isinstance(schema.fields.get(name), Repeated):
            texts[name] = [*texts.get(name, []), text]
        elif text.strip():
            texts[name] = text
    try:
        return Filters(texts, read(schema, texts), {})
    except ValidationError as error:
        return Filters(texts, None, {name: f"This {found[0]}." for name, found in error.normalized_messages().items()})
