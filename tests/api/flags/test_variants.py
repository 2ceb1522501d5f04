"""Variants of a flag in an environment: to see them, to set them in one or in several, and to patch them."""

from typing import Any

import pytest
from werkzeug.test import TestResponse

from sql.database import Connection, rows, value
from sql.people import roles
from tests.support import fixtures
from tests.support.flag_environments import path, recorded
from tests.support.strategies import tagged_flag
from tests.support.world import Caller, World, refused

BLUE = {"name": "blue", "weight": 500, "weightType": "variable", "stickiness": "default", "overrides": []}
RED = BLUE | {"name": "red"}
ALONE = BLUE | {"weight": 1000}


def put(caller: Caller, sent: Any, **place: str) -> TestResponse:
    """Set the variants of a flag."""
    return caller.put(path("/variants", **place), json=sent)


def patch(caller: Caller, *steps: Any) -> TestResponse:
    """Change the variants of a flag."""
    return caller.request("PATCH", path("/variants"), json=list(steps))


def put_batch(caller: Caller, sent: Any) -> TestResponse:
    """Set the variants of a flag in several environments."""
    return caller.put("/api/admin/projects/default/features/f/variants-batch", json=sent)


def kept(conn: Connection) -> list[Any]:
    """All variants."""
    return rows(conn, "SELECT environment, strategy_id, name, weight FROM variants ORDER BY id")


def seen(caller: Caller, environment: str = "development") -> list[dict[str, Any]]:
    """The variants as they are read."""
    answer = caller.get(path("/variants", environment=environment)).json
    assert answer["version"] == 1
    return answer["variants"]


def with_variants(world: World) -> int:
    """Flag f, blue and red in development, and with others elsewhere."""
    flag = tagged_flag(world)
    for name in ("red", "blue"):
        fixtures.insert_variant(world.conn, flag, "development", None, name=name, weight=500)
    fixtures.insert_variant(world.conn, flag, "production", None, name="elsewhere", weight=1000)
    fixtures.insert_variant(world.conn, flag, "development", world.strategy(flag), name="of the strategy", weight=1000)
    return flag


def test_the_flags_own_variants_are_seen(world, alice):
    with_variants(world)
    assert alice.get(path("/variants")).json == {"version": 1, "variants": [BLUE, RED]}
    assert [variant["name"] for variant in seen(alice, "production")] == ["elsewhere"]


def test_variants_are_set_with_all_that_they_can_have(world, alice, conn):
    with_variants(world)
    sent = [
        {"name": "zebra", "weight": 1},
        {
            "name": "éléphant",
            "weight": 400,
            "weightType": "fix",
            "stickiness": "userId",
            "payload": {"type": "json", "value": '{"z": 1, "a": 2}'},
            "overrides": [{"contextName": "userId", "values": ["7", "3"]}],
        },
        {"name": "ant", "weight": 1000, "stickiness": "random"},
    ]
    since = world.last_event_id()
    answer = put(alice, sent)
    assert answer.status_code == 200
    created = {variant["name"]: variant for variant in answer.json["variants"]}
    assert created == {
        "ant": {"name": "ant", "weight": 300, "weightType": "variable", "stickiness": "random", "overrides": []},
        "zebra": {"name": "zebra", "weight": 300, "weightType": "variable", "stickiness": "default", "overrides": []},
        "éléphant": sent[1],
    }
    assert answer.json == {"version": 1, "variants": seen(alice)}
    assert recorded(world, since) == ["feature-environment-variants-updated"]
    (event,) = world.events(since)
    assert (event["data"], event["pre_data"]) == ({"variants": seen(alice)}, {"variants": [BLUE, RED]})
    assert (event["created_by_user_id"], event["feature_name"]) == (alice.id, "f")
    others = {variant["name"] for variant in kept(conn)} - set(created)
    assert others == {"elsewhere", "of the strategy"}


@pytest.mark.parametrize(("number", "weights"), [(1, [1000]), (3, [334, 333, 333]), (7, [143] * 6 + [142])])
def test_weights_are_a_thousand_together(world, alice, number, weights):
    world.flag("f")
    sent = [{"name": f"v{place}", "weight": place} for place in reversed(range(number))]
    assert [variant["weight"] for variant in put(alice, sent).json["variants"]] == weights


