"""Project overview: the record, field by field."""

from datetime import timedelta

import pytest

from sql.database import value
from sql.people import groups, roles
from sql.vocabulary import environments
from tests.support import fixtures
from tests.support.world import World

STRATEGY = {
    "name": "flexibleRollout",
    "title": "Everyone, step by step é",
    "disabled": False,
    "constraints": [
        {"contextName": "region", "operator": "IN", "values": ["eu"], "inverted": True, "caseInsensitive": False}
    ],
    "variants": [],
    "parameters": {"rollout": "50", "stickiness": "default", "groupId": "gemini"},
    "segments": [1, 2],
}


def overview(caller, project="gemini"):
    """The record."""
    response = caller.get(f"/api/admin/projects/{project}/overview")
    assert response.status_code == 200
    assert response.mimetype == "application/json"
    return response.json


@pytest.fixture
def gemini(world: World) -> str:
    """A project."""
    return world.project("gemini")


@pytest.fixture
def now(world: World):
    """The present instant of this test."""
    return value(world.conn, "SELECT now()")


def test_a_bare_project_has_all_fields(world, alice):
    world.project("gemini", environments=(), created_at="2024-02-29T12:34:56.789Z")
    record = overview(alice)
    assert set(record.pop("stats")) == {
        "avgTimeToProdCurrentWindow",
        "createdCurrentWindow",
        "createdPastWindow",
        "archivedCurrentWindow",
        "archivedPastWindow",
        "projectActivityCurrentWindow",
        "projectActivityPastWindow",
        "projectMembersAddedCurrentWindow",
    }
    assert record == {
        "version": 1,
        "name": "Gemini",
        "description": None,
        "defaultStickiness": "default",
        "mode": "open",
        "featureLimit": None,
        "featureNaming": {"pattern": None, "example": None, "description": None},
        "members": 0,
        "health": 100,
        "environments": [],
        "featureTypeCounts": [],
        "updatedAt": None,
        "archivedAt": None,
        "createdAt": "2024-02-29T12:34:56.789Z",
        "favorite": False,
        "onboardingStatus": {"status": "onboarding-started"},
    }


def test_set_fields_are_returned_unchanged(world, alice):
    world.project(
        "gemini",
        name='Gemini ♊ "8"',
        description="Two\nlines",
        mode="protected",
        default_stickiness="userId",
        feature_limit=0,
        naming_pattern="^[a-z]+\\.[0-9]{2}$",
        naming_example="abc.12",
        naming_description="Team, dot, number",
        created_at="2024-02-29T00:00:00Z",
        updated_at="2024-03-01T23:59:59.999Z",
    )
    record = overview(alice)
    assert record["name"] == 'Gemini ♊ "8"'
    assert record["description"] == "Two\nlines"
    assert record["mode"] == "protected"
    assert record["defaultStickiness"] == "userId"
    assert record["featureLimit"] == 0
    assert record["createdAt"] == "2024-02-29T00:00:00.000Z"
    assert record["updatedAt"] == "2024-03-01T23:59:59.999Z"
    assert record["featureNaming"] == {
        "pattern": "^[a-z]+\\.[0-9]{2}$",
        "example": "abc.12",
        "description": "Team, dot, number",
    }


def test_a_naming_pattern_alone_has_no_example_and_no_description(world, alice):
    world.project("gemini", naming_pattern="^a")
    assert overview(alice)["featureNaming"] == {"pattern": "^a", "example": None, "description": None}


def test_the_first_project_of_every_instance_has_an_overview(alice):
    record = overview(alice, "default")
    assert (record["name"], record["mode"], record["health"], record["members"]) == ("Default", "open", 100, 0)
    assert [entry["environment"] for entry in record["environments"]] == ["development", "production"]


def test_environments_come_by_sort_order_then_name(world, alice):
    # development has the sort order 1, production 2.
    for name, order in (("zeta", 0), ("qa", 1), ("alpha", 1), ("last", 99), ("elsewhere", 1)):
        environments.insert(world.conn, name, "test", sort_order=order)
    world.project("gemini", environments=("production", "last", "qa", "development", "zeta", "alpha"))
    found = [entry["environment"] for entry in overview(alice)["environments"]]
    assert found == ["zeta", "alpha", "development", "qa", "production", "last"]


def test_an_environment_has_a_default_strategy_only_where_one_is_set(world, alice):
    world.project("gemini", environments=("development",))
    fixtures.add_project_environment(world.conn, "gemini", "production", STRATEGY)
    development, production = overview(alice)["environments"]
    assert development["environment"] == "development"
    assert "defaultStrategy" not in development
    assert production["environment"] == "production"
    assert production["defaultStrategy"] == STRATEGY
    for entry in (development, production):
        assert set(entry) <= {"environment", "changeRequestsEnabled", "defaultStrategy"}
        assert entry.get("changeRequestsEnabled", False) is False


def test_flag_types_are_counted_without_the_archived(world, alice, gemini):
    for name, type, archived_at in (
        ("a", "release", None),
        ("b", "release", None),
        ("c", "release", "2024-01-01T00:00:00Z"),
        ("d", "kill-switch", None),
        ("e", "experiment", "2024-01-01T00:00:00Z"),
        ("f", "operational", None),
    ):
        world.flag(name, gemini, type=type, archived_at=archived_at)
    world.flag("z", world.project("vostok"), type="permission")
    found = overview(alice)["featureTypeCounts"]
    assert all(set(entry) == {"type", "count"} for entry in found)
    assert sorted((entry["type"], entry["count"]) for entry in found) == [
        ("kill-switch", 1),
        ("operational", 1),
        ("release", 2),
    ]


