"""What roles allow: in one environment or in all, in one project or in all, held directly or through a group."""

import pytest

from sql.people import groups, roles
from tests.access import ROUTES, Stage, staged
from tests.support import fixtures
from tests.support.fingerprint import fingerprint
from tests.support.world import Caller, World, refused

DELETE_STRATEGY = (
    "DELETE "
    "/api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies/<strategy_id>"
)
ACCESS = "GET /api/admin/projects/<project_id>/access"


@pytest.fixture
def stage(world: World, alice: Caller, eve: Caller, victor: Caller, olga: Caller, max: Caller) -> Stage:
    """The stage of the access table."""
    stage = staged(world, alice=alice, eve=eve, victor=victor, olga=olga, max=max)
    stage.furnish(ROUTES[DELETE_STRATEGY], ROUTES[ACCESS])
    return stage


def deletes(stage: Stage, user: Caller) -> set[tuple[str, str]]:
    """The projects and environments in which a user may delete a strategy. Elsewhere, nothing may change."""
    before = fingerprint(stage.conn)
    may = set()
    for project, environment in [*stage.strategies, ("default", "Development"), ("hermes", "no-such-environment")]:
        response = stage.ask(user, DELETE_STRATEGY, project, environment)
        if response.status_code == 200:
            may.add((project, environment))
        elif (project, environment) in stage.strategies or response.status_code == 403:
            refused(response, 403, "NoAccessError")
        else:
            refused(response, 404, "NotFoundError")
    assert fingerprint(stage.conn) == before
    return may


def test_a_custom_role_can_hold_in_one_environment_alone(stage: Stage) -> None:
    victor = stage.cast["victor"]
    role = roles.insert(stage.conn, "Developer")
    fixtures.allow(stage.conn, role, "DELETE_FEATURE_STRATEGY", environment="development")
    fixtures.add_project_user(stage.conn, "hermes", victor.id or 0, role)
    assert deletes(stage, victor) == {("hermes", "development")}


def test_a_role_of_a_group_counts_for_its_present_users(stage: Stage) -> None:
    victor = stage.cast["victor"]
    role, crew = roles.insert(stage.conn, "Operator"), groups.insert(stage.conn, "Crew")
    fixtures.allow(stage.conn, role, "DELETE_FEATURE_STRATEGY", environment="production")
    fixtures.add_project_group(stage.conn, "apollo", crew, role)
    assert deletes(stage, victor) == set()
    fixtures.add_group_user(stage.conn, crew, victor.id or 0)
    assert deletes(stage, victor) == {("apollo", "production")}
    fixtures.remove_group_user(stage.conn, crew, victor.id or 0)
    assert deletes(stage, victor) == set()


def test_roles_add_up(stage: Stage) -> None:
    victor = stage.cast["victor"]
    crew = groups.insert(stage.conn, "Crew")
    fixtures.add_group_user(stage.conn, crew, victor.id or 0)
    for environment in ("development", "production"):
        role = roles.insert(stage.conn, f"For {environment}")
        fixtures.allow(stage.conn, role, "DELETE_FEATURE_STRATEGY", environment=environment)
        if environment == "development":
            fixtures.add_project_user(stage.conn, "hermes", victor.id or 0, role)
        else:
            fixtures.add_project_group(stage.conn, "hermes", crew, role)
    assert deletes(stage, victor) == {("hermes", "development"), ("hermes", "production")}


def test_a_role_in_a_project_gives_no_rights_in_another(stage: Stage) -> None:
    both = {"development", "production"}
    assert deletes(stage, stage.cast["eve"]) == {("default", environment) for environment in both}
    assert (
        deletes(stage, stage.cast["olga"])
        == deletes(stage, stage.cast["max"])
        == {("apollo", environment) for environment in both}
    )
    fixtures.add_project_user(stage.conn, "hermes", stage.cast["victor"].id or 0, 5)
    assert deletes(stage, stage.cast["victor"]) == {("hermes", environment) for environment in both}


def test_a_permission_can_be_limited_to_a_project(stage: Stage) -> None:
    victor = stage.cast["victor"]
    role = roles.insert(stage.conn, "Gardener")
    fixtures.allow(stage.conn, role, "DELETE_FEATURE_STRATEGY", project="hermes", environment="production")
    for project in ("hermes", "apollo"):
        fixtures.add_project_user(stage.conn, project, victor.id or 0, role)
    assert deletes(stage, victor) == {("hermes", "production")}


def test_a_custom_root_role_holds_in_every_project(stage: Stage, world: World) -> None:
    role = roles.insert(stage.conn, "Sweeper", type="root-custom")
    fixtures.allow(stage.conn, role, "DELETE_FEATURE_STRATEGY", environment="development")
    everywhere = {(project, "development") for project in ("default", "hermes", "apollo")}
    assert deletes(stage, world.user("Ada", root_role=role)) == everywhere
    crew = groups.insert(stage.conn, "Sweepers", root_role=role)
    fixtures.add_group_user(stage.conn, crew, stage.cast["victor"].id or 0)
    assert deletes(stage, stage.cast["victor"]) == everywhere


@pytest.mark.parametrize(
    "permission",
    ["CREATE_FEATURE_STRATEGY", "UPDATE_FEATURE_STRATEGY", "DELETE_FEATURE", "UPDATE_PROJECT", "DELETE_STRATEGY"],
)
def test_other_permissions_do_not_allow_the_deletion(stage: Stage, permission: str) -> None:
    role = roles.insert(stage.conn, "Other")
    fixtures.allow(stage.conn, role, permission)
    fixtures.add_project_user(stage.conn, "hermes", stage.cast["victor"].id or 0, role)
    assert deletes(stage, stage.cast["victor"]) == set()


def test_either_of_two_permissions_opens_the_access_list(stage: Stage) -> None:
    victor = stage.cast["victor"]
    for permission, status in (
        ("UPDATE_PROJECT", 200),
        ("PROJECT_USER_ACCESS_READ", 200),
        ("PROJECT_USER_ACCESS_WRITE", 403),
    ):
        role = roles.insert(stage.conn, permission)
        fixtures.allow(stage.conn, role, permission)
        fixtures.add_project_user(stage.conn, "apollo", victor.id or 0, role)
        assert stage.ask(victor, ACCESS, "apollo").status_code == status, permission
        refused(stage.ask(victor, ACCESS, "hermes"), 403, "NoAccessError")
        stage.conn.execute("DELETE FROM project_user_roles WHERE user_id = %s", [victor.id])


def test_a_role_in_one_project_shows_no_other_project(stage: Stage) -> None:
    victor, stale = stage.cast["victor"], "POST /api/admin/projects/<project_id>/stale"
    stage.furnish(ROUTES[stale])
    role = roles.insert(stage.conn, "Marker")
    fixtures.allow(stage.conn, role, "UPDATE_FEATURE")
    fixtures.add_project_user(stage.conn, "hermes", victor.id or 0, role)
    for flag, status in (("flag-of-default", 409), ("flag-of-apollo", 404), ("flag-of-nowhere", 404)):
        response = stage.send(victor, stale, {"project_id": "hermes"}, {"features": [flag], "stale": True})
        assert response.status_code == status, flag