def test_an_empty_list_clears(world, alice):
    with_variants(world)
    since = world.last_event_id()
    assert put(alice, []).json == {"version": 1, "variants": []}
    (event,) = world.events(since)
    assert (event["data"], event["pre_data"]) == ({"variants": []}, {"variants": [BLUE, RED]})


def test_the_same_variants_are_not_recorded(world, alice):
    with_variants(world)
    since = world.last_event_id()
    assert put(alice, [RED, BLUE | {"weight": 7}]).json["variants"] == [BLUE, RED]
    assert patch(alice).json["variants"] == [BLUE, RED]
    assert put_batch(alice, {"variants": [BLUE, RED], "environments": ["development"]}).status_code == 200
    assert world.events(since) == []


REFUSED: list[tuple[str, Any]] = [
    ("body", {}),
    ("body", [BLUE, BLUE]),
    ("body", [BLUE | {"weightType": "fix"}]),
    (
        "body",
        [BLUE, RED | {"weightType": "fix", "weight": 600}, RED | {"name": "x", "weightType": "fix", "weight": 600}],
    ),
    ("0", [None]),
    ("0.name", [{"weight": 1}]),
    ("0.name", [BLUE | {"name": ""}]),
    ("0.weight", [{"name": "blue"}]),
    ("0.weight", [BLUE | {"weight": 5.5}]),
    ("0.weight", [BLUE | {"weight": -1}]),
    ("1.weightType", [BLUE, RED | {"weightType": "other"}]),
    ("0.payload.type", [BLUE | {"payload": {"type": "xml", "value": ""}}]),
    ("0.payload.value", [BLUE | {"payload": {"type": "json", "value": "{"}}]),
    ("0.overrides.0.contextName", [BLUE | {"overrides": [{"values": []}]}]),
    ("0.more", [BLUE | {"more": 1}]),
]


@pytest.mark.parametrize(("field", "sent"), REFUSED)
def test_an_invalid_body_is_refused_and_changes_nothing(world, alice, conn, field, sent):
    with_variants(world)
    before, since = kept(conn), world.last_event_id()
    assert refused(put(alice, sent)).startswith(f"{field}: ")
    message = refused(patch(alice, {"op": "replace", "path": "", "value": sent}))
    assert field == "body" or f"{field}: " in message
    assert put_batch(alice, {"variants": sent, "environments": ["development"]}).status_code == 400
    assert (kept(conn), world.events(since)) == (before, [])


# --- Patches ----------------------------------------------------------------------------------------------------------


def test_variants_are_patched_and_balanced(world, alice):
    with_variants(world)
    since = world.last_event_id()
    steps = (
        {"op": "test", "path": "/0/name", "value": "blue"},
        {"op": "replace", "path": "/1/weightType", "value": "fix"},
        {"op": "replace", "path": "/1/weight", "value": 100},
        {"op": "add", "path": "/0/overrides/-", "value": {"contextName": "userId", "values": ["7"]}},
        {"op": "add", "path": "/-", "value": {"name": "a new one", "weight": 0}},
    )
    answer = patch(alice, *steps)
    assert answer.status_code == 200
    overrides = [{"contextName": "userId", "values": ["7"]}]
    expected = [
        BLUE | {"name": "a new one", "weight": 450},
        BLUE | {"weight": 450, "overrides": overrides},
        RED | {"weight": 100, "weightType": "fix"},
    ]
    assert answer.json == {"version": 1, "variants": expected}
    assert seen(alice) == expected
    assert recorded(world, since) == ["feature-environment-variants-updated"]
    (event,) = world.events(since)
    assert (event["data"], event["pre_data"]) == ({"variants": expected}, {"variants": [BLUE, RED]})


@pytest.mark.parametrize(
    ("says", "step"),
    [
        ("0.path", {"op": "replace", "path": "/2/weight", "value": 1}),
        ("0.path", {"op": "remove", "path": "/0/payload"}),
        ("0.path", {"op": "remove", "path": ""}),
        ("0.path", {"op": "test", "path": "/0/name", "value": "red"}),
        ("0.from", {"op": "move", "path": "/0"}),
        ("0.op", {"op": "merge", "path": "/0", "value": 1}),
        ("0.more", {"op": "remove", "path": "/0", "more": 1}),
        ("0.name", {"op": "remove", "path": "/0/name"}),
        ("0.weight", {"op": "replace", "path": "/0/weight", "value": "1"}),
        ("0.more", {"op": "add", "path": "/0/more", "value": 1}),
        ("a name twice", {"op": "copy", "path": "/-", "from": "/0"}),
        ("must be a list", {"op": "replace", "path": "", "value": {}}),
        ("must not be null", {"op": "replace", "path": "", "value": None}),
        ("0: must be a JSON object", "remove"),
    ],
)
def test_a_patch_that_cannot_be_done_or_makes_no_variants_is_refused(world, alice, conn, says, step):
    with_variants(world)
    before, since = kept(conn), world.last_event_id()
    assert says in refused(patch(alice, step))
    assert (kept(conn), world.events(since)) == (before, [])


