"""Find out which parts of a record a change touches. Requests and imports check only these parts.

So every stored record can be sent back and turned down, even if the rules became stricter after it was stored.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


class StoredParts:
    """The objects in a list of a stored record, such as its constraints. Their empty values count as omitted."""

    def __init__(self, parts: Iterable[Mapping[str, Any]]) -> None:
        self.parts = [(without_empty(part), part) for part in parts]

    def find(self, sent: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the stored object that a change leaves as it is by sending this one, or None."""
        return next((part for content, part in self.parts if content == without_empty(sent)), None)


def without_empty(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object without its empty values."""
    return {name: value for name, value in part.items() if value}


@dataclass(frozen=True)
class Unchanged:
    """An object in a list of a request that the stored record has too. It loads as the stored object."""

    part: Mapping[str, Any]


def with_unchanged(sent: Any, stored: Any) -> Any:
    """Return a list of a request with Unchanged in place of its unchanged objects, and anything else as it is."""
    if not (isinstance(sent, list) and isinstance(stored, list)):
        return sent
    parts = StoredParts(part for part in stored if isinstance(part, dict))
    found = [parts.find(item) if isinstance(item, dict) else None for item in sent]
    return [Unchanged(part) if part else item for part, item in zip(found, sent, strict=True)]
