"""Request bodies that no client should send, and the routes that take bodies."""

from typing import Any

import pytest

from contract import document as openapi
from tests.access import FAMILIES, ROUTES, Family
from tests.support.openapi_document import DOCUMENT


def nested(depth: int, opening: str = "[", closing: str = "]", core: str = "") -> str:
    """Brackets inside each other."""
    return opening * depth + core + closing * depth


NO_VALUES = [
    "null",
    "[]",
    "{}",
    "[null]",
    '["a"]',
    '{"a": 1}',
    "1.5",
    "-1.5",
    "1e400",
    "-1e400",
    "1e-400",
    "9" * 400,
    "-" + "9" * 400,
    "9" * 5000,
    "NaN",
    "Infinity",
    "-Infinity",
    "nan",
    "undefined",
    "True",
    "None",
    "'a'",
    "",
    "0x10",
    "01",
    "+1",
    ".5",
    "1.",
    "1_0",
    "1e",
    "--1",
    "//",
    '"\\u0000"',
    '"a\\u0000b"',
    '"\\ud800"',
    '"\\udfff"',
    '"\\udc00\\ud800"',
    '"\\ud83d x"',
    '"a',
    '"\\x41"',
    '"\\u12"',
    '"\x00"',
    '"a\nb"',
    nested(100),
    nested(900),
    nested(10_000),
    nested(100_000),
    nested(100, '{"a":', "}", "1"),
    nested(10_000, '{"a":', "}", "1"),
    '{"$gt": ""}',
    '{"__proto__": {"admin": true}}',
    '{"toString": 1}',
    '{"length": 5}',
    "[" * 500_000,
    '{"a":' * 10_000,
    "[[1,2],[3]]",
]
NO_JSON: list[Any] = [
    b"",
    b" ",
    b"\n",
    b"{",
    b"}",
    b"[",
    b"]",
    b'"',
    b"{]",
    b"{,}",
    b'{"a"}',
    b'{"a":}',
    b"{a:1}",
    b"{'a':1}",
    b"{}{}",
    b"{} x",
    b"x{}",
    b"//{}",
    b"undefined",
    b"NaN",
    b"Infinity",
    b"\x00",
    b"{}\x00",
    b"\xff",
    b"\xff\xfe{\x00}\x00",
    b"\xfe\xff\x00{\x00}",
    b"\xef\xbb\xbf{}",
    b"\xc3\x28",
    b"\xed\xa0\x80",
    nested(10_000),
    nested(500_000),
    "[" * 1_000_000,
    '{"a":' * 100_000,
    nested(10_000, '{"a":', "}", "1"),
    "9" * 5000,
    "-",
    "1e",
    '"' + "a" * 999_999,
    b"\x1f\x8b\x08",
    b"a=1&b=2",
    b"<xml/>",
    b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--',
    b"limit=1",
    b"\x80\x81",
    b'{"\\ud8":1}',
    b'{"a":"\t\x01"}',
]
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
OTHER_TYPES = [
    "text/plain",
    "text/json",
    "application/jsonp",
    "application/json-patch+json",
    "application/vnd.api+json",
    "application/*",
    "*/*",
    "json",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "multipart/form-data; boundary=x",
    "application/xml",
    "application/octet-stream",
    "application/json, text/plain",
    "text/plain; application/json",
    "\xff",
    ";",
    ";;;",
    "application",
    "x" * 10_000,
    "application/json/x",
    "a=b",
]


def description(route: str) -> dict[str, Any]:
    """Return the operation of a route in the OpenAPI document."""
    method, rule = route.split(" ")
    return DOCUMENT["paths"][openapi.path_of(rule)][method.lower()]


def with_bodies(family: Family) -> list[str]:
    """The routes of a family that need a body."""
    return [
        route
        for route, home in ROUTES.items()
        if home is family and description(route).get("requestBody", {}).get("required")
    ]


# A password is changed by session alone.
WITH_BODIES = [
    pytest.param(family, id=family.name) for family in FAMILIES if with_bodies(family) and family.name != "account"
]
# Usage is never refused for its body, and a registration only without the name of its application.
[REPORTED] = [family for family in FAMILIES if family.name == "client.reports"]
REPORTS = with_bodies(REPORTED)
REFUSING = [family for family in WITH_BODIES if family.id != REPORTED.name]


def report_statuses(route: str) -> tuple[int, int]:
    """The statuses of a report with a name, and of one that cannot be read."""
    accepted = 202 if "/api/client/" in route else 200
    return accepted, 400 if route.endswith("/register") else accepted
