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
        kept = self.pairs("offset")
        return urlencode(kept) + "&" if kept else ""

    def pairs(self, *without: str) -> list[tuple[str, str]]:
        """Return name and text of each filter, except those with these names."""
        return [
            (name, text)
            for name, texts in self.texts.items()
            for text in ([texts] if isinstance(texts, str) else texts)
            if name not in without
        ]

    def address(self, name: str, text: str) -> str:
        """Return the address of the page with this text as the only one of a filter."""
        return "?" + urlencode([*self.pairs("offset", name), (name, text)])

    def without(self, name: str, text: str) -> str:
        """Return the address of the page without this text of a filter."""
        return "?" + urlencode([pair for pair in self.pairs("offset") if pair != (name, text)])


def read_filters(kind: type[Query]) -> Filters:
    """Return the filters of the current request, read by a schema."""
    schema = schema_of(kind)
    repeated = {field.data_key or name for name, field in schema.fields.items() if isinstance(field, Repeated)}
    texts: dict[str, str | list[str]] = {}
    for name, text in query_pairs():
        if name in repeated:
            texts[name] = [*texts.get(name, []), text]
        elif text.strip():
            texts[name] = text
    try:
        return Filters(texts, read(schema, texts), {})
    except ValidationError as error:
        return Filters(texts, None, {name: f"This {found[0]}." for name, found in error.normalized_messages().items()})
