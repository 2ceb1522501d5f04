"""Flags in environments: paths, switches, and their events."""

from typing import Any

from werkzeug.test import TestResponse

from sql.database import Connection, rows
from tests.support import fixtures
from tests.support.world import Caller, World


def path(what: str = "", *, project: str = "default", flag: str = "f", environment: str = "development") -> str:
    """Return the path of a flag in an environment, or a path below it."""
    return f"/api/admin/projects/{project}/features/{flag}/environments/{environment}{what}"


def switch(caller: Caller, to: str, query: str = "", **place: str) -> TestResponse:
    """Switch the flag on or off."""
    return caller.post(path(f"/{to}", **place) + query)


def switched_on(conn: Connection) -> list[str]:
    """Return flag/environment for each flag and environment in which it is on."""
    statement = (
        "SELECT name || '/' || environment AS place FROM flag_environments "
        "JOIN flags ON id = flag_id WHERE enabled ORDER BY 1"
    )
    return [row["place"] for row in rows(conn, statement)]


def recorded(world: World, since: int, *places: str) -> list[str]:
    """Return the types of the events since then.

    Assert that each is an event by alice about flag f in the environment development of project default, with its tags.
    """
    events = world.events(since)
    for event in events:
        about = [event[column] for column in ("project", "feature_name", "environment", "created_by", "tags")]
        assert about == [
            "default",
            "f",
            places[0] if places else "development",
            "alice@example.org",
            [{"type": "simple", "value": "beta"}],
        ]
    return [event["type"] for event in events]


def tagged_flag(world: World, **fields: Any) -> int:
    """Create flag f with a tag in project default."""
    flag = world.flag("f", **fields)
    fixtures.tag(world.conn, flag, "simple", "beta")
    return flag


def strategies_of(response: TestResponse, environment: str = "development") -> list[dict[str, Any]]:
    """Return the strategies in an environment of the flag in a response."""
    (place,) = (place for place in response.json["environments"] if place["name"] == environment)
    return place["strategies"]
