"""Read parsed JSON strictly.

Stored flags can contain anything. A value of the wrong type makes one strategy or flag malformed. The rest works.
"""

from typing import Any


class Malformed(ValueError):
    """A stored value is invalid. The message names it and says what would be right."""


def object_of(value: Any, name: str) -> dict[str, Any]:
    """Return a JSON object, or raise Malformed."""
    if not isinstance(value, dict):
        raise Malformed(f"{name}: must be an object")
    return value


def list_at(item: dict[str, Any], key: str) -> list[Any]:
    """Return the list at a key. Null and a missing key count as an empty list."""
    value = item.get(key)
    if isinstance(value, list):
        return value
    if value is None:
        return []
    raise Malformed(f"{key}: must be a list")


def text_at(item: dict[str, Any], key: str, default: str | None = None) -> str:
    """Return the text at a key. Null and a missing key count as the default, if one is given."""
    value = item.get(key, default)
    if isinstance(value, str):
        return value
    if value is None and default is not None:
        return default
    raise Malformed(f"{key}: must be text")


def texts_at(item: dict[str, Any], key: str) -> tuple[str, ...]:
    """Return the list of texts at a key."""
    values = list_at(item, key)
    for value in values:
        if not isinstance(value, str):
            raise Malformed(f"{key}: must be a list of texts")
    return tuple(values)


def boolean_at(item: dict[str, Any], key: str, *, default: bool = False) -> bool:
    """Return the boolean at a key. Null and a missing key count as the default."""
    value = item.get(key)
    if value is True or value is False:
        return value
    if value is None:
        return default
    raise Malformed(f"{key}: must be true or false")


def encodable(text: str) -> str:
    """Return the text with a question mark for each lone surrogate, which UTF-8 cannot encode."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
