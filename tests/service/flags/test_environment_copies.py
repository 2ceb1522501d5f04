"""Copies of what a flag has in one environment to another."""

from typing import Any

import pytest

from sql.catalog import segments
from tests.support import fixtures
from tests.support.fingerprint import fingerprint
from tests.support.flag_environments import path, recorded, switched_on, tagged_flag
from tests.support.strategies import CONSTRAINT
from tests.support.world import Caller, refused

ALL = {"from": "development", "strategies": True, "variants": True, "enabled": True}
CONTENT = ("name", "title", "disabled", "constraints", "variants", "parameters", "segments")


def copy(caller: Caller, **changes: Any) -> Any:
    """Copy the flag from development to production."""
    return caller.post(path("/copy", environment="production"), json=ALL | changes)


def contents(caller: Caller, environment: str) -> list[list[Any]]:
    """What the strategies of an environment are, without ids and positions."""
    found = caller.get(path("/strategies", environment=environment)).json
    return [[strategy[key] for key in CONTENT] for strategy in found]


def test_copy_has_all_strategies_and_variants_and_is_on(world, alice, conn):
    flag = tagged_flag(world, enabled_in=("development",))
    parameters = {"rollout": "25", "groupId": "g", "stickiness": "userId"}
    first = world.strategy(flag, title="old", sort_order=3, parameters=parameters, constraints=[CONSTRAINT])
    fixtures.add_segment(conn, first, segments.insert(conn, "beta", []))
    # Moved flags have variants in another order than that of their names.
    for owner in (first, None):
        for position, name in enumerate(("red", "blue")):
            fixtures.insert_variant(conn, flag, "development", owner, name=name, weight=500, position=position)
    world.strategy(flag, name="default", parameters={}, constraints=[], sort_order=4, disabled=True)
    since = world.last_event_id()
    answer = copy(alice)
    assert answer.status_code == 200
    seen = alice.get(path(environment="production")).json
    assert (answer.json, seen["enabled"], seen["variants"]) == (seen, True, alice.get(path()).json["variants"])
    assert contents(alice, "production") == contents(alice, "development")
    assert [variant["name"] for variant in seen["variants"]] == ["red", "blue"]
    added = ["feature-strategy-add"] * 2
    types = ["feature-environment-variants-updated", *added, "feature-environment-enabled"]
    assert recorded(world, since, "production") == types
    since, before = world.last_event_id(), fingerprint(conn)
    assert copy(alice).json == seen
    assert (fingerprint(conn), world.last_event_id()) == (before, since)


@pytest.mark.parametrize(
    ("here", "there", "kept", "types"),
    [
        ("ab", "cd", [0, 1], ["update", "update"]),
        ("ab", "ac", [0, 1], ["update"]),
        ("ab", "a", [0, None], ["add"]),
        ("b", "ab", [0], ["update", "remove"]),
        ("", "a", [], ["disabled", "remove"]),
        # A disabled strategy (upper case) does not switch the flag off as long as another one is enabled.
        ("Ab", "ab", [0, 1], ["update"]),
        ("Ab", "a", [0, None], ["add", "update"]),
        ("Ab", "aB", [0, 1], ["update", "update"]),
        ("A", "a", [0], ["disabled", "update"]),
    ],
)
def test_each_strategy_replaces_the_one_at_its_place(world, alice, here, there, kept, types):
    flag = tagged_flag(world, enabled_in=("production",))
    ids: dict[str, list[str]] = {"development": [], "production": []}
    for environment, titles in (("development", here), ("production", there)):
        for place, title in enumerate(titles):
            about = {"title": title.lower(), "disabled": title.isupper(), "sort_order": place}
            strategy = world.strategy(flag, environment, name="default", parameters={}, constraints=[], **about)
            ids[environment].append(strategy)
    since = world.last_event_id()
    answer = copy(alice, enabled=False)
    assert contents(alice, "production") == contents(alice, "development")
    found = [strategy["id"] for strategy in answer.json["strategies"]]
    assert [ids["production"].index(id) if id in ids["production"] else None for id in found] == kept
    words = {type: f"feature-strategy-{type}" for type in types} | {"disabled": "feature-environment-disabled"}
    assert recorded(world, since, "production") == [words[type] for type in types]
    assert switched_on(world.conn) == ([] if "disabled" in types else ["f/production"])


def test_parts_that_are_not_asked_for_stay(world, alice, conn):
    flag = tagged_flag(world, enabled_in=("development",))
    world.strategy(flag, parameters={}, constraints=[])
    fixtures.insert_variant(conn, flag, "development", None, name="blue", weight=1000)
    for wanted in ({"variants": False}, {"strategies": False}):
        before = alice.get(path(environment="production")).json
        after = copy(alice, **{"enabled": False} | wanted).json
        kept = [part for part in ("strategies", "variants") if after[part] == before[part]]
        assert (kept, after["enabled"]) == ([*wanted], False)
    after = alice.post(path("/copy", environment="production"), json={"from": "development"}).json
    assert (len(after["strategies"]), len(after["variants"]), after["enabled"]) == (1, 1, False)


def test_copied_switch_does_what_the_switch_does(world, alice):
    flag = tagged_flag(world, enabled_in=("development",))
    world.strategy(flag, parameters={}, constraints=[])
    since = world.last_event_id()
    only = {"strategies": False, "variants": False}
    assert len(copy(alice, **only).json["strategies"]) == 1
    assert recorded(world, since, "production") == ["feature-strategy-add", "feature-environment-enabled"]
    since = world.last_event_id()
    alice.post(path("/off"))
    assert copy(alice, **only).json["enabled"] is False
    assert [event["type"] for event in world.events(since)] == ["feature-environment-disabled"] * 2


def test_copies_from_the_same_or_an_unlinked_environment_are_refused(world, alice):
    tagged_flag(world)
    for source in ("production", "nowhere"):
        message = "from: must be another environment that is linked to the project"
        assert refused(copy(alice, **{"from": source})) == message
    assert "environment" in refused(alice.post(path("/copy", environment="nowhere"), json=ALL), 404, "NotFoundError")
