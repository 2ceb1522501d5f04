"""docs/reference/event-types.md names the operations that record each type of event."""

import re
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from click import Group
from werkzeug.test import TestResponse

from operations.commands import program
from sql.database import Connection, rows, value
from tests.access import FAMILIES, ROUTES, Family, RouteWorld
from tests.support.event_types_page import PAGE, recorded
from tests.support.openapi_document import DOCUMENT
from tests.support.world import Caller

OPERATIONS = {
    f"{method.upper()} {re.sub('{[^}]*}', '{}', path)}": operation["operationId"]
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}


@dataclass
class Recorder(Caller):
    """A caller, and the types of the events that the latest request recorded."""

    conn: Connection | None = None
    types: set[str] = field(default_factory=set)

    def request(self, method: str, path: str, **kwargs: Any) -> TestResponse:
        """Send one request, and read the events that it recorded."""
        assert self.conn is not None
        newest = value(self.conn, "SELECT coalesce(max(id), 0) FROM events")
        response = super().request(method, path, **kwargs)
        events = rows(self.conn, "SELECT DISTINCT type FROM events WHERE id > %(newest)s", {"newest": newest})
        self.types = {event["type"] for event in events}
        return response


def changes(family: Family) -> list[str]:
    """Return the routes of a family that can record events and that a caller of its table can use."""
    return [route for route, home in ROUTES.items() if home is family and not route.startswith("GET ")]


@pytest.mark.parametrize("family", [pytest.param(family, id=family.name) for family in FAMILIES if changes(family)])
def test_the_page_names_the_operations_that_record_an_event(route_world: RouteWorld, family: Family) -> None:
    route_world.prepare(family)
    documented = recorded()
    missing = []
    for route in changes(family):
        project, name = next(
            (
                (row.project, name)
                for row in family.rows
                if row.route == route
                for name, status in row.statuses.items()
                if status < 300
            ),
            ("default", "stranger"),
        )
        caller = Recorder(route_world.world.app, route_world.cast[name].key, conn=route_world.conn)
        route_world.ask(caller, route, project)
        operation = OPERATIONS[re.sub("<[^>]*>", "{}", route)]
        missing += [f"{operation} records {type}" for type in caller.types if operation not in documented[type]]
    assert missing == []


def test_the_page_names_existing_operations() -> None:
    named = {operation for operations in recorded().values() for operation in operations}
    assert len(named) > 90
    assert named <= set(OPERATIONS.values())


def test_the_page_names_the_commands_that_record_an_event() -> None:
    groups = ("api-token", "flag", "project", "signup-token", "user")
    commands = {f"{group} {name}" for group in groups for name in cast(Group, program.commands[group]).commands}
    silent = {f"{group} list" for group in groups} | {"user unlock", "user end-sessions"}
    named = re.findall(rf"`((?:{'|'.join(groups)}) [a-z-]+)`", PAGE.read_text(encoding="utf-8"))
    assert set(named) == commands - silent
