"""Deletes strategies, and reads what that leaves."""

from typing import Any

from werkzeug.test import TestResponse

from sql.database import Connection, rows, value
from tests.support.flag_environments import switched_on as switched_on
from tests.support.world import Caller, World

NO_STRATEGY = "00000000-0000-4000-8000-000000000000"


def delete(
    caller: Caller,
    strategy_id: str,
    *,
    project: str = "default",
    flag: str = "f",
    environment: str = "development",
    **kwargs: Any,
):
    """Ask for the removal of a strategy of flag f in project default's environment development."""
    path = f"/api/admin/projects/{project}/features/{flag}/environments/{environment}/strategies/{strategy_id}"
    return caller.delete(path, **kwargs)


def is_there(conn: Connection, strategy_id: str) -> bool:
    """Whether there is such a strategy."""
    return value(conn, "SELECT EXISTS (SELECT FROM strategies WHERE id = %(id)s)", {"id": strategy_id})


def deleted(response: TestResponse) -> bool:
    """Whether the answer is that of a removal: 200, no body, and the JSON type for clients that look at it first."""
    return (response.status_code, response.data, response.content_type) == (200, b"", "application/json")


def two_projects(world: World) -> tuple[str, list[dict[str, Any]]]:
    """A strategy of flag f in project default, with flag g beside it and h in project apollo; and the rows of all
    strategies.
    """
    world.project("apollo")
    strategy = world.strategy(world.flag("f", enabled_in=("development",)))
    for name, project in (("g", "default"), ("h", "apollo")):
        world.strategy(world.flag(name, project, enabled_in=("development",)))
    return strategy, rows(world.conn, "SELECT * FROM strategies ORDER BY id")
