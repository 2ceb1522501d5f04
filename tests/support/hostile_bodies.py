"""Hostile request bodies."""

from typing import Any

import pytest

from tests.access import FAMILIES, ROUTES, Family
from tests.support.hunt import description


def nested(depth: int, opening: str = "[", closing: str = "]", core: str = "") -> str:
    """Brackets inside each other."""
    return opening * depth + core + closing * depth


NO_VALUES = ["null", "[]", "{}", "[null]", '["a"]', '{"a": 1}', "1.5", "-1.5", "1e400", "-1e400", "1e-400", "9" * 400, "-" + "9" * 400]
NO_JSON: list[Any] = [b"", b" ", b"\n", b"{", b"}", b"[", b"]", b'"', b"{]", b"{,}", b'{"a"}', b'{"a":}', b"{a:1}", b"{'a':1}", b"{}{}"]
NO_OBJECT = [
    "null",
    "true",
    "false",
    "0",
    "1",
    "1.5",
    "1e400",
    '""',
    '"{}"',
    "[]",
    "[{}]",
    "[[]]",
    '["enabled"]',
    "9" * 400,
    nested(900),
    "[" + "1," * 99_999 + "1]",
]
OTHER_TYPES = ["text/plain", "text/json", "application/jsonp", "application/json-patch+json", "application/vnd.api+json", "application/*"]


def with_bodies(family: Family) -> list[str]:
    """The routes of a family that need a body."""
    return [route for route, home in ROUTES.items() if home is family and description(route).get("requestBody", {}).get("required")]


# A password is changed by session alone.
WITH_BODIES = [pytest.param(family, id=family.name) for family in FAMILIES if with_bodies(family) and family.name != "account"]
