"""The permission that each route needs: it is enough alone, and all others together are not.

The permission of another environment is not enough either.
"""

import pytest
from werkzeug.test import TestResponse

from sql.people import roles
from tests.access import ROWS, Family, RouteWorld
from tests.support import fixtures
from tests.support.verdicts import CLOSED, verdict
from tests.support.world import Caller, World

pytestmark = pytest.mark.slow

PROJECT = "/api/admin/projects/<project_id>"
FLAG = f"{PROJECT}/features/<feature_name>"
PLACE = f"{FLAG}/environments/<environment>"
BULK = f"{PROJECT}/bulk_features/environments/<environment>"
ACCESS = [
    f"POST {PROJECT}/access",
    f"PUT {PROJECT}/access",
    *(
        f"{method} {PROJECT}/{holder}/roles"
        for method in ("PUT", "DELETE")
        for holder in ("users/<user_id>", "groups/<group_id>")
    ),
]
SEGMENT = "/api/admin/segments/<segment_id>"
SEGMENTS = ["POST /api/admin/segments", f"PUT {SEGMENT}", f"DELETE {SEGMENT}"]
TOKENS = "/api/admin/api-tokens"
TOKEN = f"{TOKENS}/<slashed:api_token>"
# By permission, what it opens. What is nowhere here and closed to viewers is for those who administer.
ADDON = "/api/admin/addons/<addon_id>"
READ_ADDONS = ("GET /api/admin/addons", f"GET {ADDON}")
OPENS = {
    "CREATE_FEATURE": [f"POST {PROJECT}/features", f"POST {FLAG}/clone"],
    "UPDATE_FEATURE": [
        f"PUT {FLAG}",
        f"PATCH {FLAG}",
        f"POST {FLAG}/lifecycle/complete",
        f"POST {FLAG}/lifecycle/uncomplete",
        f"POST {PROJECT}/stale",
        f"POST {PROJECT}/revive",
        "POST /api/admin/archive/revive/<feature_name>",
        "POST /api/admin/features/<feature_name>/tags",
        "PUT /api/admin/features/<feature_name>/tags",
        f"PUT {PROJECT}/tags",
        f"POST {FLAG}/link",
        f"PUT {FLAG}/link/<link_id>",
        f"DELETE {FLAG}/link/<link_id>",
        "DELETE /api/admin/features/<feature_name>/tags/<type>/<anything:value>",
        "POST /api/admin/tags",
        "DELETE /api/admin/tags/<type>/<anything:value>",
        "POST /api/admin/features-batch/import",
        # The event is about the stale mark.
        "POST /api/admin/events/<event_id>/undo",
    ],
    "CREATE_ADDON": ["POST /api/admin/addons", *READ_ADDONS],
    "UPDATE_ADDON": [f"PUT {ADDON}", f"GET {ADDON}/events", f"POST {ADDON}/test", *READ_ADDONS],
    "DELETE_ADDON": [f"DELETE {ADDON}", *READ_ADDONS],
    "UPDATE_APPLICATION": [f"{method} /api/admin/metrics/applications/<app_name>" for method in ("POST", "DELETE")],
    "DELETE_FEATURE": [
        f"DELETE {FLAG}",
        f"POST {PROJECT}/archive",
        f"POST {PROJECT}/archive/validate",
        f"POST {PROJECT}/delete",
        "DELETE /api/admin/archive/<feature_name>",
    ],
    "MOVE_FEATURE_TOGGLE": [f"POST {FLAG}/changeProject"],
    "UPDATE_FEATURE_DEPENDENCY": [f"{method} {FLAG}/dependencies" for method in ("POST", "DELETE")]
    + [f"DELETE {FLAG}/dependencies/<parent>"],
    "CREATE_FEATURE_STRATEGY": [f"POST {PLACE}/strategies", f"POST {PLACE}/plan", f"POST {PLACE}/copy"],
    "UPDATE_FEATURE_STRATEGY": [
        f"PUT {PLACE}/strategies/<strategy_id>",
        f"PATCH {PLACE}/strategies/<strategy_id>",
        f"POST {PLACE}/strategies/set-sort-order",
        f"POST {PLACE}/plan/<strategy_id>/skip",
        f"POST {PLACE}/copy",
        "POST /api/admin/segments/strategies",
    ],
    "DELETE_FEATURE_STRATEGY": [
        f"DELETE {PLACE}/strategies/<strategy_id>",
        f"POST {PLACE}/plan/<strategy_id>/stop",
        f"DELETE {PLACE}/plan/<strategy_id>",
        f"POST {PLACE}/copy",
    ],
    "UPDATE_FEATURE_ENVIRONMENT": [f"POST {path}/{switch}" for path in (PLACE, BULK) for switch in ("on", "off")]
    + [f"POST {PLACE}/copy"],
    "UPDATE_FEATURE_ENVIRONMENT_VARIANTS": [
        f"POST {PLACE}/copy",
        f"PUT {PLACE}/variants",
        f"PATCH {PLACE}/variants",
        f"PUT {FLAG}/variants-batch",
    ],
    "UPDATE_FEATURE_VARIANTS": [f"PUT {FLAG}/variants", f"PATCH {FLAG}/variants"],
    "CREATE_PROJECT": ["POST /api/admin/projects", "POST /api/admin/projects/validate"],
    "READ_PROJECT_API_TOKEN": [f"GET {PROJECT}/api-tokens"],
    "CREATE_PROJECT_API_TOKEN": [f"POST {PROJECT}/api-tokens"],
    "DELETE_PROJECT_API_TOKEN": [f"DELETE {PROJECT}/api-tokens/<slashed:api_token>"],
    "UPDATE_PROJECT": [
        f"PUT {PROJECT}",
        f"PUT {PROJECT}/settings",
        f"GET {PROJECT}/access",
        *ACCESS,
        f"PUT {PROJECT}/environments/<environment>/change-requests/config",
        f"POST {PROJECT}/environments",
        f"DELETE {PROJECT}/environments/<environment>",
        f"POST {PROJECT}/environments/<environment>/default-strategy",
        "POST /api/admin/projects/revive/<project_id>",
    ],
    "DELETE_PROJECT": [f"DELETE {PROJECT}", "POST /api/admin/projects/archive/<project_id>"],
    "PROJECT_SETTINGS_WRITE": [f"PUT {PROJECT}", f"PUT {PROJECT}/settings"],
    "PROJECT_USER_ACCESS_READ": [f"GET {PROJECT}/access"],
    "PROJECT_USER_ACCESS_WRITE": ACCESS,
    "PROJECT_DEFAULT_STRATEGY_WRITE": [f"POST {PROJECT}/environments/<environment>/default-strategy"],
    "PROJECT_CHANGE_REQUEST_WRITE": [f"PUT {PROJECT}/environments/<environment>/change-requests/config"],
    "CREATE_SEGMENT": SEGMENTS[:1],
    "UPDATE_SEGMENT": SEGMENTS[1:2],
    "DELETE_SEGMENT": SEGMENTS[2:],
    "UPDATE_PROJECT_SEGMENT": SEGMENTS,
    "CREATE_CONTEXT_FIELD": ["POST /api/admin/context"],
    "UPDATE_CONTEXT_FIELD": [
        "PUT /api/admin/context/<name>",
        "POST /api/admin/context/validate",
        "POST /api/admin/context/<name>/legal-values",
        "DELETE /api/admin/context/<name>/legal-values/<anything:legal_value>",
    ],
    "DELETE_CONTEXT_FIELD": ["DELETE /api/admin/context/<name>"],
    "CREATE_TAG_TYPE": ["POST /api/admin/tag-types"],
    "UPDATE_TAG_TYPE": ["PUT /api/admin/tag-types/<name>"],
    "DELETE_TAG_TYPE": ["DELETE /api/admin/tag-types/<name>"],
    "CREATE_STRATEGY": ["POST /api/admin/strategies"],
    "UPDATE_STRATEGY": [
        "PUT /api/admin/strategies/<name>",
        "POST /api/admin/strategies/<name>/deprecate",
        "POST /api/admin/strategies/<name>/reactivate",
    ],
    "DELETE_STRATEGY": ["DELETE /api/admin/strategies/<name>"],
    "READ_ROLE": ["GET /api/admin/roles", "GET /api/admin/roles/<role_id>"],
    "READ_CLIENT_API_TOKEN": [f"GET {TOKENS}", f"GET {TOKEN}"],
    "READ_FRONTEND_API_TOKEN": [f"GET {TOKENS}", f"GET {TOKEN}"],
    # The token that is asked for is one for clients.
    "CREATE_CLIENT_API_TOKEN": [f"POST {TOKENS}"],
    "UPDATE_CLIENT_API_TOKEN": [f"PUT {TOKEN}"],
    "DELETE_CLIENT_API_TOKEN": [f"DELETE {TOKEN}"],
}
# Composed operations need what the changes need that they make (test_composed.py).
BESIDE = {
    "POST /api/admin/features-batch/import": ["UPDATE_FEATURE_ENVIRONMENT"],
    f"POST {FLAG}/clone": ["CREATE_FEATURE_STRATEGY"],
    f"POST {FLAG}/changeProject": ["CREATE_FEATURE", "CREATE_FEATURE_STRATEGY"],
} | {f"{method} {FLAG}/variants": ["UPDATE_FEATURE_ENVIRONMENT_VARIANTS"] for method in ("PUT", "PATCH")}
# Other users must have the permissions of the role that they give: in apollo the role Member, as Olga is its owner.
GIVING = [route for route in ACCESS if not route.startswith("DELETE")]
MEMBER = 5
# What the permission is for stands in the body, so that comes first.
BODY_FIRST = {
    f"PUT {FLAG}/variants-batch",
    "POST /api/admin/features-batch/import",
    "POST /api/admin/segments/strategies",
}


