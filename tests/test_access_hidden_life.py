"""What goes on in a private project changes no answer to who may not see it, but for counts of the whole instance."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from sql import access, segments, usage
from tests.access import ROUTES, ROWS, Family, Stage
from tests.world import Caller, World

pytestmark = pytest.mark.slow

# POST routes that only tell something.
TELLING = [
    "POST /api/admin/events/search",
    "POST /api/admin/features-batch/export",
    "POST /api/admin/features-batch/validate",
]
ASKED = [
    route for route in dict.fromkeys(row.route for row in ROWS) if route in TELLING or (route.startswith("GET") and route != "GET /logout")
]
FAMILIES_ASKED = list({ROUTES[route].name: ROUTES[route] for route in ASKED}.values())
# What is asked of the other families is of another project, or of none.
TELLING_ALICE = {"api_tokens", "context_fields", "events", "feature_search", "insights", "projects", "segments"}
# Our choice: what is counted in the whole instance is counted for everybody alike.
OF_ALL = {
    ("GET /api/admin/context", "usedInFeatures"),
    ("GET /api/admin/context", "usedInProjects"),
    ("GET /api/admin/segments", "usedInFeatures"),
    ("GET /api/admin/segments", "usedInProjects"),
    ("GET /api/admin/environments", "apiTokenCount"),
    ("GET /api/admin/environments", "enabledToggleCount"),
    ("GET /api/admin/environments", "projectCount"),
    ("GET /api/admin/insights", "flagTrends"),
    ("GET /api/admin/insights", "environmentTypeTrends"),
    ("GET /api/admin/insights", "environmentTypeTrends: how many"),
}
APOLLO = "/api/admin/projects/apollo"


def live(world: World, alice: Caller, shared: int) -> None:
    """A day in apollo: Alice does there whatever can be done, and its flags are used; and another private project is made."""

    def done(method: str, path: str, body: Any = None) -> Any:
        response = alice.request(method, path, **({} if body is None else {"json": body}))
        assert response.status_code < 300, (method, path, response.text)
        return response

    place = f"{APOLLO}/features/hidden/environments/production"
    constraint = {"contextName": "userId", "operator": "IN", "values": ["7"]}
    own = done("POST", "/api/admin/segments", {"name": "hidden segment", "constraints": [constraint], "project": "apollo"}).json["id"]
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
    done("POST", "/api/admin/api-tokens", {"type": "client", "tokenName": "hidden", "environment": "production", "projects": ["apollo"]})
    done("POST", "/api/admin/projects", {"name": "Artemis", "mode": "private"})
    report = {"project": "apollo", "flag": "hidden", "environment": "production", "app": "web", "at": datetime.now(UTC), "yes": 5, "no": 3}
    usage.add(world.conn, [report])


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


def told(stage: Stage, caller: Caller, routes: list[str]) -> dict[str, tuple[int, list[tuple[str, Any]]]]:
    """What the caller gets from each route: status, and the values of the answer."""
    answers = {}
    for route in routes:
        response = stage.ask(caller, route)
        answers[route] = response.status_code, list(leaves(response.json)) if response.status_code < 400 else []
    return answers


def differing(before: dict[str, Any], after: dict[str, Any]) -> set[tuple[str, str]]:
    """Routes, and the names in their answers of what is not what it was."""
    found = set()
    for route, (status, was) in before.items():
        other, now = after[route]
        if status != other:
            found.add((route, f"{status} has become {other}"))
        elif was != now:
            found |= {(route, name) for name, _ in {(k, repr(v)) for k, v in was} ^ {(k, repr(v)) for k, v in now}} or {(route, "order")}
    return found


@pytest.mark.parametrize("family", FAMILIES_ASKED, ids=lambda family: family.name)
def test_what_goes_on_in_a_hidden_project_is_not_told(stage: Stage, world: World, family: Family) -> None:
    stage.furnish(family)
    victor, alice = stage.cast["victor"], stage.cast["alice"]
    stage.conn.execute("INSERT INTO tags (type, value) VALUES ('simple', 'beta') ON CONFLICT DO NOTHING")
    shared = segments.insert(stage.conn, "shared", [])
    routes = [route for route in ASKED if ROUTES[route] is family]
    # She becomes an active user now, not by what she does in apollo.
    access.mark_user_seen(stage.conn, alice.id or 0)
    of_victor, of_alice = (told(stage, caller, routes) for caller in (victor, alice))
    live(world, alice, shared)
    assert differing(of_victor, told(stage, victor, routes)) == {it for it in OF_ALL if it[0] in routes}
    # That there was something to tell.
    is_told_to_alice = differing(of_alice, told(stage, alice, routes)) - OF_ALL != set()
    assert is_told_to_alice == (family.name in TELLING_ALICE)
