"""A story: users run a whole instance over HTTP alone.

Each step names exactly the events that it records, and the ledger keeps them.
"""

from dataclasses import dataclass, field
from typing import Any
from unittest.mock import ANY

from flask import Flask

from tests.support.world import Caller

SEARCH = "/api/admin/search/events"
PASSWORDS = {name: f"{name}'s horse, battery, staple" for name in ("eve", "olga", "max", "victor", "robot")}

Event = dict[str, Any]


def event(type: str, **columns: Any) -> Event:
    """An event by the caller of the step.

    Other columns are empty. A function instead of a value gets the answer of the step.
    """
    empty = dict.fromkeys(("project", "environment", "featureName", "data", "preData"))
    return {"type": type, "tags": []} | empty | columns


def answered(answer: Any) -> Any:
    """The data of an event that contains the answer of the step."""
    return answer


def of(**fields: Any) -> dict[str, Any]:
    """A payload of these fields with any id."""
    return {"id": ANY} | fields


class Having:
    """Equal to each dict that has these entries, whatever else it has."""

    def __init__(self, entries: dict[str, Any] | None = None, **fields: Any) -> None:
        self.entries = (entries or {}) | fields

    def __eq__(self, other: object) -> bool:
        return isinstance(other, dict) and all(
            key in other and other[key] == value for key, value in self.entries.items()
        )

    def __repr__(self) -> str:
        return f"Having({self.entries})"

    __hash__ = None  # pyright: ignore


@dataclass
class Session(Caller):
    """Somebody who logged in and has a cookie."""

    cookie: str = ""

    def request(self, method: str, path: str, **kwargs: Any) -> Any:
        return super().request(method, path, headers={"Cookie": f"session={self.cookie}"}, **kwargs)


@dataclass
class Story:
    """What was done so far: who there is, the ids of what was made, and all events."""

    app: Flask
    key: Caller
    people: dict[str, Caller] = field(default_factory=dict[str, Caller])
    ids: dict[str, Any] = field(default_factory=dict[str, Any])
    answers: dict[str, Any] = field(default_factory=dict[str, Any])
    ledger: list[Event] = field(default_factory=list[Event])
    response: Any = None

    def step(self, caller: Caller, operation: str, body: Any = None, *expect: Event) -> Any:
        """The answer to a request. AssertionError unless it succeeds and records exactly these events in this order."""
        method, path = operation.split(" ")
        response = self.response = caller.request(method, path, **({} if body is None else {"json": body}))
        asked = f"{operation} {body}"
        assert response.status_code < 400, f"{asked}: {response.status_code} {response.text}"
        answer = response.get_json(silent=True)
        author = {"createdBy": caller.email, "createdByUserId": caller.id}
        recorded = self.since(len(expect) + 3)
        types = [event["type"] for event in recorded]
        assert types == [event["type"] for event in expect], f"{asked} recorded {types}"
        for found, event in zip(recorded, expect, strict=True):
            for column, wanted in (author | event).items():
                value = wanted(answer) if callable(wanted) else wanted
                # A payload may have more properties than the story names. The tests of each route compare all.
                value = Having(value) if isinstance(value, dict) else value
                assert found.get(column) == value, f"{asked} recorded {found['type']} with {found}, not {value}"
        self.ledger += recorded
        return answer

    @classmethod
    def begin(cls, app: Flask, key: str) -> "Story":
        """A new instance: an administrator and an API token."""
        story = cls(app, Caller(app, key))
        story.key.email = story.read("/api/admin/api-tokens")["tokens"][0]["tokenName"]
        story.ledger = story.since()
        assert [(event["type"], event["createdBy"]) for event in story.ledger] == [
            ("user-created", "system"),
            ("api-token-created", "system"),
        ]
        return story

    def read(self, path: str, by: str | None = None, **query: Any) -> Any:
        """What somebody (with a key: who has everything) reads at an address."""
        response = (self.people[by] if by else self.key).get(path, query_string=query)
        assert response.status_code == 200, f"{path}: {response.text}"
        return response.get_json()

    def total(self, by: str | None = None, **filters: str) -> int:
        """Return the number of events that the search finds; it must show as many."""
        found = self.read(SEARCH, by, limit=1000, **filters)
        assert len(found["events"]) == found["total"]
        return found["total"]

    def since(self, limit: int = 1000) -> list[Event]:
        """The events that are not in the ledger yet, oldest first."""
        found = self.read(SEARCH, limit=limit)
        new = found["total"] - len(self.ledger)
        assert new <= limit, f"{new} events, and fewer were expected: {[event['type'] for event in found['events']]}"
        return found["events"][:new][::-1]

    def count(self, **columns: Any) -> int:
        """How many events of the ledger have these values in their columns."""
        return sum(all(event.get(column) == value for column, value in columns.items()) for event in self.ledger)
