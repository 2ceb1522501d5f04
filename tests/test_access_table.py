"""Who gets what from every route: the table, and which credentials count."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import bcrypt
import pytest
from flask import Flask
from psycopg import Rollback
from werkzeug.test import TestResponse

from blueprints.access import digest
from sql import Connection, personal_tokens, sessions, signup_tokens
from tests.test_hostile_inputs import fingerprint
from tests.test_search_events import refusal
from tests.world import PASSWORD, Caller, World

ROUTES = {
    "update token": "PUT /api/admin/invite-link/tokens/<token>",
    "insights": "GET /api/admin/insights",
    "search": "GET /api/admin/search/events",
    "deprecated search": "POST /api/admin/events/search",
    "overview": "GET /api/admin/projects/<project_id>/overview",
    "access": "GET /api/admin/projects/<project_id>/access",
}
ROUTES["delete strategy"] = (
    "DELETE /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies/<strategy_id>"
)
# Open to the world: the same for everybody, whatever credentials he shows.
PUBLIC = {
    "log in": "POST /auth/simple/login",
    "sign up": "POST /invite/<token>/signup",
    "health": "GET /health",
    "ready": "GET /ready",
    "openapi": "GET /openapi.json",
    "docs": "GET /docs",
}
# Hermes is open, and of nobody in particular; apollo is private, Olga's and Max's; nowhere is no project.
TABLE = """
    route              project   alice  eve  victor  olga  max  admin  client  frontend  stranger

    update token       -          200   403   403    403   403   200     403     403       401
    insights           -          200   200   200    200   200   200     403     403       401
    search             -          200   200   200    200   200   200     403     403       401
    deprecated search  -          200   200   200    200   200   200     403     403       401
    overview           default    200   200   200    200   200   200     403     403       401
    overview           hermes     200   200   200    200   200   200     403     403       401
    overview           apollo     200   200   404    200   200   200     403     403       401
    overview           nowhere    404   404   404    404   404   404     403     403       401
    access             default    200   200   403    403   403   200     403     403       401
    access             hermes     200   403   403    403   403   200     403     403       401
    access             apollo     200   403   403    200   403   200     403     403       401
    access             nowhere    404   403   403    403   403   404     403     403       401
    delete strategy    default    200   200   403    403   403   200     403     403       401
    delete strategy    hermes     200   403   403    403   403   200     403     403       401
    delete strategy    apollo     200   403   403    200   200   200     403     403       401
    delete strategy    nowhere    404   403   403    403   403   404     403     403       401
