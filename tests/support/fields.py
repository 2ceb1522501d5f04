"""Check which values a field of a schema accepts and refuses."""

from typing import Any

import pytest
from marshmallow import ValidationError, fields


def takes(field: fields.Field, value: Any, read: Any) -> None:
    """Assert that the field loads the value as the expected one, with the same type."""
    found = field.deserialize(value)
    assert (type(found), found) == (type(read), read)


def refuses(field: fields.Field, value: Any) -> str:
    """Return the only error message of the field for this value."""
    with pytest.raises(ValidationError) as refusal:
        field.deserialize(value)
    [message] = refusal.value.messages
    return message


BROKEN_TEXT = ["\0", "a\0", "\0a", "\ud800", "a\udfffb", "\udbff", "\udc00\ud800", "\ud83d \ude00"]
ODD_TEXT = [
    "\ufffd",
    "\uffff",
    "\U0010ffff",
    "\u202e",
    "\u200b",
    "\ufeff",
    "\x01",
    "\x7f",
    "\n",
    "\ud7ff",
    "\ue000",
    "'; --",
    "%s",
    "\\u0000",
    "🎉",
]
