"""Deletion of a strategy: what else it deletes, when it switches the environment off, and its events."""

import pytest

from sql.database import rows, value
from sql.vocabulary import segments
from tests.support import fixtures
from tests.support.strategy_deletion import delete, deleted, is_there, switched_on
from tests.support.world import refused


def test_a_strategy_goes_with_its_variants_and_links(world, alice, conn):
    flag = world.flag("f")
    gone, stays = world.strategy(flag), world.strategy(flag)
    segment = segments.insert(conn, "beta", [])
    for strategy in (gone, stays):
        fixtures.insert_variant(conn, flag, "development", strategy, name="a", weight=1000)
        fixtures.add_segment(conn, strategy, segment)
    fixtures.insert_variant(conn, flag, "development", None, name="of the flag", weight=1000)
    assert deleted(delete(alice, gone))
    assert rows(conn, "SELECT id FROM strategies") == [{"id": stays}]
    assert rows(conn, "SELECT strategy_id FROM variants ORDER BY id") == [{"strategy_id": stays}, {"strategy_id": None}]
    assert rows(conn, "SELECT strategy_id FROM strategy_segments") == [{"strategy_id": stays}]
    assert value(conn, "SELECT count(*) FROM segments") == 1


def test_the_event_holds_the_whole_strategy(world, alice, conn):
    flag = world.flag("f")
    fixtures.tag(conn, flag, "simple", "éléphant")
    fixtures.tag(conn, flag, "simple", "zebra")
    constraints = [
        {
            "contextName": "userId",
            "operator": "IN",
            "values": ["3", "1", "2"],
            "inverted": False,
            "caseInsensitive": False,
        },
        {"operator": "DATE_AFTER", "contextName": "currentTime", "value": "2024-02-29T00:00:00Z"},
    ]
    parameters = {"stickiness": "default", "rollout": "25", "groupId": "für alle", "1": "zahl"}
    strategy = world.strategy(
        flag,
        name="flexibleRollout",
        title="Ein Viertel 🐘",
        sort_order=7,
        parameters=parameters,
        constraints=constraints,
    )
    fixtures.insert_variant(
        conn, flag, "development", strategy, name="b", weight=400, weight_type="fix", stickiness="userId"
    )
    payload = {"payload_type": "json", "payload_value": '{"z": 1, "a": 2}'}
    fixtures.insert_variant(conn, flag, "development", strategy, name="a", weight=600, **payload)
    numbers = [segments.insert(conn, name, []) for name in ("one", "two", "three")]
    for number in (numbers[2], numbers[0]):
        fixtures.add_segment(conn, strategy, number)
    since = world.last_event_id()
    assert deleted(delete(alice, strategy))
    (event,) = world.events(since)
    expected = {
        "id": strategy,
        "name": "flexibleRollout",
        "title": "Ein Viertel 🐘",
        "disabled": False,
        "featureName": "f",
        "sortOrder": 7,
        "constraints": constraints,
        "variants": [
            {
                "name": "a",
                "weight": 600,
                "weightType": "variable",
                "stickiness": "default",
                "payload": {"type": "json", "value": '{"z": 1, "a": 2}'},
            },
            {"name": "b", "weight": 400, "weightType": "fix", "stickiness": "userId"},
        ],
        "parameters": parameters,
        "segments": [numbers[0], numbers[2]],
    }
    assert event["pre_data"] == expected
    assert list(event["pre_data"]["parameters"]) == list(parameters)
    assert [list(constraint) for constraint in event["pre_data"]["constraints"]] == [
        list(constraint) for constraint in constraints
    ]
    assert event["type"] == "feature-strategy-remove"
    assert event["data"] is None
    assert (event["project"], event["environment"], event["feature_name"]) == ("default", "development", "f")
    assert event["tags"] == [{"type": "simple", "value": "zebra"}, {"type": "simple", "value": "éléphant"}]
    assert (event["created_by"], event["created_by_user_id"]) == ("alice@example.org", alice.id)
    written = value(conn, "SELECT pre_data::text || tags::text FROM events WHERE id = %(id)s", {"id": event["id"]})
    assert "für alle" in written
    assert "🐘" in written
    assert "éléphant" in written


def test_a_bare_strategy_is_recorded_with_empty_lists(world, alice):
    since = world.last_event_id()
    strategy = world.strategy(world.flag("f"), name="default")
    assert deleted(delete(alice, strategy))
    (event,) = world.events(since)
    assert event["tags"] == []
    logged = {key: event["pre_data"][key] for key in ("title", "constraints", "variants", "parameters", "segments")}
    assert logged == {"title": None, "constraints": [], "variants": [], "parameters": {}, "segments": []}


