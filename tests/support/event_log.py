"""The event log as a test compares it: each event a row without its id and instant."""

from typing import Any

from tests.support.world import Caller, World


def events(world: World, since: int) -> list[dict[str, Any]]:
    """The events after the one with this id, oldest first."""
    return [
        {column: value for column, value in row.items() if column not in ("id", "created_at")}
        for row in world.events(since)
    ]


def event(type: str, by: Caller, **columns: Any) -> dict[str, Any]:
    """An event of a user's; columns that are not given are empty."""
    author = {"type": type, "created_by": by.email, "created_by_user_id": by.id}
    rest = dict.fromkeys(("project", "environment", "feature_name", "data", "pre_data"))
    return author | rest | {"tags": []} | columns
