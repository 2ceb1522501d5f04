"""Groups for tests: creates them, and reads their members."""

from datetime import UTC, datetime
from typing import Any

from tests.support.world import Caller

PATH = "/api/admin/groups"
LONG_AGO = datetime(2024, 2, 29, 12, 34, 56, 789000, tzinfo=UTC)


def members(*who: Caller) -> list[dict[str, Any]]:
    """Members as a body names them."""
    return [{"user": {"id": caller.id}} for caller in who]


def make(caller: Caller, name: str = "Payments", **fields: Any) -> dict[str, Any]:
    """The record of a group made over HTTP."""
    answer = caller.post(PATH, json={"name": name} | fields)
    assert answer.status_code == 201, answer.text
    return answer.json


def ids(group: dict[str, Any]) -> list[int]:
    """The ids of the members of a group, in their order."""
    return [member["user"]["id"] for member in group["users"]]
