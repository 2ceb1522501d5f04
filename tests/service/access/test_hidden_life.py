"""What happens in a private project changes no answer to callers who may not see it, except counts of the whole
instance.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from psycopg.errors import UniqueViolation
from werkzeug.test import TestResponse

from sql import access
from sql.catalog import segments
from tests.access import ROUTES, ROWS, Family, RouteWorld, parameters
from tests.support import fixtures
from tests.support.verdicts import verdict
from tests.support.world import Caller, World

pytestmark = pytest.mark.slow

# POST routes that change nothing.
TELLING = [
    "POST /api/admin/events/search",
    "POST /api/admin/features-batch/export",
    "POST /api/admin/features-batch/validate",
]
ASKED = [
    route
    for route in dict.fromkeys(row.route for row in ROWS)
    if route in TELLING or (route.startswith("GET") and route != "GET /logout")
]
FAMILIES_ASKED = list({ROUTES[route].name: ROUTES[route] for route in ASKED}.values())
# The answers of these do not depend on a project.
OF_NO_PROJECT = {
    *(f"people.{name}" for name in ("groups", "personal_tokens", "roles", "service_accounts", "users")),
    *(f"catalog.{name}" for name in ("environments", "flag_types", "strategy_types", "tag_types", "tags")),
    *("tokens.signup_tokens", "ui_config", "banners", "integrations", "login", "sign_in"),
}
# What is to be in apollo.
HIDDEN = {"project_id": "apollo", "feature_name": "hidden", "environment": "production"}
LINES = "GET /api/admin/search/events"
BODIES = {
    TELLING[0]: [{"feature": "hidden"}, {"project": "apollo"}, {"query": "hidden"}, {"type": "feature-created"}],
    TELLING[1]: [
        {"environment": "production", "features": ["hidden", "flag-of-default"]},
        {"environment": "production", "tag": "beta"},
        {"environment": "production", "project": "apollo"},
    ],
}
QUERIES = {
    LINES: ["?query=hidden", "?feature=IS:hidden", "?project=IS:apollo", "?type=IS:feature-created"],
    "GET /api/admin/search/features": [
        "?query=hidden",
        "?tag=INCLUDE:simple:beta",
        "?segment=INCLUDE:shared",
        "?project=IS:apollo",
    ],
    "GET /api/admin/projects": ["?archived=true"],
    "GET /api/frontend": ["?userId=7"],
}
# What is counted in the whole instance is counted for everybody alike (docs/development/decisions.md).
COUNTS = {
    "context": ("usedInFeatures", "usedInProjects", "usedInSegments"),
    "segments": ("usedInFeatures", "usedInProjects"),
    "environments": ("apiTokenCount", "enabledToggleCount", "projectCount"),
    "insights": ("flagTrends", "environmentTypeTrends", "environmentTypeTrends: how many"),
}
OF_ALL = {(f"GET /api/admin/{path}", name) for path, names in COUNTS.items() for name in names}
APOLLO = "/api/admin/projects/apollo"
# The families that tokens ask instead of people, with the kind of the token.
OF_TOKENS = {"client.features": "client", "client.frontend": "frontend"}


def live(world: World, alice: Caller, shared: int) -> None:
    """Let Alice do everything possible in apollo, let its flags be used, and create other private projects."""

    def done(method: str, path: str, body: Any = None) -> Any:
        response = alice.request(method, path, **({} if body is None else {"json": body}))
        assert response.status_code < 300, (method, path, response.text)
        return response

    place = f"{APOLLO}/features/hidden/environments/production"
    constraint = {"contextName": "userId", "operator": "IN", "values": ["7"]}
    segment = {"name": "hidden segment", "constraints": [constraint], "project": "apollo"}
    own = done("POST", "/api/admin/segments", segment).json["id"]
    for name in ("hidden", "other"):
        done("POST", f"{APOLLO}/features", {"name": name, "tags": [{"type": "simple", "value": "beta"}]})
    strategy = {"name": "flexibleRollout", "constraints": [constraint], "segments": [shared, own]}
    done("POST", f"{place}/strategies", strategy)
    done("POST", f"{place}/on")
    done("PUT", f"{place}/variants", [{"name": "blue", "weight": 1000}])
    done("POST", f"{APOLLO}/features/other/dependencies", {"feature": "hidden"})
    done("POST", f"{APOLLO}/features/other/favorites")
    done("POST", f"{APOLLO}/favorites")
    done("DELETE", f"{APOLLO}/features/other")
    done("POST", f"{APOLLO}/stale", {"features": ["hidden"], "stale": True})
    done("POST", f"{APOLLO}/access", {"roles": [5], "users": [alice.id], "groups": []})
    done("PUT", f"{APOLLO}/settings", {"defaultStickiness": "userId"})
    done("POST", f"{APOLLO}/environments/production/default-strategy", strategy)
    done("PUT", f"{APOLLO}/environments/production/change-requests/config", {"changeRequestsEnabled": True})
    token = {"type": "client", "tokenName": "hidden", "environment": "production", "projects": ["apollo"]}
    done("POST", "/api/admin/api-tokens", token)
    for name in ("Artemis", "Ares"):
        done("POST", "/api/admin/projects", {"name": name, "mode": "private"})
    done("POST", "/api/admin/projects/archive/ares")
    report = {"project": "apollo", "flag": "hidden", "environment": "production", "app": "web-shop"}
    fixtures.report_usage(world.conn, [report | {"at": datetime.now(UTC), "yes": 5, "no": 3}])


def leaves(answer: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """The values of an answer with the names beside them; those of an array of the insights under its own."""
    if isinstance(answer, dict):
        for name, value in answer.items():
            yield from leaves(value, key if key.endswith("Trends") else name)
    elif isinstance(answer, list):
        yield f"{key}: how many", len(answer)
        for item in answer:
            yield from leaves(item, key)
    else:
        yield key, answer


def asks(route_world: RouteWorld, caller: Caller, family: Family) -> Iterator[tuple[str, TestResponse]]:
    """What the caller gets from the routes of a family, for the usual records and for those of apollo."""
    for route in ASKED:
        if ROUTES[route] is family:
            words, body, query = (
                route_world.words(route),
                route_world.body(route),
                route_world.arguments[family.name].queries.get(route, ""),
            )
            yield route, route_world.send(caller, route, words, body, query)
            if words.keys() & HIDDEN.keys() & set(parameters(route)):
                yield route, route_world.send(caller, route, words | HIDDEN, body, query)
            for other in BODIES.get(route, ()):
                yield route, route_world.send(caller, route, words, other)
            for other in QUERIES.get(route, ()):
                yield route, route_world.send(caller, route, words, query=other)
    if family.name == "events":
        yield LINES, route_world.send(caller, LINES, {}, query="?query=hidden", Accept="application/x-ndjson")


def answers(route_world: RouteWorld, caller: Caller, family: Family) -> list[tuple[str, int, list[tuple[str, Any]]]]:
    """The route, the status, and the values of each answer."""
    found = []
    for route, response in asks(route_world, caller, family):
        answer: Any = response.get_json(silent=True)
        if answer is None:
            lines = response.text.splitlines()
            answer = lines if response.mimetype == "text/event-stream" else [json.loads(line) for line in lines]
        # The id of an error is its own.
        values = leaves(answer | {"id": None} if response.status_code >= 400 else answer)
        found.append((route, response.status_code, [(name, repr(value)) for name, value in values]))
    return found


def differing(before: list[Any], after: list[Any]) -> set[tuple[str, str]]:
    """Routes, and the names in their answers of what is not what it was."""
    found = set()
    for (route, status, was), (_, other, now) in zip(before, after, strict=True):
        if status != other:
            found.add((route, f"{status} has become {other}"))
        elif was != now:
            found |= {(route, name) for name, _ in {*was} ^ {*now}} or {(route, "the order")}
    return found


def prepared(route_world: RouteWorld, families: list[Family]) -> list[Family]:
    """Prepare these families, and return those that could be; the others need names that are taken."""
    found = []
    for family in families:
        with suppress(UniqueViolation), route_world.conn.transaction():
            route_world.prepare(family)
            found.append(family)
    return found


def callers(route_world: RouteWorld, world: World, family: Family) -> tuple[Caller, Caller]:
    """Victor and Alice, or a token for the project default and one for all projects."""
    kind = OF_TOKENS.get(family.name)
    if kind is None:
        return route_world.cast["victor"], route_world.cast["alice"]
    return (
        world.api_key(kind, "of default", environment="production", projects=["default"]),
        world.api_key(kind, "of all", environment="production"),
    )


def test_a_hidden_project_changes_no_answer(route_world: RouteWorld, world: World) -> None:
    alice = route_world.cast["alice"]
    # She becomes an active user now, not by what she does in apollo.
    access.mark_user_seen(route_world.conn, alice.id or 0)
    complaints, left = [], FAMILIES_ASKED
    while left:
        with route_world.conn.transaction(force_rollback=True):
            families = prepared(route_world, left)
            route_world.conn.execute("INSERT INTO tags (type, value) VALUES ('simple', 'beta') ON CONFLICT DO NOTHING")
            shared = segments.insert(route_world.conn, "shared", [])
            asking = [(family, *callers(route_world, world, family)) for family in families]
            before = [[answers(route_world, caller, family) for caller in both] for family, *both in asking]
            live(world, alice, shared)
            for (family, victor, mighty), (of_victor, of_alice) in zip(asking, before, strict=True):
                found = differing(of_victor, answers(route_world, victor, family))
                if found != {item for item in OF_ALL if ROUTES[item[0]] is family}:
                    complaints.append(f"{family.name} tells Victor {found}")
                # Administrators see the change.
                is_told_to_alice = differing(of_alice, answers(route_world, mighty, family)) - OF_ALL != set()
                if is_told_to_alice == (family.name in OF_NO_PROJECT):
                    complaints.append(f"{family.name} tells Alice {'something' if is_told_to_alice else 'nothing'}")
        assert families
        left = [family for family in left if family not in families]
    verdict(complaints)
