"""Variants of a flag: read, set and patched in one environment, in several, and in all."""

from typing import Any

import pytest
from werkzeug.test import TestResponse

from sql.database import Connection, as_json, rows, value
from sql.people import roles
from tests.support import fixtures
from tests.support.documents import bring_in, document, state, validated
from tests.support.fingerprint import fingerprint
from tests.support.flag_environments import path
from tests.support.flags import BETA, FLAGS, event, recorded
from tests.support.strategies import tagged_flag
from tests.support.world import Caller, World, refused

EVERYWHERE, BATCH = f"{FLAGS}/f/variants", f"{FLAGS}/f/variants-batch"
BLUE = {"name": "blue", "weight": 500, "weightType": "variable", "stickiness": "default", "overrides": []}
RED = BLUE | {"name": "red"}
ALONE = BLUE | {"weight": 1000}
OF_USER = [{"contextName": "userId", "values": ["7", "3"]}]


def put(caller: Caller, sent: Any, **place: str) -> TestResponse:
    """Set the variants of a flag in an environment."""
    return caller.put(path("/variants", **place), json=sent)


def patch(caller: Caller, *steps: Any, path: str = path("/variants")) -> TestResponse:
    """Patch the variants of a flag, by default in development."""
    return caller.request("PATCH", path, json=list(steps))


def put_batch(caller: Caller, variants: Any, *environments: str) -> TestResponse:
    """Set the variants of a flag in several environments."""
    return caller.put(BATCH, json={"variants": variants, "environments": list(environments)})


def seen(caller: Caller, environment: str = "development") -> list[dict[str, Any]]:
    """The variants as they are read."""
    answer = caller.get(path("/variants", environment=environment)).json
    assert answer["version"] == 1
    return answer["variants"]


def updated(environment: str, before: list[Any], after: list[Any]) -> dict[str, Any]:
    """The event of a change of the variants of flag f."""
    change: dict[str, Any] = {"environment": environment, "data": {"variants": after}, "pre_data": {"variants": before}}
    return event("feature-environment-variants-updated", tags=[BETA], **change)


def stored(world: World) -> list[tuple[str, str, int]]:
    """The variants of flags: environment, name and weight."""
    statement = """
        SELECT environment, name, weight FROM variants WHERE strategy_id IS NULL ORDER BY environment, name
    """
    return [tuple(row.values()) for row in rows(world.conn, statement)]


@pytest.fixture
def flag(world: World) -> int:
    """Flag f with variants blue and red in development, another one in production, and one of a strategy."""
    flag = tagged_flag(world)
    for name in ("red", "blue"):
        fixtures.insert_variant(world.conn, flag, "development", None, name=name, weight=500)
    fixtures.insert_variant(world.conn, flag, "production", None, name="elsewhere", weight=1000)
    fixtures.insert_variant(world.conn, flag, "development", world.strategy(flag), name="of the strategy", weight=1000)
    return flag


@pytest.mark.usefixtures("flag")
def test_variants_of_the_flag_itself_are_read(alice):
    assert alice.get(path("/variants")).json == {"version": 1, "variants": [BLUE, RED]}
    assert [variant["name"] for variant in seen(alice, "production")] == ["elsewhere"]


@pytest.mark.usefixtures("flag")
def test_variants_are_set_with_all_that_they_can_have(world, alice, conn):
    elephant = {"name": "éléphant", "weight": 400, "weightType": "fix", "stickiness": "userId", "overrides": OF_USER}
    elephant["payload"] = {"type": "json", "value": '{"z": 1, "a": 2}'}
    sent = [{"name": "zebra", "weight": 1}, elephant, {"name": "ant", "weight": 1000, "stickiness": "random"}]
    since = world.last_event_id()
    answer = put(alice, sent)
    assert answer.status_code == 200
    ant, zebra = BLUE | {"name": "ant", "weight": 300, "stickiness": "random"}, BLUE | {"name": "zebra", "weight": 300}
    created = {variant["name"]: variant for variant in answer.json["variants"]}
    assert created == {"ant": ant, "zebra": zebra, "éléphant": elephant}
    assert answer.json == {"version": 1, "variants": seen(alice)}
    assert recorded(world, since, alice) == [updated("development", [BLUE, RED], seen(alice))]
    since = world.last_event_id()
    before = seen(alice)
    assert put(alice, []).json == {"version": 1, "variants": []}
    assert recorded(world, since, alice) == [updated("development", before, [])]
    left = {row["name"] for row in rows(conn, "SELECT name FROM variants")}
    assert left == {"elsewhere", "of the strategy"}


