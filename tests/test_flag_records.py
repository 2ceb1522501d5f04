"""The record of a flag in the single read, field by field, as its statement gives it."""

import json

from sql import flag_records, flags, strategies, value


def read(conn, name="f", user_id=None, project="default"):
    """The Flag record, or None."""
    text = flag_records.get(conn, project, name, user_id)
    return None if text is None else json.loads(text)


def test_a_bare_flag_has_every_required_field_and_nothing_that_is_unset(world, conn):
    world.flag("f", created_at="2024-03-01T10:20:30.456Z")
    place = {
        "enabled": False,
        "variantCount": 0,
        "hasStrategies": False,
        "hasEnabledStrategies": False,
        "lastSeenAt": None,
        "strategies": [],
        "variants": [],
        "yes": 0,
        "no": 0,
    }
    assert read(conn) == {
        "name": "f",
        "type": "release",
        "description": None,
        "project": "default",
        "stale": False,
        "impressionData": False,
        "archived": False,
        "createdAt": "2024-03-01T10:20:30.456Z",
        "archivedAt": None,
        "lastSeenAt": None,
        "environments": [
            {"name": name, "environment": name, "type": name, "sortOrder": order} | place
            for order, name in enumerate(("development", "production"), 1)
        ],
        "favorite": False,
        "tags": [],
        "children": [],
        "dependencies": [],
        "variants": [],
        "lifecycle": {"stage": "initial", "enteredStageAt": "2024-03-01T10:20:30.456Z"},
        "collaborators": {"users": []},
    }


def test_only_a_live_flag_of_that_project_is_read(world, conn):
    world.project("apollo")
    world.flag("here")
    world.flag("gone", archived_at=value(conn, "SELECT now()"))
    assert read(conn, "here") is not None
    for name, project in (("gone", "default"), ("here", "apollo"), ("nowhere", "default"), ("here", "nowhere")):
        assert read(conn, name, project=project) is None


def test_an_environment_holds_its_strategies_in_order_and_its_variants(world, conn):
    flag = world.flag("f", enabled_in=("production",))
    later = world.strategy(flag, "production", sort_order=1, parameters={"rollout": "5"})
    first = world.strategy(flag, "production", sort_order=0, disabled=True, title="half")
    strategies.insert_variant(conn, flag, "production", later, name="of-strategy", weight=1000)
    strategies.insert_variant(conn, flag, "production", None, name="b", weight=500)
    strategies.insert_variant(conn, flag, "production", None, name="a", weight=500, payload_type="string", payload_value="x")
    development, production = read(conn)["environments"]
    assert (development["variantCount"], development["hasStrategies"]) == (0, False)
    assert (production["enabled"], production["variantCount"]) == (True, 2)
    assert (production["hasStrategies"], production["hasEnabledStrategies"]) == (True, True)
    assert [strategy["id"] for strategy in production["strategies"]] == [first, later]
    assert production["strategies"][0]["title"] == "half"
    assert [variant["name"] for variant in production["strategies"][1]["variants"]] == ["of-strategy"]
    assert production["variants"] == [
        {
            "name": "a",
            "weight": 500,
            "weightType": "variable",
            "stickiness": "default",
            "payload": {"type": "string", "value": "x"},
            "overrides": [],
        },
        {"name": "b", "weight": 500, "weightType": "variable", "stickiness": "default", "overrides": []},
    ]
    assert read(conn)["variants"] == production["variants"]


def test_the_lock_gives_what_the_log_says_of_a_flag(world, conn):
    flag = world.flag("f", description="d")
    flags.tag(conn, flag, "simple", "beta")
    locked = flags.lock(conn, "default", "f")
    assert locked is not None
    assert {key: locked[key] for key in ("id", "name", "project_id", "type", "archived_at")} == {
        "id": flag,
        "name": "f",
        "project_id": "default",
        "type": "release",
        "archived_at": None,
    }
    assert locked["tags"] == [{"type": "simple", "value": "beta"}]
    assert (locked["record"]["name"], locked["record"]["description"], locked["record"]["archivedAt"]) == ("f", "d", None)
    assert flags.lock_anywhere(conn, "f") == locked
    assert flags.lock(conn, "apollo", "f") is flags.lock_anywhere(conn, "g") is None
