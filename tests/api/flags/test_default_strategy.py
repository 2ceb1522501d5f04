"""The strategy that a flag gets when it is switched on without an enabled one."""

from typing import Any

import pytest
from psycopg.types.json import Json

from sql.database import Connection, value
from sql.vocabulary import segments
from tests.support.flag_environments import recorded, strategies_of, switch, switched_on, tagged_flag
from tests.support.world import refused


@pytest.mark.parametrize(
    "query", ["", "?shouldActivateDisabledStrategies=false", "?shouldActivateDisabledStrategies=true", "?other=1"]
)
def test_switching_on_without_a_strategy_adds_a_full_rollout(world, alice, conn, query):
    tagged_flag(world)
    conn.execute("UPDATE projects SET default_stickiness = 'sessionId' WHERE id = 'default'")
    since = world.last_event_id()
    answer = switch(alice, "on", query)
    (strategy,) = strategies_of(answer)
    assert strategy == {
        "id": strategy["id"],
        "name": "flexibleRollout",
        "title": None,
        "disabled": False,
        "featureName": "f",
        "sortOrder": 0,
        "constraints": [],
        "variants": [],
        "parameters": {"rollout": "100", "groupId": "f", "stickiness": "sessionId"},
        "segments": [],
    }
    assert recorded(world, since) == ["feature-strategy-add", "feature-environment-enabled"]
    added = world.events(since)[0]
    assert (added["data"], added["pre_data"]) == (strategy, None)
    assert switched_on(conn) == ["f/development"]


def default_strategy(conn: Connection, **default: Any) -> None:
    """Let flags of project default get this strategy in development."""
    statement = (
        "UPDATE project_environments SET default_strategy = %s "
        "WHERE project_id = 'default' AND environment = 'development'"
    )
    conn.execute(statement, [Json(default)])


def test_switching_on_without_an_enabled_strategy_appends_the_default(world, alice, conn):
    flag = tagged_flag(world)
    old = world.strategy(flag, disabled=True, sort_order=4)
    segment = segments.insert(conn, "beta", [])
    constraints = [
        {"contextName": "userId", "operator": "IN", "values": ["7"], "inverted": False, "caseInsensitive": False}
    ]
    variant = {"name": "blue", "weight": 1000, "weightType": "variable", "stickiness": "default"}
    default_strategy(
        conn,
        name="flexibleRollout",
        title="Bit by bit",
        disabled=True,
        sortOrder=0,
        constraints=constraints,
        variants=[variant],
        parameters={"rollout": "10", "groupId": "default"},
        segments=[segment],
    )
    since = world.last_event_id()
    first, second = strategies_of(switch(alice, "on"))
    assert (first["id"], first["disabled"]) == (old, True)
    assert second == {
        "id": second["id"],
        "name": "flexibleRollout",
        "title": "Bit by bit",
        "disabled": False,
        "featureName": "f",
        "sortOrder": 5,
        "constraints": constraints,
        "variants": [variant],
        "parameters": {"rollout": "10", "groupId": "f", "stickiness": "default"},
        "segments": [segment],
    }
    assert recorded(world, since) == ["feature-strategy-add", "feature-environment-enabled"]
    assert world.events(since)[0]["data"] == second


def test_a_default_strategy_with_a_name_alone_is_enough(world, alice, conn):
    tagged_flag(world)
    default_strategy(conn, name="userWithId", parameters={"userIds": "1,2"})
    (strategy,) = strategies_of(switch(alice, "on"))
    assert (strategy["name"], strategy["parameters"], strategy["title"]) == ("userWithId", {"userIds": "1,2"}, None)


@pytest.mark.parametrize("gone", [{"name": "no-such-type"}, {"name": "default", "segments": [12345]}])
def test_a_default_strategy_whose_type_or_segment_is_gone_is_409(world, alice, conn, gone):
    tagged_flag(world)
    default_strategy(conn, **gone)
    since = world.last_event_id()
    assert "default strategy" in refused(switch(alice, "on"), 409, "ConflictError")
    assert (switched_on(conn), world.events(since), value(conn, "SELECT count(*) FROM strategies")) == ([], [], 0)


def test_a_full_environment_takes_no_default_strategy(world, alice, conn):
    flag = tagged_flag(world)
    for _ in range(30):
        world.strategy(flag, disabled=True)
    since = world.last_event_id()
    assert "30" in refused(switch(alice, "on"))
    assert (switched_on(conn), world.events(since)) == ([], [])