def test_the_author_may_be_a_key(world):
    strategy, key = world.strategy(world.flag("f")), world.api_key(name="the pipeline's key")
    since = world.last_event_id()
    assert deleted(delete(key, strategy))
    assert [(event["created_by"], event["created_by_user_id"]) for event in world.events(since)] == [
        ("the pipeline's key", None)
    ]


def test_deleting_the_last_enabled_strategy_switches_the_environment_off_first(world, alice, conn):
    flag, other = (
        world.flag("f", enabled_in=("development", "production")),
        world.flag("g", enabled_in=("development",)),
    )
    fixtures.tag(conn, flag, "simple", "beta")
    last = world.strategy(flag)
    for elsewhere in ((flag, "production"), (other, "development")):
        world.strategy(*elsewhere)
    since = world.last_event_id()
    assert deleted(delete(alice, last))
    assert switched_on(conn) == ["f/production", "g/development"]
    off, removed = world.events(since)
    assert (off["type"], removed["type"]) == ("feature-environment-disabled", "feature-strategy-remove")
    assert off["data"] is off["pre_data"] is None
    for column in ("project", "environment", "feature_name", "tags", "created_by", "created_by_user_id"):
        assert off[column] == removed[column]
    assert (off["project"], off["environment"], off["feature_name"]) == ("default", "development", "f")
    assert off["tags"] == [{"type": "simple", "value": "beta"}]
    assert (off["created_by"], off["created_by_user_id"]) == ("alice@example.org", alice.id)


@pytest.mark.parametrize(
    ("on", "removed_is_disabled", "others_disabled", "goes_off"),
    [
        (True, False, [], True),
        (True, False, [True], True),
        (True, False, [True, True], True),
        (True, False, [False], False),
        (True, False, [True, False], False),
        (True, True, [False], False),
        (True, True, [True], False),
        (True, True, [], False),
        (False, False, [], False),
        (False, False, [True], False),
        (False, True, [], False),
        (False, False, [False], False),
    ],
)
def test_an_environment_goes_off_only_with_its_last_enabled_strategy(
    world, alice, conn, on, removed_is_disabled, others_disabled, goes_off
):
    flag = world.flag("f", enabled_in=("development",) if on else ())
    removed = world.strategy(flag, disabled=removed_is_disabled)
    others = {world.strategy(flag, disabled=disabled) for disabled in others_disabled}
    since = world.last_event_id()
    assert deleted(delete(alice, removed))
    assert switched_on(conn) == (["f/development"] if on and not goes_off else [])
    assert {row["id"] for row in rows(conn, "SELECT id FROM strategies")} == others
    types = [event["type"] for event in world.events(since)]
    assert types == ["feature-environment-disabled"] * goes_off + ["feature-strategy-remove"]
    assert world.events(since)[-1]["pre_data"]["disabled"] is removed_is_disabled


def test_all_strategies_go_one_after_the_other_and_the_last_switches_off(world, alice, conn):
    flag = world.flag("f", enabled_in=("development",))
    ids = [world.strategy(flag) for _ in range(3)]
    since = world.last_event_id()
    assert all(deleted(delete(alice, strategy)) for strategy in ids)
    assert [event["type"] for event in world.events(since)] == [
        *["feature-strategy-remove"] * 2,
        "feature-environment-disabled",
        "feature-strategy-remove",
    ]
    assert switched_on(conn) == []
    refused(delete(alice, ids[0]), 404, "NotFoundError")


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/json", "application/json; charset=utf-16", "nonsense", None]
)
@pytest.mark.parametrize("body", [b"", b"{not json", b"\xff\xfe", b'{"id": 1}', b"[" * 10_000])
def test_any_body_of_any_type_is_accepted(world, alice, conn, body, content_type):
    strategy = world.strategy(world.flag("f"))
    assert deleted(delete(alice, strategy, data=body, content_type=content_type))
    assert not is_there(conn, strategy)


@pytest.mark.parametrize("unwritable", ["feature-strategy-remove", "feature-environment-disabled"])
def test_a_deletion_is_rolled_back_if_its_events_fail(world, alice, conn, unwritable):
    flag = world.flag("f", enabled_in=("development",))
    strategy = world.strategy(flag)
    fixtures.insert_variant(conn, flag, "development", strategy, name="a", weight=1000)
    since = world.last_event_id()
    conn.execute(f"ALTER TABLE events ADD CONSTRAINT refuse CHECK (type <> '{unwritable}') NOT VALID")
    refused(delete(alice, strategy), 500, "InternalError")
    assert is_there(conn, strategy)
    assert value(conn, "SELECT count(*) FROM variants") == 1
    assert switched_on(conn) == ["f/development"]
    assert world.events(since) == []
