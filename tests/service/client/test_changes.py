"""Which documents each route of the admin API changes. Where one changes, the revision of its token rises."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import pytest
from psycopg import Rollback
from werkzeug.test import TestResponse

from rules.access import digest
from sql.client import features, tokens
from sql.database import Connection
from tests.access import CLIENT_SIDE, FAMILIES, ROUTES, UNCHANGEABLE, Family, RouteWorld
from tests.support.world import Caller

# By name: the environment, projects and tags of a document, as seen from a flag of project default in development.
DOCUMENTS: dict[str, tuple[str, tuple[str, ...], list[tuple[str, str]]]] = {
    "here": ("development", (), []),
    "environment": ("production", (), []),
    "project": ("development", ("hermes",), []),
    "tagged": ("development", (), [("simple", "beta")]),
}
BY_SESSION = {"POST /api/admin/user/change-password", "POST /logout", "DELETE /api/admin/user/sessions"}
BY_SESSION.add("DELETE /api/admin/user/sessions/<session_id>")
PROJECT = "/api/admin/projects/<project_id>"
FLAG = f"{PROJECT}/features/<feature_name>"
ENVIRONMENT = f"{FLAG}/environments/<environment>"
TAGS = "/api/admin/features/<feature_name>/tags"
IMPORT = "POST /api/admin/features-batch/import"
# What has to be there before, so that the route changes something.
TAGGED = """
    INSERT INTO tags VALUES ('simple', 'beta') ON CONFLICT DO NOTHING;
    INSERT INTO flag_tags SELECT id, 'simple', 'beta' FROM flags WHERE name = 'flag-of-default'
"""
ON = "UPDATE flag_environments SET enabled = true"
WITH_PARENT = """
    INSERT INTO flag_dependencies (child_id, parent_id)
    SELECT children.id, parents.id
      FROM flags AS children, flags AS parents
     WHERE children.name = 'flag-of-default' AND parents.name = 'parent-in-default'
"""
WITH_SEGMENTS = """
    INSERT INTO strategy_segments
    SELECT strategies.id, segments.id
      FROM segments, strategies
      JOIN flags ON flags.id = flag_id
     WHERE flags.name = 'flag-of-default'
"""
WITH_SECOND_STRATEGY = """
    INSERT INTO strategies (id, flag_id, environment, name, sort_order)
    SELECT 'second', id, 'development', 'default', 1 FROM flags WHERE name = 'flag-of-default'
