"""POST /api/admin/environments/{name}/clone and /validate."""

from typing import Any

import pytest

from sql.database import Connection, rows, value
from sql.people import roles
from tests.support import fixtures
from tests.support.environments import STAGING, URL, logged, names, stored
from tests.support.world import Caller, World, refused

CLONE = f"{URL}/staging/clone"
QA = {"name": "qa", "type": "test"}
COLUMNS = "flag_id, name, title, disabled, sort_order, parameters::text, constraints::text"


def strategies_in(conn: Connection, environment: str) -> list[dict[str, Any]]:
    """The strategies of an environment, without what differs in a copy, with their segments and variants."""
    statement = f"""
        SELECT {COLUMNS}, ARRAY(SELECT segment_id FROM strategy_segments WHERE strategy_id = strategies.id) AS segments,
               ARRAY(SELECT name FROM variants WHERE strategy_id = strategies.id ORDER BY name) AS variants
          FROM strategies WHERE environment = %(environment)s ORDER BY flag_id, sort_order
    """
    return rows(conn, statement, {"environment": environment})


@pytest.fixture
def furnished(world: World, conn: Connection, staging: str) -> str:
    """The environment staging, with a project, two flags, strategies, segments and variants."""
    world.project("apollo", ("staging", "production"))
    fixtures.insert_project(conn, "hermes", "Hermes")
    world.flag("elsewhere")
    segment = value(conn, "INSERT INTO segments (name) VALUES ('a segment') RETURNING id")
    for name in ("checkout", "search"):
        flag = world.flag(name, "apollo", enabled_in=("staging",))
        for number, environment in enumerate(("staging", "staging", "production")):
            strategy = world.strategy(
                flag, environment, title=f"{name} {number}", sort_order=number, disabled=number == 1
            )
            fixtures.add_segment(conn, strategy, segment)
            fixtures.insert_variant(conn, flag, environment, strategy, name=f"blue-{number}", weight=1000)
        fixtures.insert_variant(conn, flag, "staging", None, name="red", weight=1000)
    conn.execute(
        "UPDATE project_environments SET default_strategy = '{\"name\": \"default\"}' WHERE environment = 'staging'"
    )
    return staging


def test_a_copy_has_the_strategies_and_variants_of_the_source(
    world: World, alice: Caller, conn: Connection, furnished: str
) -> None:
    since = world.last_event_id()
    response = alice.post(CLONE, json=QA)
    record = {**STAGING, **QA, "sortOrder": 4}
    assert (response.status_code, response.json) == (200, record)
    assert stored(conn, "qa") == record
    assert logged(world, since, alice) == [("environment-created", "qa", record, None)]
    assert len(strategies_in(conn, furnished)) == 4
    assert strategies_in(conn, "qa") == strategies_in(conn, furnished)
    assert value(conn, "SELECT count(DISTINCT id) FROM strategies WHERE environment IN ('qa', 'staging')") == 8
    links = rows(conn, "SELECT project_id, default_strategy FROM project_environments WHERE environment = 'qa'")
    assert links == [{"project_id": "apollo", "default_strategy": {"name": "default"}}]
    own = "SELECT name FROM variants WHERE environment = 'qa' AND strategy_id IS NULL"
    assert [row["name"] for row in rows(conn, own)] == ["red", "red"]


@pytest.mark.usefixtures("furnished")
def test_flags_are_disabled_in_the_copy(alice: Caller, conn: Connection) -> None:
    assert alice.post(CLONE, json=QA).status_code == 200
    states = rows(
        conn, "SELECT environment, enabled FROM flag_environments WHERE environment IN ('qa', 'staging') ORDER BY 1"
    )
    assert [tuple(state.values()) for state in states] == [("qa", False)] * 2 + [("staging", True)] * 2


@pytest.mark.usefixtures("furnished")
def test_only_the_named_projects_get_the_copy(world: World, alice: Caller, conn: Connection) -> None:
    world.project("ares", ("staging",))
    assert alice.post(CLONE, json={**QA, "projects": ["ares", "ares"]}).status_code == 200
    assert rows(conn, "SELECT project_id FROM project_environments WHERE environment = 'qa'") == [
        {"project_id": "ares"}
    ]
    assert strategies_in(conn, "qa") == []
    assert alice.post(CLONE, json={"name": "empty", "type": "test", "projects": []}).status_code == 200
    assert rows(conn, "SELECT project_id FROM project_environments WHERE environment = 'empty'") == []


@pytest.mark.usefixtures("furnished")
def test_projects_without_the_source_are_refused(world: World, alice: Caller, conn: Connection) -> None:
    since = world.last_event_id()
    message = refused(alice.post(CLONE, json={**QA, "projects": ["nowhere", "apollo", "hermes"]}))
    assert message == "projects: unknown projects, or projects without staging: hermes, nowhere"
    assert (names(conn), world.events(since)) == (["development", "production", "staging"], [])


@pytest.mark.parametrize(
    ("body", "expected"), [({}, 1), ({"clonePermissions": True}, 1), ({"clonePermissions": False}, 0)]
)
def test_roles_get_their_permissions_in_the_copy(
    alice: Caller, conn: Connection, staging: str, body: dict[str, bool], expected: int
) -> None:
    role = roles.insert(conn, "Tester")
    fixtures.allow(conn, role, "UPDATE_FEATURE_ENVIRONMENT", environment=staging)
    fixtures.allow(conn, role, "CREATE_FEATURE_STRATEGY", environment="production")
    assert alice.post(CLONE, json={**QA, **body}).status_code == 200
    statement = (
        "SELECT count(*) FROM role_permissions WHERE environment = 'qa' AND permission = 'UPDATE_FEATURE_ENVIRONMENT'"
    )
    assert value(conn, statement) == expected
    assert value(conn, "SELECT count(*) FROM role_permissions WHERE environment = 'qa'") == expected


def test_a_disabled_environment_has_a_disabled_copy(alice: Caller, staging: str) -> None:
    assert alice.post(f"{URL}/{staging}/off").status_code == 204
    assert alice.post(CLONE, json=QA).json["enabled"] is False


def test_a_taken_name_is_refused(alice: Caller, staging: str) -> None:
    refused(alice.post(CLONE, json={**QA, "name": "production"}), 409, "NameExistsError")
    refused(alice.post(CLONE, json={**QA, "name": staging}), 409, "NameExistsError")


def test_an_unknown_environment_has_no_copy(alice: Caller) -> None:
    refused(alice.post(f"{URL}/nowhere/clone", json=QA), 404, "NotFoundError")


@pytest.mark.usefixtures("staging")
@pytest.mark.parametrize(
    "body",
    [{}, {"name": "qa"}, {"type": "test"}, {**QA, "name": "validate"}, {**QA, "projects": "all"}, {**QA, "x": 1}],
)
def test_an_invalid_copy_is_refused(alice: Caller, body: dict[str, Any]) -> None:
    refused(alice.post(CLONE, json=body))


def test_a_free_name_is_valid(alice: Caller, world: World, conn: Connection) -> None:
    since = world.last_event_id()
    response = alice.post(f"{URL}/validate", json={"name": "qa"})
    assert (response.status_code, response.text) == (200, "")
    assert (world.events(since), names(conn)) == ([], ["development", "production"])


def test_a_name_that_is_not_free_is_not_valid(alice: Caller) -> None:
    refused(alice.post(f"{URL}/validate", json={"name": "production"}), 409, "NameExistsError")
    for name in ("a b", "validate", "project", "", ".", None):
        refused(alice.post(f"{URL}/validate", json={"name": name}))
    refused(alice.post(f"{URL}/validate", json={}))
