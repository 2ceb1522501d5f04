"""What roles allow: in one environment or in all, in one project or in all, held directly or through a group."""

import pytest

from sql.people import groups, roles
from tests.access import ROUTES, RouteWorld, make_route_world
from tests.support import fixtures
from tests.support.fingerprint import fingerprint
from tests.support.world import Caller, World, refused

DELETE = "DELETE_FEATURE_STRATEGY"
DELETE_STRATEGY = (
    "DELETE "
    "/api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies/<strategy_id>"
)
ACCESS = "GET /api/admin/projects/<project_id>/access"
BOTH = ("development", "production")


@pytest.fixture
def route_world(world: World, alice: Caller, eve: Caller, victor: Caller, olga: Caller, max: Caller) -> RouteWorld:
    """The world of the access table, without a stranger."""
    route_world = make_route_world(world, alice=alice, eve=eve, victor=victor, olga=olga, max=max)
    route_world.prepare(ROUTES[DELETE_STRATEGY], ROUTES[ACCESS])
    return route_world


def deletes(route_world: RouteWorld, user: Caller) -> set[tuple[str, str]]:
    """The projects and environments in which a user may delete a strategy. Elsewhere, nothing may change."""
    before = fingerprint(route_world.conn)
    may = set()
    for project, environment in [
        *route_world.strategies,
        ("default", "Development"),
        ("hermes", "no-such-environment"),
    ]:
        response = route_world.ask(user, DELETE_STRATEGY, project, environment)
        if response.status_code == 200:
            may.add((project, environment))
        elif (project, environment) in route_world.strategies or response.status_code == 403:
            refused(response, 403, "NoAccessError")
        else:
            refused(response, 404, "NotFoundError")
    assert fingerprint(route_world.conn) == before
    return may


def test_a_custom_role_can_be_limited_to_an_environment_and_a_project(route_world, conn, victor):
    here, there = roles.insert(conn, "Developer"), roles.insert(conn, "Gardener")
    fixtures.allow(conn, here, DELETE, environment="development")
    fixtures.allow(conn, there, DELETE, project="apollo", environment="production")
    fixtures.add_project_user(conn, "hermes", victor.id, here)
    assert deletes(route_world, victor) == {("hermes", "development")}
    for project in ("hermes", "apollo"):
        fixtures.add_project_user(conn, project, victor.id, there)
    assert deletes(route_world, victor) == {("hermes", "development"), ("apollo", "production")}


def test_a_role_of_a_group_counts_for_its_present_users(route_world, conn, victor):
    role, own, crew = roles.insert(conn, "Operator"), roles.insert(conn, "Own"), groups.insert(conn, "Crew")
    fixtures.allow(conn, role, DELETE, environment="production")
    fixtures.allow(conn, own, DELETE, environment="development")
    fixtures.add_project_group(conn, "apollo", crew, role)
    assert deletes(route_world, victor) == set()
    fixtures.add_group_user(conn, crew, victor.id)
    assert deletes(route_world, victor) == {("apollo", "production")}
    # Roles add up.
    fixtures.add_project_user(conn, "apollo", victor.id, own)
    assert deletes(route_world, victor) == {("apollo", "production"), ("apollo", "development")}
    fixtures.remove_group_user(conn, crew, victor.id)
    assert deletes(route_world, victor) == {("apollo", "development")}


def test_a_role_in_a_project_gives_no_rights_in_another(route_world, conn, eve, olga, max, victor):
    fixtures.add_project_user(conn, "hermes", victor.id, 5)
    for user, project in ((eve, "default"), (olga, "apollo"), (max, "apollo"), (victor, "hermes")):
        assert deletes(route_world, user) == {(project, environment) for environment in BOTH}


def test_a_custom_root_role_holds_in_every_project(route_world, world, conn, victor):
    role = roles.insert(conn, "Sweeper", type="root-custom")
    fixtures.allow(conn, role, DELETE, environment="development")
    fixtures.add_group_user(conn, groups.insert(conn, "Sweepers", root_role=role), victor.id)
    for user in (world.user("Ada", root_role=role), victor):
        assert deletes(route_world, user) == {(project, "development") for project in ("default", "hermes", "apollo")}


OTHERS = ("CREATE_FEATURE_STRATEGY", "UPDATE_FEATURE_STRATEGY", "DELETE_FEATURE", "UPDATE_PROJECT", "DELETE_STRATEGY")


def test_other_permissions_do_not_allow_the_deletion(route_world, conn, victor):
    role = roles.insert(conn, "Other")
    for permission in OTHERS:
        fixtures.allow(conn, role, permission)
    fixtures.add_project_user(conn, "hermes", victor.id, role)
    assert deletes(route_world, victor) == set()


OPENS = {"UPDATE_PROJECT": 200, "PROJECT_USER_ACCESS_READ": 200, "PROJECT_USER_ACCESS_WRITE": 403}


@pytest.mark.parametrize(("permission", "status"), OPENS.items())
def test_either_of_two_permissions_opens_the_access_list(route_world, conn, victor, permission, status):
    role = roles.insert(conn, permission)
    fixtures.allow(conn, role, permission)
    fixtures.add_project_user(conn, "apollo", victor.id, role)
    assert route_world.ask(victor, ACCESS, "apollo").status_code == status
    refused(route_world.ask(victor, ACCESS, "hermes"), 403, "NoAccessError")


def test_a_role_in_one_project_shows_no_other_project(route_world, conn, victor):
    stale = "POST /api/admin/projects/<project_id>/stale"
    route_world.prepare(ROUTES[stale])
    role = roles.insert(conn, "Marker")
    fixtures.allow(conn, role, "UPDATE_FEATURE")
    fixtures.add_project_user(conn, "hermes", victor.id, role)
    for flag, status in (("flag-of-default", 409), ("flag-of-apollo", 404), ("flag-of-nowhere", 404)):
        response = route_world.send(victor, stale, {"project_id": "hermes"}, {"features": [flag], "stale": True})
        assert response.status_code == status, flag