@pytest.mark.parametrize(("number", "weights"), [(1, [1000]), (3, [334, 333, 333]), (7, [143] * 6 + [142])])
def test_weights_are_a_thousand_together(world, alice, number, weights):
    world.flag("f")
    sent = [{"name": f"v{place}", "weight": place} for place in reversed(range(number))]
    assert [variant["weight"] for variant in put(alice, sent).json["variants"]] == weights


@pytest.mark.usefixtures("flag")
def test_the_same_variants_are_not_recorded(world, alice):
    since = world.last_event_id()
    assert put(alice, [RED, BLUE | {"weight": 7}]).json["variants"] == [BLUE, RED]
    assert patch(alice).json["variants"] == [BLUE, RED]
    assert put_batch(alice, [BLUE, RED], "development").status_code == 200
    assert world.events(since) == []


X = BLUE | {"name": "x", "weightType": "fix", "weight": 600}


@pytest.mark.parametrize(
    ("field", "sent"),
    [
        ("body", {}),
        ("body", [BLUE, BLUE]),
        ("body", [BLUE | {"weightType": "fix"}]),
        ("body", [BLUE, X, X | {"name": "y"}]),
        ("0", [None]),
        ("0.name", [{"weight": 1}]),
        ("0.name", [BLUE | {"name": ""}]),
        ("0.weight", [{"name": "blue"}]),
        ("0.weight", [BLUE | {"weight": -1}]),
        ("1.weightType", [BLUE, RED | {"weightType": "other"}]),
        ("0.payload.type", [BLUE | {"payload": {"type": "xml", "value": ""}}]),
        ("0.payload.value", [BLUE | {"payload": {"type": "json", "value": "{"}}]),
        ("0.overrides.0.contextName", [BLUE | {"overrides": [{"values": []}]}]),
        ("0.more", [BLUE | {"more": 1}]),
    ],
)
@pytest.mark.usefixtures("flag")
def test_invalid_variants_are_refused(alice, conn, field, sent):
    before = fingerprint(conn)
    for response in (put(alice, sent), alice.put(EVERYWHERE, json=sent)):
        assert refused(response).startswith(f"{field}: ")
    for where in (path("/variants"), EVERYWHERE):
        message = refused(patch(alice, {"op": "replace", "path": "", "value": sent}, path=where))
        assert field == "body" or f"{field}: " in message
    refused(put_batch(alice, sent, "development"))
    assert fingerprint(conn) == before


@pytest.mark.usefixtures("flag")
def test_an_override_needs_an_existing_context_field(alice: Caller, conn: Connection) -> None:
    ghost = BLUE | {"overrides": [*OF_USER, {"contextName": "ghost", "values": ["5"]}]}
    message = "variants.0.overrides.1.contextName: must be an existing context field, not ghost"
    before = fingerprint(conn)
    sent = [ghost, RED]
    for response in (put(alice, sent), alice.put(EVERYWHERE, json=sent), put_batch(alice, sent, "production")):
        assert refused(response) == message
    assert refused(patch(alice, {"op": "replace", "path": "/0", "value": ghost})) == message
    data = document("f", featureEnvironments=[state(variants=[ghost])])
    assert validated(alice, data)["errors"] == {message: ["f"]}
    assert fingerprint(conn) == before
    bring_in(alice, data | {"contextFields": [{"name": "ghost"}]})
    assert seen(alice)[0]["overrides"] == ghost["overrides"]


def test_a_stored_override_can_be_kept(world: World, alice: Caller, flag: int) -> None:
    gone = [{"contextName": "gone", "values": ["5"]}]
    fixtures.insert_variant(world.conn, flag, "development", None, name="g", weight=1, overrides=as_json(gone))
    assert put(alice, [RED | {"overrides": gone}]).status_code == 200
    assert seen(alice)[0]["overrides"] == gone