@pytest.mark.parametrize(
    ("active", "stale", "health"),
    # 66.67, 33.33, 12.5 and 62.5 per cent: half is rounded up.
    [(2, 1, 67), (1, 2, 33), (1, 7, 13), (5, 3, 63), (0, 2, 0), (3, 0, 100), (0, 0, 100)],
)
def test_health_is_the_share_of_active_flags(world, alice, gemini, active, stale, health):
    for number in range(active + stale):
        world.flag(f"f{number}", gemini, stale_since=None if number < active else "2024-01-01T00:00:00Z")
    world.flag("archived", gemini, archived_at="2024-01-01T00:00:00Z", stale_since="2024-01-01T00:00:00Z")
    world.flag("z", world.project("vostok"), stale_since="2024-01-01T00:00:00Z")
    assert overview(alice)["health"] == health


@pytest.mark.parametrize(
    ("type", "days"),
    [("release", 40), ("experiment", 40), ("operational", 7), ("kill-switch", None), ("permission", None)],
)
def test_a_flag_older_than_its_lifetime_is_unhealthy(world, alice, gemini, now, type, days):
    world.flag("a", gemini, type=type, created_at=now - timedelta(days=days or 9999))
    assert overview(alice)["health"] == 100
    if days is not None:
        world.flag("b", gemini, type=type, created_at=now - timedelta(days=days, milliseconds=1))
        assert overview(alice)["health"] == 50


def test_a_flag_that_is_no_longer_stale_is_healthy(world, alice, gemini):
    flag_id = world.flag("a", gemini, stale_since="2024-01-01T00:00:00Z")
    assert overview(alice)["health"] == 0
    world.conn.execute("UPDATE flags SET stale_since = NULL WHERE id = %s", [flag_id])
    assert overview(alice)["health"] == 100


def test_members_are_distinct_users_with_a_role_in_the_project(world, alice, gemini):
    anna, ben, cora, dora = (world.user(name) for name in ("Anna", "Ben", "Cora", "Dora"))
    one, two = (groups.insert(world.conn, name) for name in ("one", "two"))
    custom = roles.insert(world.conn, "Reviewer")
    world.member(gemini, anna, role=4)
    world.member(gemini, anna, role=custom)
    for group_id, user in ((one, anna), (one, ben), (two, ben), (two, cora)):
        fixtures.add_group_user(world.conn, group_id, user.id)
    assert overview(alice)["members"] == 1
    fixtures.add_project_group(world.conn, gemini, one, 5)
    # Anna by two roles and a group, Ben by the group.
    assert overview(alice)["members"] == 2
    fixtures.add_project_group(world.conn, gemini, one, custom)
    fixtures.add_project_group(world.conn, gemini, two, 4)
    # Ben by both groups, Cora by the second.
    assert overview(alice)["members"] == 3
    world.member(world.project("vostok"), dora)
    assert overview(alice)["members"] == 3


def test_root_roles_make_no_members(world, alice, gemini):
    world.user("Anna", root_role=2)
    group_id = groups.insert(world.conn, "administrators", root_role=1)
    fixtures.add_group_user(world.conn, group_id, world.user("Ben").id)
    assert overview(alice, gemini)["members"] == 0


def test_former_members_do_not_count(world, alice, gemini):
    anna, ben = world.user("Anna"), world.user("Ben")
    group_id = groups.insert(world.conn, "team")
    fixtures.add_project_group(world.conn, gemini, group_id, 5)
    fixtures.add_group_user(world.conn, group_id, anna.id)
    world.member(gemini, ben)
    assert overview(alice)["members"] == 2
    fixtures.remove_group_user(world.conn, group_id, anna.id)
    assert overview(alice)["members"] == 1
    world.conn.execute("DELETE FROM project_user_roles WHERE user_id = %s", [ben.id])
    assert overview(alice)["members"] == 0


def test_favorite_is_that_of_the_caller(world, alice, victor, gemini):
    world.project("vostok")
    world.conn.execute("INSERT INTO project_favorites (user_id, project_id) VALUES (%s, %s)", [victor.id, gemini])
    assert overview(victor)["favorite"] is True
    assert overview(victor, "vostok")["favorite"] is False
    assert overview(alice)["favorite"] is False
    world.conn.execute("INSERT INTO project_favorites (user_id, project_id) SELECT id, 'vostok' FROM users")
    assert overview(alice, "vostok")["favorite"] is True
    assert overview(world.api_key(), "vostok")["favorite"] is False


def test_an_archived_project_can_still_be_read(world, victor):
    world.project("gemini", archived_at="2024-03-01T10:20:30.405Z", updated_at="2024-03-01T10:20:30.405Z")
    record = overview(victor)
    assert record["archivedAt"] == "2024-03-01T10:20:30.405Z"
    assert record["name"] == "Gemini"


def test_an_overview_is_live(world, alice, gemini):
    assert overview(alice)["featureTypeCounts"] == []
    flag_id = world.flag("a", gemini)
    assert overview(alice)["featureTypeCounts"] == [{"type": "release", "count": 1}]
    world.conn.execute("UPDATE flags SET archived_at = now() WHERE id = %s", [flag_id])
    assert overview(alice)["featureTypeCounts"] == []
