"""A record whose GET can be sent back, and what its tests need."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.support.world import Caller, World
from validators import Body
from validators.returned import ResponseOnly

Json = dict[str, Any]
ADMIN = "/api/admin"
CONSTRAINT = {"contextName": "userId", "operator": "IN", "values": ["7"], "inverted": False, "caseInsensitive": True}
SEGMENT = {"name": "Beta", "description": "Testers.", "project": "default", "constraints": [CONSTRAINT]}


@dataclass(frozen=True)
class Sendable:
    """A record, and the requests that take it.

    table: its properties that requests do not set. records: its JSON Schemas. create: creates one and returns it.
    gets: the paths that return it. renamed: what a second record needs. wrong: other values of read-only properties.
    """

    name: str
    table: ResponseOnly
    update: type[Body]
    new: type[Body] | None
    records: tuple[str, ...]
    create: Callable[[World, Caller], Json]
    gets: tuple[str, ...]
    put: str
    post: str = ""
    renamed: Json | None = None
    wrong: Json | None = None

    def __str__(self) -> str:
        return self.name


def posted(caller: Caller, path: str, body: Json) -> Json:
    """What a POST answers."""
    response = caller.post(f"{ADMIN}/{path}", json=body)
    assert response.status_code in (200, 201), response.text
    return response.get_json()


def found(answer: Any, place: Json) -> Json:
    """Return the record with the id or name of the place in an answer: the answer itself, or below one of its keys."""
    key = "id" if "id" in place else "name"
    candidates: list[Any] = [answer]
    while candidates:
        candidate = candidates.pop(0)
        if isinstance(candidate, list):
            candidates += candidate
        elif isinstance(candidate, dict):
            if candidate.get(key) == place[key]:
                return candidate
            candidates += [value for value in candidate.values() if isinstance(value, (dict, list))]
    raise AssertionError(f"{place} is not in {answer}")