# --- Patches ----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("flag")
def test_variants_are_patched_and_balanced(world, alice):
    since = world.last_event_id()
    answer = patch(
        alice,
        {"op": "test", "path": "/0/name", "value": "blue"},
        {"op": "replace", "path": "/1/weightType", "value": "fix"},
        {"op": "replace", "path": "/1/weight", "value": 100},
        {"op": "add", "path": "/0/overrides/-", "value": OF_USER[0]},
        {"op": "add", "path": "/-", "value": {"name": "a new one", "weight": 0}},
    )
    assert answer.status_code == 200
    expected = [
        BLUE | {"name": "a new one", "weight": 450},
        BLUE | {"weight": 450, "overrides": OF_USER},
        RED | {"weight": 100, "weightType": "fix"},
    ]
    assert answer.json == {"version": 1, "variants": expected}
    assert seen(alice) == expected
    assert recorded(world, since, alice) == [updated("development", [BLUE, RED], expected)]


@pytest.mark.parametrize(
    ("says", "step"),
    [
        ("0.path", {"op": "replace", "path": "/3/weight", "value": 1}),
        ("0.path", {"op": "remove", "path": ""}),
        ("0.path", {"op": "test", "path": "/0/name", "value": "red"}),
        ("0.from", {"op": "move", "path": "/0"}),
        ("0.op", {"op": "merge", "path": "/0", "value": 1}),
        ("0.more", {"op": "remove", "path": "/0", "more": 1}),
        ("0.name: is required", {"op": "remove", "path": "/0/name"}),
        ("a name twice", {"op": "copy", "path": "/-", "from": "/0"}),
        ("must be a list", {"op": "replace", "path": "", "value": {}}),
        ("must not be null", {"op": "replace", "path": "", "value": None}),
        ("0: must be a JSON object", "remove"),
    ],
)
@pytest.mark.usefixtures("flag")
def test_an_invalid_patch_is_refused(alice, conn, says, step):
    before = fingerprint(conn)
    for where in (path("/variants"), EVERYWHERE):
        assert says in refused(patch(alice, step, path=where))
    assert fingerprint(conn) == before


@pytest.mark.usefixtures("flag")
def test_a_patch_is_a_list_of_type_json(alice):
    refused(alice.request("PATCH", path("/variants"), json={"op": "remove", "path": "/0"}))
    media_type = "application/json-patch+json"
    refused(alice.request("PATCH", path("/variants"), data=b"[]", content_type=media_type), 415, "ContentTypeError")


# --- Several environments ---------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("flag")
def test_variants_are_set_in_several_environments(world, alice, conn):
    old, since = seen(alice, "production"), world.last_event_id()
    answer = put_batch(alice, [BLUE], "production", "development", "production")
    assert answer.json == {"version": 1, "variants": [ALONE]}
    assert (seen(alice), seen(alice, "production")) == ([ALONE], [ALONE])
    assert recorded(world, since, alice) == [
        updated("production", old, [ALONE]),
        updated("development", [BLUE, RED], [ALONE]),
    ]
    assert value(conn, "SELECT count(*) FROM variants WHERE strategy_id IS NOT NULL") == 1


@pytest.mark.parametrize(
    "sent",
    [
        {"variants": [BLUE]},
        {"environments": ["development"]},
        {"variants": [BLUE], "environments": []},
        {"variants": [BLUE], "environments": ["development", "unlinked"]},
        {"variants": [BLUE], "environments": ["development", "unknown"]},
        {"variants": [BLUE], "environments": ["development"], "more": 1},
    ],
)
@pytest.mark.usefixtures("flag")
def test_an_invalid_batch_is_refused(alice, conn, sent):
    conn.execute("INSERT INTO environments (name, type, sort_order) VALUES ('unlinked', 'test', 9)")
    before = fingerprint(conn)
    refused(alice.put(BATCH, json=sent))
    assert fingerprint(conn) == before


