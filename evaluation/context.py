"""The context of an evaluation: what an application knows about the user and the request."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from evaluation.parsing import encodable


class Fields(dict[str, str]):
    """The values of a context by name, all of them text."""

    # What rollouts use instead of a random number (None). If it is empty, they raise NoIdentity.
    identity: str | None = None


class NoIdentity(Exception):
    """The result depends on the user, and the context does not say who that is."""


def fields_of(context: Mapping[str, Any]) -> Fields:
    """Return the values of the context on one level: its properties, and everything else, which wins.

    Numbers and booleans become text. Null, lists and objects are left out. currentTime defaults to the present time.
    """
    fields = Fields()
    properties = context.get("properties")
    if isinstance(properties, Mapping):
        add_texts(fields, properties)
    add_texts(fields, context)
    if "currentTime" not in fields:
        fields["currentTime"] = datetime.now(UTC).isoformat()
    return fields


def add_texts(fields: Fields, values: Mapping[str, Any]) -> None:
    """Add all values that are text or can become text."""
    for name, value in values.items():
        if isinstance(value, str):
            fields[name] = encodable(value)
        elif isinstance(value, bool):
            fields[name] = "true" if value else "false"
        elif isinstance(value, int):
            fields[name] = str(value)
        elif isinstance(value, float):
            # As the engine of the SDKs writes it: 1e-7, where Python has 1e-07.
            fields[name] = repr(value).replace("e-0", "e-")
