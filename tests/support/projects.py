"""Rows of projects, and the events of their changes."""

from typing import Any

from sql.database import Connection, rows
from tests.support.world import Caller, World


def stored(conn: Connection, project_id: str) -> dict[str, Any]:
    """The row of a project."""
    [row] = rows(conn, "SELECT * FROM projects WHERE id = %(id)s", {"id": project_id})
    return dict(row)


def recorded(world: World, since: int) -> list[dict[str, Any]]:
    """The events since then, without ids and instants."""
    return [
        {key: word for key, word in event.items() if key not in ("id", "created_at")} for event in world.events(since)
    ]


def plain(type: str, author: Caller, **fields: Any) -> dict[str, Any]:
    """An event of project mobile that says nothing but what happened."""
    return {
        "type": type,
        "created_by": author.email,
        "created_by_user_id": author.id,
        "environment": None,
        "project": "mobile",
        "feature_name": None,
        "data": None,
        "pre_data": None,
        "tags": [],
    } | fields
