"""Checks one field of a schema: what it accepts and what it refuses."""

from typing import Any

import pytest
from marshmallow import ValidationError, fields


def takes(field: fields.Field, value: Any, read: Any) -> None:
    """The field must read this value as that, and as the very same type."""
    found = field.deserialize(value)
    assert (type(found), found) == (type(read), read)


def refuses(field: fields.Field, value: Any) -> str:
    """The one sentence with which the field refuses this value."""
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
