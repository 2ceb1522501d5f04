"""Switching a flag on and off: the state, the strategy that it needs, the answer, and what the log says of it."""

from datetime import UTC, datetime

import pytest

from sql.database import Connection, value
from sql.flags import favorites as flag_favorites
from sql.people import roles
from tests.support import fixtures
from tests.support.flag_environments import path, recorded, strategies_of, switch, switched_on, tagged_flag
from tests.support.world import refused

# --- To see a flag in an environment ----------------------------------------------------------------------------------


def test_a_flag_in_an_environment_has_the_name_of_the_flag(world, alice, conn):
    flag = world.flag("f", enabled_in=("development",))
    strategy = world.strategy(flag, disabled=True, parameters={"rollout": "5"})
    fixtures.insert_variant(conn, flag, "development", None, name="blue", weight=1000)
    seen_at = value(conn, "SELECT now()")
    reports = [
        {
            "project": "default",
            "flag": "f",
            "environment": "development",
            "app": "shop",
            "at": seen_at,
            "yes": 3,
            "no": 1,
        }
    ]
    fixtures.report_usage(conn, reports)
    seen = alice.get(path()).json
    assert seen == {
        "name": "f",
        "environment": "development",
        "type": "development",
        "enabled": True,
        "sortOrder": 1,
        "variantCount": 1,
        "hasStrategies": True,
        "hasEnabledStrategies": False,
        "lastSeenAt": seen["lastSeenAt"],
        "strategies": [
            {
                "id": strategy,
                "name": "flexibleRollout",
                "title": None,
                "disabled": True,
                "featureName": "f",
                "sortOrder": 0,
                "constraints": [],
                "variants": [],
                "parameters": {"rollout": "5"},
                "segments": [],
            }
        ],
        "variants": [
            {"name": "blue", "weight": 1000, "weightType": "variable", "stickiness": "default", "overrides": []}
        ],
        "yes": 3,
        "no": 1,
    }
    assert seen["lastSeenAt"] is not None


def test_an_environment_that_was_linked_later_is_off_and_empty(world, alice, conn):
    world.flag("f")
    conn.execute("DELETE FROM flag_environments")
    seen = alice.get(path()).json
    assert (seen["enabled"], seen["strategies"], seen["variants"], seen["lastSeenAt"]) == (False, [], [], None)


def test_an_environment_without_a_row_can_be_switched_on(world, alice, conn):
    world.flag("f")
    conn.execute("DELETE FROM flag_environments")
    assert switch(alice, "on").status_code == 200
    assert switched_on(conn) == ["f/development"]


# --- On ---------------------------------------------------------------------------------------------------------------


def test_switching_on_keeps_an_enabled_strategy(world, alice, conn):
    strategy = world.strategy(tagged_flag(world))
    since = world.last_event_id()
    answer = switch(alice, "on")
    assert answer.status_code == 200
    # What a client of the MCP server reads.
    assert answer.json["name"] == "f"
    assert [(place["name"], place["enabled"]) for place in answer.json["environments"]] == [
        ("development", True),
        ("production", False),
    ]
    assert [(entry["id"], entry["disabled"]) for entry in strategies_of(answer)] == [(strategy, False)]
    assert switched_on(conn) == ["f/development"]
    assert recorded(world, since) == ["feature-environment-enabled"]
    (event,) = world.events(since)
    assert (event["data"], event["pre_data"], event["created_by_user_id"]) == (None, None, alice.id)


def test_the_response_is_the_flag_as_the_caller_sees_it(world, alice, conn):
    flag = tagged_flag(world)
    flag_favorites.add(conn, alice.id, flag)
    assert switch(alice, "on").json["favorite"] is True
    assert switch(alice, "off").json["favorite"] is True
    assert switch(world.api_key(), "on").json["favorite"] is False


def test_switching_on_can_enable_all_disabled_strategies(world, alice, conn):
    flag = tagged_flag(world)
    ids = [
        world.strategy(flag, disabled=disabled, sort_order=place)
        for place, disabled in ((2, True), (0, True), (1, False))
    ]
    elsewhere = world.strategy(flag, "production", disabled=True)
    before = {strategy["id"]: strategy for strategy in alice.get(path("/strategies")).json}
    since = world.last_event_id()
    answer = switch(alice, "on", "?shouldActivateDisabledStrategies=true")
    assert [(strategy["id"], strategy["disabled"]) for strategy in strategies_of(answer)] == [
        (ids[1], False),
        (ids[2], False),
        (ids[0], False),
    ]
    assert recorded(world, since) == [
        "feature-strategy-update",
        "feature-strategy-update",
        "feature-environment-enabled",
    ]
    assert [(event["pre_data"], event["data"]) for event in world.events(since)[:2]] == [
        (before[id], before[id] | {"disabled": False}) for id in (ids[1], ids[0])
    ]
    assert value(conn, "SELECT disabled FROM strategies WHERE id = %(id)s", {"id": elsewhere}) is True


def test_switching_on_twice_changes_nothing_more(world, alice, conn):
    flag = tagged_flag(world)
    switch(alice, "on")
    disabled = world.strategy(flag, disabled=True)
    since = world.last_event_id()
    assert switch(alice, "on").status_code == 200
    assert switch(alice, "on", "?shouldActivateDisabledStrategies=true").status_code == 200
    assert world.events(since) == []
    assert value(conn, "SELECT disabled FROM strategies WHERE id = %(id)s", {"id": disabled}) is True
    assert value(conn, "SELECT count(*) FROM strategies") == 2