"""
ARCHIVED = "UPDATE flags SET archived_at = now() WHERE name = 'flag-of-default'"
UNLINKED = "DELETE FROM project_environments WHERE environment = 'development'"
BEFORE = {
    f"POST {PROJECT}/revive": ARCHIVED,
    f"POST {PROJECT}/environments": UNLINKED,
    f"POST {ENVIRONMENT}/off": ON,
    f"POST {PROJECT}/bulk_features/environments/<environment>/off": ON,
    f"DELETE {TAGS}/<type>/<anything:value>": TAGGED,
    "DELETE /api/admin/tags/<type>/<anything:value>": TAGGED,
    "DELETE /api/admin/tag-types/<name>": TAGGED,
    f"DELETE {FLAG}/dependencies": WITH_PARENT,
    f"DELETE {FLAG}/dependencies/<parent>": WITH_PARENT,
    "PUT /api/admin/segments/<segment_id>": WITH_SEGMENTS,
    f"POST {ENVIRONMENT}/strategies/set-sort-order": WITH_SECOND_STRATEGY,
}
# The bodies that change something, where those of the access table do not.
BODIES: dict[str, Any] = {
    f"POST {PROJECT}/revive": {"features": ["flag-of-default"]},
    f"POST {PROJECT}/environments": {"environment": "development"},
    f"PUT {ENVIRONMENT}/strategies/<strategy_id>": {"name": "flexibleRollout", "parameters": {"rollout": "7"}},
    IMPORT: {
        "project": "default",
        "environment": "development",
        "data": {
            "features": [{"name": "flag-of-default"}],
            "featureStrategies": [{"featureName": "flag-of-default", "name": "default"}],
            "featureEnvironments": [{"featureName": "flag-of-default", "environment": "development", "enabled": True}],
            "tagTypes": [],
        },
    },
    f"POST {FLAG}/changeProject": {"newProjectId": "hermes"},
    f"POST {ENVIRONMENT}/strategies/set-sort-order": [{"id": "second", "sortOrder": -1}],
}
# The documents that each route changes. Other routes change none.
CHANGES = {
    f"POST {PROJECT}/features": "here environment",
    f"PUT {FLAG}": "here environment",
    f"PATCH {FLAG}": "here environment",
    f"DELETE {FLAG}": "here environment",
    f"POST {FLAG}/clone": "here environment",
    f"POST {FLAG}/changeProject": "here environment project",
    f"POST {PROJECT}/stale": "here environment",
    f"POST {PROJECT}/archive": "here environment",
    f"POST {PROJECT}/revive": "here environment",
    f"POST {PROJECT}/environments": "here",
    f"PUT {ENVIRONMENT}/strategies/<strategy_id>": "here",
    IMPORT: "here",
    "POST /api/admin/archive/revive/<feature_name>": "here environment",
    f"POST {FLAG}/dependencies": "here environment",
    f"DELETE {FLAG}/dependencies/<parent>": "here environment",
    f"DELETE {FLAG}/dependencies": "here environment",
    f"POST {ENVIRONMENT}/on": "here",
    f"POST {ENVIRONMENT}/off": "here",
    f"POST {PROJECT}/bulk_features/environments/<environment>/on": "here",
    f"POST {PROJECT}/bulk_features/environments/<environment>/off": "here",
    f"POST {ENVIRONMENT}/strategies": "here",
    f"DELETE {ENVIRONMENT}/strategies/<strategy_id>": "here",
    f"PATCH {ENVIRONMENT}/strategies/<strategy_id>": "here",
    f"POST {ENVIRONMENT}/strategies/set-sort-order": "here",
    f"POST {ENVIRONMENT}/plan": "here",
    f"DELETE {ENVIRONMENT}/plan/<strategy_id>": "here",
    f"POST {ENVIRONMENT}/plan/<strategy_id>/stop": "here",
    f"POST {ENVIRONMENT}/plan/<strategy_id>/skip": "here",
    "POST /api/admin/events/<event_id>/undo": "here environment",
    f"PUT {ENVIRONMENT}/variants": "here",
    f"PATCH {ENVIRONMENT}/variants": "here",
    f"PUT {FLAG}/variants-batch": "here",
    f"PUT {FLAG}/variants": "here environment",
    f"PATCH {FLAG}/variants": "here environment",
    f"DELETE {PROJECT}/environments/<environment>": "here",
    "PUT /api/admin/segments/<segment_id>": "here environment",
    "POST /api/admin/segments/strategies": "here",
    f"POST {TAGS}": "tagged",
    f"PUT {TAGS}": "tagged",
    f"DELETE {TAGS}/<type>/<anything:value>": "tagged",
    f"PUT {PROJECT}/tags": "tagged",
    "DELETE /api/admin/tag-types/<name>": "tagged",
    "DELETE /api/admin/tags/<type>/<anything:value>": "tagged",
}


def writes(family: Family) -> list[str]:
    """The routes of a family that can change something."""
    return [row.route for row in family.firsts if row.method != "GET" and not row.client_side]


@dataclass
class Observer(Caller):
    """A caller that looks at all documents after each request, before the request is undone."""

    conn: Connection | None = None
    keys: dict[str, bytes] = field(default_factory=dict)
    seen: dict[str, tuple[str, int]] = field(default_factory=dict)

    def request(self, method: str, path: str, **kwargs: Any) -> TestResponse:
        """Send one request, and look."""
        response = super().request(method, path, **kwargs)
        self.seen = self.look()
        return response

    def look(self) -> dict[str, tuple[str, int]]:
        """Return a hash of the content of each document, and the revision of its token."""
        assert self.conn is not None
        as_at_a_commit(self.conn)
        return dict(self.look_at_all(self.conn))

    def look_at_all(self, conn: Connection) -> Iterator[tuple[str, tuple[str, int]]]:
        for name, (environment, projects, tags) in DOCUMENTS.items():
            text = "".join(features.read(conn, environment, projects or None, tags=tags))
            found = tokens.find(conn, self.keys[name])
            # A token of a deleted project is deleted.
            if found is not None:
                yield name, (sha256(text.encode()).hexdigest(), found["revision"])


def as_at_a_commit(conn: Connection) -> None:
    """Run the triggers that run at a commit."""
    conn.execute("SET CONSTRAINTS ALL IMMEDIATE")
    conn.execute("SET CONSTRAINTS ALL DEFERRED")


def observer(route_world: RouteWorld, route: str) -> tuple[Observer, str, dict[str, str]]:
    """Return the first caller whom a route serves, in which project, and the headers that it needs."""
    rows = [row for row in ROUTES[route].rows if row.route == route]
    served = ((row.project, name) for row in rows for name, status in row.statuses.items() if status < 400)
    project, name = next(served, ("default", "alice"))
    headers = {"Cookie": route_world.session_of(route_world.cast["alice"])} if route in BY_SESSION else {}
    keys = {
        name: digest(route_world.world.api_key("client", environment=environment, projects=projects).key or "")
        for name, (environment, projects, _) in DOCUMENTS.items()
    }
    caller = Observer(
        route_world.world.app, None if headers else route_world.cast[name].key, conn=route_world.conn, keys=keys
    )
    return caller, project, headers


def problem(route_world: RouteWorld, route: str) -> str | None:
    """Return what is wrong with the documents after a request of a route, or None."""
    route_world.conn.execute(BEFORE.get(route, "SELECT"), prepare=False)  # pyright: ignore
    caller, project, headers = observer(route_world, route)
    if route in BODIES:
        route_world.arguments[ROUTES[route].name].bodies[route] = BODIES[route]
    before = caller.look()
    response = route_world.ask(caller, route, project, **headers)
    assert response.status_code < 400, f"{route}: {response.text}"
    changed = {name for name, (text, _) in caller.seen.items() if text != before[name][0]}
    risen = {name for name, (_, revision) in caller.seen.items() if revision > before[name][1]}
    if changed - risen:
        return f"{route}: the revisions of {changed - risen} do not rise"
    if changed != set(CHANGES.get(route, "").split()):
        return f"{route} | {' '.join(name for name in DOCUMENTS if name in changed) or '-'}"
    return None


def test_every_row_is_a_route() -> None:
    routes = {route for family in FAMILIES for route in writes(family)}
    assert not any(CLIENT_SIDE.match(route) for route in routes)
    assert CHANGES.keys() - routes == set()


@pytest.mark.parametrize("family", [pytest.param(family, id=family.name) for family in FAMILIES if writes(family)])
def test_route_changes_the_documents_of_its_row(route_world: RouteWorld, family: Family) -> None:
    route_world.prepare(family)
    problems = []
    for route in set(writes(family)) - UNCHANGEABLE:
        with route_world.conn.transaction():
            problems.append(problem(route_world, route))
            raise Rollback
    assert [problem for problem in problems if problem] == []


# Only tokens for all environments can ask for an environment before it exists, and after its end.
@pytest.mark.parametrize(
    ("method", "path", "body", "environment"),
    [
        ("POST", "/api/admin/environments/development/clone", {"name": "copy", "type": "test"}, "copy"),
        ("DELETE", "/api/admin/environments/production", None, "production"),
    ],
)
def test_new_or_deleted_environment_raises_the_revision(
    route_world: RouteWorld, method: str, path: str, body: Any, environment: str
) -> None:
    token = route_world.world.api_key("client", environment=None)

    def look() -> tuple[str, int]:
        as_at_a_commit(route_world.conn)
        found = tokens.find(route_world.conn, digest(token.key or ""))
        assert found is not None
        return "".join(features.read(route_world.conn, environment, None)), found["revision"]

    before = look()
    response = route_world.cast["alice"].request(method, path, json=body)
    assert response.status_code < 400, response.text
    after = look()
    assert before[0] != after[0]
    assert before[1] < after[1]
