"""Create groups for tests, and read their members."""

from datetime import UTC, datetime
from typing import Any

from tests.support.world import Caller

PATH = "/api/admin/groups"
LONG_AGO = datetime(2024, 2, 29, 12, 34, 56, 789000, tzinfo=UTC)


def members(*who: Caller) -> list[dict[str, Any]]:
    """Return members in the form of a request body."""
    return [{"user": {"id": caller.id}} for caller in who]


def make(caller: Caller, name: str = "Payments", **fields: Any) -> dict[str, Any]:
    """Create a group over HTTP, and return its record."""
    answer = caller.post(PATH, json={"name": name} | fields)
    assert answer.status_code == 201, answer.text
    return answer.json


def ids(group: dict[str, Any]) -> list[int]:
    return [member["user"]["id"] for member in group["users"]]
