"""Collect what is wrong with the responses of many routes, and report all of it together."""

import json
import re
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.access import FAMILIES, RouteWorld
from tests.support.fingerprint import fingerprint
from tests.support.world import Caller

# Headers that depend on the request itself.
OF_THE_REQUEST = {"X-Request-ID", "Content-Length", "Date", "Link"}


@dataclass(frozen=True)
class Asked:
    """A request of a route: the words of its path, its body, its query, and the names of the requested records."""

    words: dict[str, Any]
    body: Any = None
    query: str = ""
    names: list[str] = field(default_factory=list)

    def blank(self, text: str) -> str:
        for name in sorted(self.names, key=len, reverse=True):
            text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", "NAME", text)
        return text


def answer(
    route_world: RouteWorld, caller: Caller, route: str, asked: Asked, **headers: str
) -> tuple[int, tuple[tuple[str, str], ...], str]:
    """Return status, headers and body without the id of an error, the requested names, and values of this request."""
    response = route_world.send(caller, route, asked.words, asked.body, asked.query, **headers)
    body = response.text
    if response.status_code >= 400:
        body = json.dumps({name: text for name, text in response.json.items() if name != "id"})
    kept = sorted((name, asked.blank(text)) for name, text in response.headers if name not in OF_THE_REQUEST)
    return response.status_code, tuple(kept), asked.blank(body)


CLOSED = [pytest.param(family, id=family.name) for family in FAMILIES if family.rows]


def verdict(complaints: list[str]) -> None:
    assert not complaints, "\n".join(["", *complaints])


def changed(route_world: RouteWorld, before: dict[str, str]) -> list[str]:
    return [f"{name} has changed" for name, rows in fingerprint(route_world.conn).items() if rows != before[name]]