def closed(family: Family) -> dict[str, int]:
    """The routes of a family that are closed to viewers, with the status that an administrator gets by token."""
    return {
        row.route: row.statuses["alice"]
        for row in family.rows
        if row.project in ("-", "default") and row.statuses["victor"] == 403 and row.statuses["alice"] != 403
    }


class Holder:
    """Ada, who holds what she is given, everywhere or in one environment, and nothing else."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.role = roles.insert(world.conn, "Holder", type="root-custom")
        self.ada = world.user("Ada", root_role=self.role)
        self.all = {row["name"] for row in world.conn.execute("SELECT name FROM permissions")}
        of_member = world.conn.execute("SELECT permission FROM role_permissions WHERE role_id = %s", [MEMBER])
        member = [row["permission"] for row in of_member]
        self.beside = BESIDE | {route: member for route in GIVING}

    def given(self, *permissions: str, environment: str | None = None) -> Caller:
        """Ada with these permissions."""
        self.world.conn.execute("DELETE FROM role_permissions WHERE role_id = %s", [self.role])
        for permission in permissions:
            fixtures.allow(self.world.conn, self.role, permission, environment=environment)
        return self.ada


@pytest.fixture
def holder(world: World) -> Holder:
    """Ada, who holds nothing yet."""
    return Holder(world)


def mismatch(what: str, response: TestResponse, status: int) -> list[str]:
    """What is wrong with a response, in a list of one line; an empty list: nothing."""
    if response.status_code == status:
        return []
    return [f"{what}: {response.status_code} {response.text:.200}"]


def needs(route: str) -> list[str]:
    """The permissions of which each opens a route."""
    return [permission for permission, opened in OPENS.items() if route in opened]


def test_every_route_that_a_permission_opens_is_closed_to_viewers() -> None:
    viewers = {row.route: row.statuses["victor"] for row in ROWS if row.project in ("-", "default")}
    assert {route: viewers[route] for opened in OPENS.values() for route in opened if viewers[route] != 403} == {}


@pytest.mark.parametrize("family", CLOSED)
def test_the_permission_alone_opens_the_route(route_world: RouteWorld, holder: Holder, family: Family) -> None:
    route_world.prepare(family)
    complaints = []
    for route, expected in closed(family).items():
        for permission in needs(route):
            ada = holder.given(permission, *holder.beside.get(route, ()))
            response = route_world.ask(ada, route, "apollo" if route in GIVING else "default")
            complaints += mismatch(f"{route} by {permission}", response, expected)
    verdict(complaints)


@pytest.mark.parametrize("family", CLOSED)
def test_all_other_permissions_together_do_not_open_the_route(
    route_world: RouteWorld, holder: Holder, family: Family
) -> None:
    route_world.prepare(family)
    complaints = []
    for route in closed(family):
        ada = holder.given(*holder.all - {"ADMIN", *needs(route)})
        complaints += mismatch(route, route_world.ask(ada, route), 403)
    verdict(complaints)


@pytest.mark.parametrize("family", CLOSED)
def test_a_permission_of_one_environment_opens_nothing_in_another(
    route_world: RouteWorld, holder: Holder, family: Family
) -> None:
    route_world.prepare(family)
    statement = "SELECT name FROM permissions WHERE type = 'environment'"
    of_environments = {row["name"] for row in route_world.conn.execute(statement)}
    complaints = []
    for route, expected in closed(family).items():
        for permission in of_environments & {*needs(route)}:
            for environment, status in (("development", expected), ("production", 403)):
                # What all of them ask for is in development.
                response = route_world.ask(holder.given(permission, environment=environment), route)
                complaints += mismatch(f"{route} by {permission} in {environment}", response, status)
    verdict(complaints)


@pytest.mark.parametrize("family", CLOSED)
def test_the_body_is_not_read_without_the_permission(route_world: RouteWorld, family: Family) -> None:
    route_world.prepare(family)
    complaints = []
    for route in closed(family).keys() - BODY_FIRST:
        for body in (b"", b"{", b'{"nonsense": true}', b"[" * 10_000):
            response = route_world.send(route_world.cast["victor"], route, route_world.words(route), body)
            complaints += mismatch(f"{route} {body!r:.40}", response, 403)
    verdict(complaints)