@pytest.mark.parametrize("word", ["yes", "", "1", "True", "true&shouldActivateDisabledStrategies=true"])
def test_the_query_is_true_or_false(world, alice, conn, word):
    tagged_flag(world)
    assert "shouldActivateDisabledStrategies" in refused(
        switch(alice, "on", f"?shouldActivateDisabledStrategies={word}")
    )
    assert switched_on(conn) == []


@pytest.mark.parametrize("to", ["on", "off"])
@pytest.mark.parametrize(
    ("data", "content_type"), [(b"{not json", "text/plain"), (b"{}", "application/json"), (b"\xff", None)]
)
def test_any_body_is_accepted(world, alice, to, data, content_type):
    tagged_flag(world)
    assert alice.post(path(f"/{to}"), data=data, content_type=content_type).status_code == 200


def may(conn: Connection, *permissions: str, environment: str | None = None) -> int:
    """A role that holds these permissions."""
    role = roles.insert(conn, "Switcher")
    for permission in permissions:
        fixtures.allow(conn, role, permission, environment=environment)
    return role


def test_adding_a_strategy_needs_its_own_permission_too(world, victor, conn):
    flag = tagged_flag(world)
    disabled = world.strategy(flag, disabled=True)
    role = may(conn, "UPDATE_FEATURE_ENVIRONMENT")
    world.member("default", victor, role)
    since = world.last_event_id()
    assert "CREATE_FEATURE_STRATEGY" in refused(switch(victor, "on"), 403, "NoAccessError")
    assert (switched_on(conn), world.events(since), value(conn, "SELECT count(*) FROM strategies")) == ([], [], 1)
    activating = "?shouldActivateDisabledStrategies=true"
    assert "UPDATE_FEATURE_STRATEGY" in refused(switch(victor, "on", activating), 403, "NoAccessError")
    fixtures.allow(conn, role, "UPDATE_FEATURE_STRATEGY", environment="development")
    assert switch(victor, "on", activating).status_code == 200
    assert switch(victor, "off").status_code == 200
    assert switch(victor, "on").status_code == 200
    assert value(conn, "SELECT array_agg(id) FROM strategies") == [disabled]


def test_the_permissions_hold_in_their_environment(world, victor, conn):
    tagged_flag(world)
    role = may(conn, "UPDATE_FEATURE_ENVIRONMENT", "CREATE_FEATURE_STRATEGY", environment="development")
    world.member("default", victor, role)
    assert switch(victor, "on").status_code == 200
    refused(switch(victor, "on", environment="production"), 403, "NoAccessError")
    refused(switch(victor, "off", environment="production"), 403, "NoAccessError")
    assert switched_on(conn) == ["f/development"]


@pytest.mark.parametrize(
    ("type", "sets"),
    [("production", True), ("development", False), ("test", False), ("preproduction", False), ("Production", False)],
)
def test_the_first_time_in_production_is_remembered(world, alice, conn, type, sets):
    conn.execute("UPDATE environments SET type = %s WHERE name = 'development'", [type])
    tagged_flag(world)
    switch(alice, "on")
    first = value(conn, "SELECT first_in_production_at FROM flags")
    assert first == (value(conn, "SELECT now()") if sets else None)


def test_only_the_first_time_in_production_is_kept(world, alice, conn):
    long_ago = datetime(2024, 1, 1, tzinfo=UTC)
    tagged_flag(world, first_in_production_at=long_ago)
    switch(alice, "on", environment="production")
    assert value(conn, "SELECT first_in_production_at FROM flags") == long_ago


def test_the_overview_counts_the_days_to_production(world, alice, conn):
    tagged_flag(world, created_at=value(conn, "SELECT now() - interval '3 days'"))
    switch(alice, "on", environment="production")
    assert alice.get("/api/admin/projects/default/overview").json["stats"]["avgTimeToProdCurrentWindow"] == 3


# --- Off --------------------------------------------------------------------------------------------------------------


def test_off_leaves_the_strategies(world, alice, conn):
    strategy = world.strategy(tagged_flag(world, enabled_in=("development", "production")))
    since = world.last_event_id()
    answer = switch(alice, "off")
    assert answer.status_code == 200
    assert answer.json["name"] == "f"
    assert [entry["id"] for entry in strategies_of(answer)] == [strategy]
    assert switched_on(conn) == ["f/production"]
    assert recorded(world, since) == ["feature-environment-disabled"]
    (event,) = world.events(since)
    assert (event["data"], event["pre_data"]) == (None, None)


def test_off_twice_changes_nothing_more(world, alice, conn):
    tagged_flag(world)
    since = world.last_event_id()
    assert switch(alice, "off").status_code == 200
    assert (switched_on(conn), world.events(since)) == ([], [])


@pytest.mark.parametrize(("to", "unwritable"), [("on", "feature-strategy-add"), ("on", "feature-environment-enabled")])
def test_a_switch_is_rolled_back_if_its_events_fail(world, alice, conn, to, unwritable):
    tagged_flag(world)
    conn.execute(f"ALTER TABLE events ADD CONSTRAINT refuse CHECK (type <> '{unwritable}') NOT VALID")
    refused(switch(alice, to), 500, "InternalError")
    assert (switched_on(conn), value(conn, "SELECT count(*) FROM strategies")) == ([], 0)
