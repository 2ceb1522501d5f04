"""The registry of routes: which caller gets which status, and how many round trips to PostgreSQL the first success
takes.

Each module describes a family of routes: TABLE, and ARGUMENTS, or prepare(), which creates what the paths name.
CONTRIBUTING.md explains how to add a route.
"""

import pkgutil
import re
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import Any
from urllib.parse import quote

from flask import Flask
from psycopg import Rollback
from werkzeug.test import TestResponse

from rules.access import digest
from serving.operation import CONTRACTS
from sql import sessions
from sql.database import Connection
from tests.support.world import Caller, World, refused

# Hermes is open and has no members. Apollo is private and belongs to Olga and Max. There is no project nowhere.
PROJECTS = ("default", "hermes", "apollo")
PLACES = {*PROJECTS, "nowhere"}
CALLERS = ("alice", "eve", "victor", "olga", "max", "admin", "client", "frontend", "stranger")
PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
# What applications call, with client or frontend tokens. Users and their sessions are refused there.
CLIENT_SIDE = re.compile(r"[A-Z]+ /(api/client|api/frontend|ofrep|edge)\b")
# Environment variables: requests that would change them are always 409.
UNCHANGEABLE = {"POST /api/admin/auth/oidc/settings", "POST /api/admin/auth/simple/settings"}
NAMES = {401: "AuthenticationRequired", 403: "NoAccessError", 404: "NotFoundError", 409: "ConflictError"}


@dataclass
class Arguments:
    """What a family's routes need: the words of their paths by project ("*": in every one), and bodies and queries by
    route.

    A body is the JSON itself, or a function that makes it for a project. Without one, the example of the route's schema
    is sent.
    """

    words: dict[str, dict[str, Any]] = field(default_factory=dict)
    bodies: dict[str, Any] = field(default_factory=dict)
    queries: dict[str, str] = field(default_factory=dict)


Prepare = Callable[[World, dict[str, Caller]], Arguments]


@dataclass(frozen=True)
class Row:
    """A row of a table: which caller gets which status from a route in a project ("-": in no project).

    round_trips: how often the route waits for PostgreSQL, in the first row of the route. BEGIN, COMMIT and the look at
    the credential count. A number that grows needs a reason.
    """

    route: str
    project: str
    statuses: dict[str, int]
    round_trips: int | None = None

    @property
    def method(self) -> str:
        """The method of the route."""
        return self.route.split(" ")[0]

    @property
    def client_side(self) -> bool:
        """Return whether applications call the route."""
        return CLIENT_SIDE.match(self.route) is not None

    @property
    def public(self) -> bool:
        """Return whether the route needs no credential."""
        return self.statuses["stranger"] < 400


@dataclass(frozen=True)
class Family:
    """One module here: its table, and the function that prepares its arguments."""

    name: str
    table: list[Row]
    prepare: Prepare

    @property
    def rows(self) -> list[Row]:
        """Return the rows of routes that need a credential."""
        return [row for row in self.table if not row.public]

    @property
    def public(self) -> dict[str, int]:
        """Return the routes that need no credential, with the status of their success."""
        return {row.route: row.statuses["stranger"] for row in self.table if row.public}

    @property
    def firsts(self) -> list[Row]:
        """The first row of every route."""
        return list({row.route: row for row in reversed(self.rows)}.values())[::-1]