def test_an_archived_flag_has_no_variants(world, alice):
    world.flag("f", archived_at=value(world.conn, "SELECT now()"))
    refused(put_batch(alice, [], "development"), 404, "NotFoundError")
    refused(alice.get(EVERYWHERE), 404, "NotFoundError")
    for method in ("PUT", "PATCH"):
        refused(alice.request(method, EVERYWHERE, json=[]), 404, "NotFoundError")


@pytest.mark.usefixtures("flag")
def test_a_batch_needs_the_permission_in_every_environment(world, victor, conn):
    role = roles.insert(conn, "Painter")
    fixtures.allow(conn, role, "UPDATE_FEATURE_ENVIRONMENT_VARIANTS", environment="development")
    world.member("default", victor, role)
    before = fingerprint(conn)
    refused(put_batch(victor, [BLUE], "development", "production"), 403, "NoAccessError")
    refused(put(victor, [BLUE], environment="production"), 403, "NoAccessError")
    assert fingerprint(conn) == before
    assert put_batch(victor, [BLUE], "development").status_code == 200
    assert put(victor, []).status_code == 200


# --- All environments (deprecated) ------------------------------------------------------------------------------------


def test_the_variants_of_all_environments_are_listed_once(world, alice, victor, flag):
    fixtures.insert_variant(world.conn, flag, "production", None, name="red", weight=999)
    assert victor.get(EVERYWHERE).json["variants"] == [BLUE, seen(alice, "production")[0], RED]
    world.flag("g")
    assert victor.get(f"{FLAGS}/g/variants").json == {"version": 1, "variants": []}


@pytest.mark.usefixtures("flag")
def test_variants_are_set_in_all_environments_and_each_change_is_recorded(world, alice, conn):
    fixtures.insert(conn, "environments", name="staging", type="test", sort_order=9)
    fixtures.add_project_environment(conn, "default", "staging")
    fixtures.insert(conn, "environments", name="elsewhere", type="test", sort_order=9)
    world.project("hermes", environments=("elsewhere",))
    old, since = seen(alice, "production"), world.last_event_id()
    green = BLUE | {"name": "green"}
    assert alice.put(EVERYWHERE, json=[green, BLUE]).json == {"version": 1, "variants": [BLUE, green]}
    places = ("development", "production", "staging")
    assert stored(world) == [(place, name, 500) for place in places for name in ("blue", "green")]
    before = ([BLUE, RED], old, [])
    assert recorded(world, since, alice) == [
        updated(place, variants, [BLUE, green]) for place, variants in zip(places, before, strict=True)
    ]
    assert value(conn, "SELECT count(*) FROM variants WHERE strategy_id IS NOT NULL") == 1
    since = world.last_event_id()
    assert alice.put(EVERYWHERE, json=[BLUE, green]).status_code == 200
    assert patch(alice, path=EVERYWHERE).status_code == 200
    assert world.events(since) == []


@pytest.mark.usefixtures("flag")
def test_a_patch_of_the_whole_list_is_set_in_all_environments(world, alice):
    steps = [{"op": "replace", "path": "/1/name", "value": "green"}, {"op": "remove", "path": "/2"}]
    answer = patch(alice, *steps, {"op": "test", "path": "/0/weight", "value": 500}, path=EVERYWHERE)
    assert answer.json == {"version": 1, "variants": [BLUE, BLUE | {"name": "green"}]}
    assert stored(world) == [(p, name, 500) for p in ("development", "production") for name in ("blue", "green")]
    assert alice.put(EVERYWHERE, json=[]).json == {"version": 1, "variants": []}
    assert stored(world) == []


@pytest.mark.usefixtures("flag")
def test_the_permission_is_that_for_all_environments(world, victor, conn):
    for name, permission in (("One", "UPDATE_FEATURE_ENVIRONMENT_VARIANTS"), ("All", "UPDATE_FEATURE_VARIANTS")):
        refused(victor.put(EVERYWHERE, json=[]), 403, "NoAccessError")
        refused(patch(victor, path=EVERYWHERE), 403, "NoAccessError")
        role = roles.insert(conn, name)
        fixtures.allow(conn, role, permission)
        world.member("default", victor, role)
    assert victor.put(EVERYWHERE, json=[]).status_code == patch(victor, path=EVERYWHERE).status_code == 200
