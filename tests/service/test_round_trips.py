"""How many round trips to PostgreSQL a request costs: counted on the wire, for every route."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from sql.database import Connection, database
from tests.access import FAMILIES, ROUND_TRIPS, ROUTES, UNCHANGEABLE, Family, RouteWorld
from tests.support.instance import ADMIN_KEY
from tests.support.wire import Wire, watched
from tests.support.world import Caller

# These need a session; the callers of tests/access/ come with tokens.
# A guess at a signup token is counted against its address before it is looked at.
THROTTLED = {"GET /invite/<token>/validate", "GET /auth/reset/validate"}
BY_SESSION = {"POST /api/admin/user/change-password", "GET /logout", "POST /logout", "DELETE /api/admin/user/sessions"}
BY_SESSION.add("DELETE /api/admin/user/sessions/<session_id>")
# It reads the changes and the records they change: a conflict is found by comparing them.
COMPARING = {"GET /api/admin/projects/<project_id>/change-requests/<change_request_id>"}
GUARD = "WITH credential AS"


@dataclass
class Watched(Caller):
    """A caller, and what went over the wire for the latest request."""

    conn: Connection | None = None
    wire: Wire = field(default_factory=Wire)

    def request(self, method: str, path: str, **kwargs: Any) -> TestResponse:
        """Send one request, and watch the wire meanwhile."""
        assert self.conn is not None
        with watched(self.conn) as self.wire:
            return super().request(method, path, **kwargs)


@pytest.fixture
def known(route_world: RouteWorld) -> RouteWorld:
    """The world of the routes, in which everybody was seen a moment ago."""
    for caller in route_world.cast.values():
        if caller.id is not None:
            caller.get("/api/admin/user")
    route_world.conn.execute("UPDATE api_keys SET seen_at = clock_timestamp()")
    return route_world


def wire_of(route_world: RouteWorld, route: str) -> Wire:
    """What goes over the wire when the first caller whom a route serves asks for it."""
    rows = [row for row in ROUTES[route].rows if row.route == route]
    project, name, headers = "default", "stranger", {}
    if route in BY_SESSION:
        headers["Cookie"] = route_world.session_of(route_world.cast["alice"])
    elif rows:
        project, name = next(
            (row.project, name)
            for row in rows
            for name, status in row.statuses.items()
            if status < 300 or (status == 409 and route in UNCHANGEABLE)
        )
    caller = Watched(route_world.world.app, route_world.cast[name].key, conn=route_world.conn)
    response = route_world.ask(caller, route, project, **headers)
    assert response.status_code < 400 or route in UNCHANGEABLE, response.text
    route_world.conn.execute("DELETE FROM sessions")
    return caller.wire


@pytest.mark.parametrize("family", [pytest.param(family, id=family.name) for family in FAMILIES])
def test_a_request_costs_no_more_than_its_number(known: RouteWorld, family: Family) -> None:
    known.prepare(family)
    complaints = []
    for route in (route for route, home in ROUTES.items() if home is family):
        wire = wire_of(known, route)
        # A process asks this once a minute. On the connection of these tests, each request does.
        round_trips = wire.round_trips - sum("event_weeks_are_due" in statement for statement in wire.statements)
        if round_trips != ROUND_TRIPS[route]:
            complaints.append("\n    ".join([f"{route}: {round_trips}, not {ROUND_TRIPS[route]}", *wire.statements]))
    assert not complaints, "\n".join(["", *complaints])


def test_reads_take_two_round_trips() -> None:
    reads = {
        route: number
        for route, number in ROUND_TRIPS.items()
        if route.startswith("GET ") and route not in BY_SESSION | THROTTLED | COMPARING
    }
    assert {route: number for route, number in reads.items() if number > 2} == {}


def test_once_a_minute_a_caller_is_marked_as_seen_in_one_more_round_trip(route_world: RouteWorld) -> None:
    eve = Watched(route_world.world.app, route_world.cast["eve"].key, conn=route_world.conn)
    key = Watched(route_world.world.app, route_world.cast["admin"].key, conn=route_world.conn)
    for caller in (eve, key):
        counts = []
        for _ in range(2):
            caller.get("/api/admin/projects")
            counts.append(caller.wire.round_trips)
        assert counts == [3, 2]


def test_an_api_token_learns_who_it_is_in_one_round_trip_without_roles(known: RouteWorld) -> None:
    caller = Watched(known.world.app, known.cast["admin"].key, conn=known.conn)
    caller.get("/api/admin/user")
    assert caller.wire.round_trips == 1
    assert not any("role" in statement for statement in caller.wire.statements)


@pytest.fixture(scope="module")
def pooled(make_database: Callable[..., str], make_app: Callable[..., Flask]) -> Flask:
    """A service on a database of its own, with a single connection in its pool."""
    return make_app(make_database(), DATABASE_POOL_SIZE=1)


def test_the_pool_and_a_real_transaction_cost_no_more(pooled: Flask) -> None:
    caller = Caller(pooled, ADMIN_KEY)
    caller.get("/api/admin/projects")
    with pooled.app_context(), database().connection() as conn:
        pass
    for ask, statements in (
        (lambda: caller.get("/api/admin/projects/default/overview"), [GUARD, "WITH"]),
        (
            lambda: caller.post("/api/admin/tags", json={"type": "simple", "value": "seen"}),
            ["BEGIN", GUARD, "", "", "", "", "COMMIT"],
        ),
    ):
        with watched(conn) as wire:
            assert ask().status_code < 300
        assert len(wire.statements) == wire.round_trips == len(statements)
        assert all(
            statement.startswith(expected) for statement, expected in zip(wire.statements, statements, strict=True)
        ), wire.statements