@dataclass
class RouteWorld:
    """A world with a flag and its strategies in each project, everybody in it, and the arguments of some families."""

    world: World
    cast: dict[str, Caller]
    strategies: dict[tuple[str, str], str]
    arguments: dict[str, Arguments] = field(default_factory=dict)

    @property
    def conn(self) -> Connection:
        """The connection of the world."""
        return self.world.conn

    def prepare(self, *families: Family) -> None:
        """Create what the routes of these families need."""
        for family in families:
            if family.name not in self.arguments:
                self.arguments[family.name] = family.prepare(self.world, self.cast)

    def words(self, route: str, project: str = "default", environment: str = "development") -> dict[str, Any]:
        """The words of the path of a route in a project, and more; its family must be prepared."""
        arguments = self.arguments[ROUTES[route].name]
        words: dict[str, Any] = {"project_id": project, "feature_name": f"flag-of-{project}"}
        words |= {"environment": environment}
        words |= {"strategy_id": self.strategies.get((project, environment), "no-such-strategy")}
        return words | arguments.words.get("*", {}) | arguments.words.get(project, {})

    def body(self, route: str, project: str = "default") -> Any:
        """Return the body of a route in a project, or None if it takes none."""
        bodies = self.arguments[ROUTES[route].name].bodies
        if route not in bodies:
            return example(self.world.app, route)
        return bodies[route](project) if callable(bodies[route]) else bodies[route]

    def ask(
        self, caller: Caller, route: str, project: str = "default", environment: str = "development", **headers: str
    ) -> TestResponse:
        """What the caller gets from a route of a family that is prepared. What succeeded is undone."""
        words, query = (
            self.words(route, project, environment),
            self.arguments[ROUTES[route].name].queries.get(route, ""),
        )
        return self.send(caller, route, words, self.body(route, project), query, **headers)

    def send(
        self, caller: Caller, route: str, words: dict[str, Any], body: Any = None, query: str = "", **headers: str
    ) -> TestResponse:
        """What the caller gets from a route with these words in its path, this body (bytes: as they are) and this
        query.

        What succeeded is undone.
        """
        method, rule = route.split(" ")
        missing = set(parameters(route)) - words.keys()
        assert not missing, f"prepare() has no words for {missing}"
        path = PARAMETER.sub(lambda word: quote(str(words[word[1]]), safe=""), rule) + query
        sent: dict[str, Any] = {} if body is None else {"json": body}
        if isinstance(body, bytes):
            sent = {"data": body, "content_type": "application/json"}
        with self.conn.transaction():
            response = caller.request(method, path, headers=headers, **sent)
            if not 400 <= response.status_code < 500:
                raise Rollback
        return response

    def mismatch(self, row: Row, name: str, caller: Caller, expected: int, says: str = "", **headers: str) -> list[str]:
        """What is wrong with what the caller gets, in a list of one line; an empty list: nothing.

        A refusal's message must have these words.
        """
        problem = f"{row.route} {row.project} {name}: expected {expected}"
        try:
            response = self.ask(caller, row.route, row.project, **headers)
            if response.status_code != expected:
                return [f"{problem}, got {response.status_code} {response.text:.200}"]
            if expected >= 400:
                message = refused(response, expected, NAMES[expected])
                assert says in message, f"{message} does not say: {says}"
        except AssertionError as error:
            return [f"{problem}, but {error!s:.300}"]
        return []

    def most_privileged(self, route: str) -> str:
        """Return the caller with the most permissions for a route: an administrator, or an admin token."""
        return "admin" if CLIENT_SIDE.match(route) else "alice"

    def session_of(self, user: Caller) -> str:
        """The cookie of a new session of a user."""
        sessions.insert(self.conn, digest(f"session of {user.id}"), user.id or 0, 48)
        return f'session="session of {user.id}"'


def example(app: Flask, route: str) -> Any:
    """Return the example of the body that a route takes, or None if it takes none."""
    method, path = route.split(" ")
    [endpoint] = {
        rule.endpoint for rule in app.url_map.iter_rules() if rule.rule == path and method in (rule.methods or ())
    }
    contract = CONTRACTS[app.view_functions[endpoint]]
    if contract.body is None:
        return None
    return [contract.body.example] if contract.many else contract.body.example


def parameters(route: str) -> list[str]:
    """The names of the words in the path of a route."""
    return PARAMETER.findall(route)


def make_route_world(world: World, **cast: Caller) -> RouteWorld:
    """Return the world of the routes, with no family prepared yet."""
    world.project("hermes", mode="open")
    created = {}
    for project in PROJECTS:
        flag = world.flag(f"flag-of-{project}", project)
        created |= {
            (project, environment): world.strategy(flag, environment) for environment in ("development", "production")
        }
    return RouteWorld(world, cast | {kind: world.api_key(kind) for kind in ("admin", "client", "frontend")}, created)


def rows(table: str) -> list[Row]:
    """Return the rows of a table, whose columns are two or more spaces apart.

    AssertionError if one does not fit the heading.
    """
    heading, *lines = [re.split(r"  +", line.strip()) for line in table.splitlines() if line.strip()]
    assert heading == ["route", "project", *CALLERS, "trips"], f"the heading is {heading}"
    read: list[Row] = []
    for line in lines:
        assert len(line) == len(heading), f"a row has {len(line)} columns: {line}"
        route, project, *cells, trips = line
        statuses: dict[str, int] = dict(zip(CALLERS, map(int, cells), strict=True))
        assert all(200 <= status < 400 or status in NAMES for status in statuses.values()), f"no such status: {line}"
        first = route not in {row.route for row in read}
        assert first == (trips != "-"), f"the first row of a route has its round trips, the others have -: {line}"
        read.append(Row(route, project, statuses, int(trips) if first else None))
    return read


def family(module: ModuleType) -> Family:
    """Return the family that a module here describes."""
    arguments = getattr(module, "ARGUMENTS", Arguments())
    prepare = getattr(module, "prepare", lambda world, cast: deepcopy(arguments))  # noqa: ARG005
    return Family(module.__name__.removeprefix(f"{__name__}."), rows(module.TABLE), prepare)


MODULES = [module.name for module in pkgutil.walk_packages(__path__, f"{__name__}.") if not module.ispkg]
FAMILIES = [family(import_module(name)) for name in MODULES]
# The family of each route.
ROUTES = {row.route: family for family in FAMILIES for row in family.table}
# Of the routes that need a credential.
ROWS = [row for family in FAMILIES for row in family.rows]
ROUND_TRIPS = {row.route: row.round_trips for family in FAMILIES for row in family.table if row.round_trips is not None}