def test_a_patch_is_a_list(world, alice):
    with_variants(world)
    refused(alice.request("PATCH", path("/variants"), json={"op": "remove", "path": "/0"}))
    refused(alice.request("PATCH", path("/variants")))
    media_type = "application/json-patch+json"
    refused(alice.request("PATCH", path("/variants"), data=b"[]", content_type=media_type), 415, "ContentTypeError")


# --- Several environments ---------------------------------------------------------------------------------------------


def test_variants_are_set_in_several_environments(world, alice, conn):
    with_variants(world)
    since = world.last_event_id()
    sent = {"variants": [BLUE], "environments": ["production", "development", "production"]}
    assert put_batch(alice, sent).json == {"version": 1, "variants": [ALONE]}
    assert (seen(alice), seen(alice, "production")) == ([ALONE], [ALONE])
    events = world.events(since)
    assert [(event["type"], event["environment"]) for event in events] == [
        ("feature-environment-variants-updated", "production"),
        ("feature-environment-variants-updated", "development"),
    ]
    assert [event["data"] for event in events] == [{"variants": [ALONE]}] * 2
    assert [[variant["name"] for variant in event["pre_data"]["variants"]] for event in events] == [
        ["elsewhere"],
        ["blue", "red"],
    ]
    assert {event["feature_name"] for event in events} == {"f"}
    assert value(conn, "SELECT count(*) FROM variants WHERE strategy_id IS NOT NULL") == 1


@pytest.mark.parametrize(
    "sent",
    [
        {},
        [],
        {"variants": [BLUE]},
        {"environments": ["development"]},
        {"variants": [BLUE], "environments": []},
        {"variants": [BLUE], "environments": ["development", "unlinked"]},
        {"variants": [BLUE], "environments": ["development", "unknown"]},
        {"variants": [BLUE], "environments": "development"},
        {"variants": None, "environments": ["development"]},
        {"variants": [BLUE], "environments": ["development"], "more": 1},
    ],
)
def test_a_batch_that_does_not_fit_is_refused_and_nothing_changes(world, alice, conn, sent):
    conn.execute("INSERT INTO environments (name, type, sort_order) VALUES ('unlinked', 'test', 9)")
    with_variants(world)
    before, since = kept(conn), world.last_event_id()
    refused(put_batch(alice, sent))
    assert (kept(conn), world.events(since)) == (before, [])


def test_a_batch_for_a_flag_that_is_not_there_is_404(world, alice):
    world.flag("f", archived_at=value(world.conn, "SELECT now()"))
    refused(put_batch(alice, {"variants": [], "environments": ["development"]}), 404, "NotFoundError")


def test_a_batch_needs_the_permission_in_every_environment(world, victor, conn):
    with_variants(world)
    role = roles.insert(conn, "Painter")
    fixtures.allow(conn, role, "UPDATE_FEATURE_ENVIRONMENT_VARIANTS", environment="development")
    world.member("default", victor, role)
    before = kept(conn)
    refused(
        put_batch(victor, {"variants": [BLUE], "environments": ["development", "production"]}), 403, "NoAccessError"
    )
    refused(put(victor, [BLUE], environment="production"), 403, "NoAccessError")
    assert kept(conn) == before
    assert put_batch(victor, {"variants": [BLUE], "environments": ["development"]}).status_code == 200
    assert put(victor, []).status_code == 200


def test_a_change_is_rolled_back_if_its_events_fail(world, alice, conn):
    with_variants(world)
    before = kept(conn)
    conn.execute("ALTER TABLE events ADD CONSTRAINT refuse CHECK (environment <> 'production') NOT VALID")
    refused(put_batch(alice, {"variants": [], "environments": ["development", "production"]}), 500, "InternalError")
    assert kept(conn) == before
