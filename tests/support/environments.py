"""An environment for tests, with its row and its events."""

from typing import Any

from sql.database import Connection, one, rows
from tests.support.world import Caller, World

URL = "/api/admin/environments"
STAGING = {"name": "staging", "type": "preproduction", "enabled": True, "protected": False, "sortOrder": 3}


def stored(conn: Connection, name: str) -> dict[str, Any] | None:
    """The row of an environment, in the form of its record."""
    statement = (
        'SELECT name, type, enabled, protected, sort_order AS "sortOrder" FROM environments WHERE name = %(name)s'
    )
    return one(conn, statement, {"name": name})


def names(conn: Connection) -> list[str]:
    """The names of all environments."""
    return [row["name"] for row in rows(conn, "SELECT name FROM environments ORDER BY name")]


def logged(world: World, since: int, caller: Caller) -> list[tuple[Any, ...]]:
    """type, environment, data and pre_data of the events after one; all by the caller, and about nothing else."""
    found = world.events(since)
    for event in found:
        assert (event["created_by"], event["created_by_user_id"]) == (caller.email, caller.id)
        assert (event["project"], event["feature_name"], event["tags"]) == (None, None, [])
    return [(event["type"], event["environment"], event["data"], event["pre_data"]) for event in found]