"""
HEAD, *ROWS = [re.split(r"  +", line.strip()) for line in TABLE.splitlines() if line]
NAMES = {401: "AuthenticationRequired", 403: "NoAccessError", 404: "NotFoundError"}
BODIES = {"update token": {"enabled": False}, "deprecated search": {}, "log in": {"username": "ida", "password": PASSWORD}}
BODIES["sign up"] = {"email": "new@example.org", "name": "New Comer", "password": PASSWORD}


@dataclass
class Stage:
    """A world with a flag, a strategy and a signup token in each place of the table, and everybody in it."""

    conn: Connection
    cast: dict[str, Caller]
    token: str
    strategies: dict[tuple[str, str], str]

    def ask(self, caller: Caller, route: str, project: str = "default", environment: str = "development", **headers: str) -> TestResponse:
        """What the caller gets from a route. What succeeded is undone."""
        method, rule = (ROUTES | PUBLIC)[route].split(" ")
        strategy = self.strategies.get((project, environment), "no-such-strategy")
        words = {"token": self.token, "project_id": project, "feature_name": f"flag-of-{project}", "environment": environment}
        path = re.sub(r"<(\w+)>", lambda word: (words | {"strategy_id": strategy})[word[1]], rule)
        body: dict[str, Any] = {"json": BODIES[route]} if route in BODIES else {}
        with self.conn.transaction():
            response = caller.request(method, path, headers=headers, **body)
            if response.status_code < 400:
                raise Rollback
        return response

    def session_of(self, user: Caller) -> str:
        """The cookie of a new session of a user."""
        sessions.insert(self.conn, digest(f"session of {user.id}"), user.id or 0, 48)
        return f'session="session of {user.id}"'


def staged(world: World, **cast: Caller) -> Stage:
    """The stage, with the curtain up."""
    world.project("hermes", mode="open")
    made = {}
    for project in ("default", "hermes", "apollo"):
        flag = world.flag(f"flag-of-{project}", project)
        made |= {(project, environment): world.strategy(flag, environment) for environment in ("development", "production")}
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    token = signup_tokens.insert(world.conn, name="a token", expires_at=tomorrow, created_by="alice")["secret"]
    world.user("Ida", password_hash=bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode())
    return Stage(world.conn, cast | {kind: world.api_key(kind) for kind in ("admin", "client", "frontend")}, token, made)


@pytest.fixture
def stage(world: World, alice: Caller, eve: Caller, victor: Caller, olga: Caller, max: Caller, stranger: Caller) -> Stage:
    """The stage, with everybody on it."""
    return staged(world, alice=alice, eve=eve, victor=victor, olga=olga, max=max, stranger=stranger)


# The table


def test_every_route_is_in_the_table(app: Flask) -> None:
    served = {f"{method} {rule.rule}" for rule in app.url_map.iter_rules() for method in rule.methods or () if method != "HEAD"}
    # What the page of the documentation is made of.
    served -= {route for route in served if route.startswith("GET /docs/")}
    assert served == {*ROUTES.values(), *PUBLIC.values()}
    assert {row[0] for row in ROWS} == set(ROUTES)
    assert {row[0] for row in ROWS if row[1] == "-"} == {name for name, route in ROUTES.items() if "<project_id>" not in route}


@pytest.mark.parametrize("credential", ["key", "bearer", "session"])
@pytest.mark.parametrize(("route", "project", "statuses"), [(row[0], row[1], row[2:]) for row in ROWS])
def test_the_table(stage: Stage, app: Flask, route: str, project: str, statuses: list[str], credential: str) -> None:
    headers = {}
    for name, caller in stage.cast.items():
        if credential == "bearer" and caller.key:
            headers[name] = {"Authorization": f"Bearer {caller.key}"}
        elif credential == "session" and caller.id:
            headers[name] = {"Cookie": stage.session_of(caller)}
    before = fingerprint(stage.conn)
    for name, expected in zip(HEAD[2:], statuses, strict=True):
        # What shows no other credential here comes with its key, or with nothing.
        caller = Caller(app) if name in headers else stage.cast[name]
        response = stage.ask(caller, route, project, **headers.get(name, {}))
        assert response.status_code == int(expected), (name, response.text)
        if response.status_code >= 400:
            refusal(response, int(expected), NAMES[int(expected)])
    assert fingerprint(stage.conn) == before


@pytest.mark.parametrize("route", PUBLIC)
def test_a_public_route_is_the_same_for_everybody(stage: Stage, app: Flask, route: str) -> None:
    for name, caller in stage.cast.items():
        assert stage.ask(caller, route).status_code == 200, name
    for header in ({"Authorization": "forged"}, {"Authorization": ""}, {"Cookie": "session=forged"}, {"Origin": "http://evil.example"}):
        assert stage.ask(Caller(app), route, **header).status_code == 200, header


def test_the_page_of_the_documentation_is_public(app: Flask, stranger: Caller) -> None:
    for rule in app.url_map.iter_rules():
        if rule.rule.startswith("/docs/"):
            assert stranger.get(rule.rule).status_code == 200, rule.rule


# Credentials


@pytest.mark.parametrize("route", ROUTES)
def test_a_wrong_header_is_refused_whatever_the_cookie_says(stage: Stage, app: Flask, route: str) -> None:
    alice = stage.cast["alice"]
    key = alice.key or ""
    expired = personal_tokens.insert(stage.conn, alice.id or 0, "expired", datetime.now(UTC) - timedelta(days=1))
    cookie = stage.session_of(alice)
    before = fingerprint(stage.conn)
    assert stage.ask(Caller(app), route, Cookie=cookie).status_code == 200
    for header in (
        "",
        " ",
        "Bearer",
        "Bearer ",
        "Basic YWxpY2U6YQ==",
        "forged",
        "Bearer forged",
        key[:-1],
        f"{key}0",
        key.upper(),
        expired,
        f"Bearer {expired}",
    ):
        refusal(stage.ask(Caller(app), route, Cookie=cookie, Authorization=header), 401, "AuthenticationRequired")
    assert fingerprint(stage.conn) == before


@pytest.mark.parametrize("route", ROUTES)
def test_the_right_header_counts_whatever_the_cookie_says(stage: Stage, route: str) -> None:
    for cookie in ("session=forged", "session=", stage.session_of(stage.cast["victor"])):
        assert stage.ask(stage.cast["alice"], route, Cookie=cookie).status_code == 200
    stage.conn.execute("DELETE FROM sessions")
    refusal(stage.ask(stage.cast["victor"], "update token", Cookie=stage.session_of(stage.cast["alice"])), 403, "NoAccessError")


CHANGES = ["update token", "delete strategy"]
FOREIGN = [
    {"Origin": origin}
    for origin in ("http://evil.example", "null", "https://localhost", "http://localhost:81", "http://localhost.evil.example")
]
FOREIGN += [{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}]
FOREIGN += [{"Origin": "http://evil.example", "Sec-Fetch-Site": "same-origin"}]
FOREIGN += [{"Origin": "http://localhost", "Sec-Fetch-Site": "cross-site"}, {"Origin": "http://localhost", "Sec-Fetch-Site": "same-site"}]
OWN = [{}, {"Origin": "http://localhost"}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}]
OWN += [{"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}]


@pytest.mark.parametrize("route", CHANGES)
def test_a_change_by_cookie_must_come_from_our_own_pages(stage: Stage, app: Flask, route: str) -> None:
    cookie = stage.session_of(stage.cast["alice"])
    before = fingerprint(stage.conn)
    for headers in FOREIGN:
        refusal(stage.ask(Caller(app), route, Cookie=cookie, **headers), 403, "NoAccessError")
    assert fingerprint(stage.conn) == before
    for headers in OWN:
        assert stage.ask(Caller(app), route, Cookie=cookie, **headers).status_code == 200, headers


@pytest.mark.parametrize("route", CHANGES)
def test_a_change_by_key_may_come_from_anywhere(stage: Stage, route: str) -> None:
    for headers in FOREIGN + OWN:
        assert stage.ask(stage.cast["alice"], route, **headers).status_code == 200, headers
        assert stage.ask(stage.cast["admin"], route, Cookie=stage.session_of(stage.cast["alice"]), **headers).status_code == 200, headers
        stage.conn.execute("DELETE FROM sessions")


@pytest.mark.parametrize("route", [name for name, route in ROUTES.items() if route.startswith("GET")])
def test_what_changes_nothing_may_be_asked_for_from_anywhere(stage: Stage, app: Flask, route: str) -> None:
    cookie = stage.session_of(stage.cast["alice"])
    for headers in FOREIGN + OWN:
        assert stage.ask(Caller(app), route, Cookie=cookie, **headers).status_code == 200, headers
