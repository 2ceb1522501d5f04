"""Undo of an event: each type of change, later changes, permissions and visibility."""

from typing import Any

import pytest

from rules.access import SYSTEM
from rules.undo import UNDO
from sql.database import as_json
from sql.people import roles
from tests.support import fixtures
from tests.support.documents import body, document, strategy
from tests.support.world import Caller, World, refused

PROJECT = "/api/admin/projects/default"
FLAG = f"{PROJECT}/features/f"
HERE = f"{FLAG}/environments/development"
ONE, TWO, OFF = (f"{HERE}/strategies/{name}" for name in ("one", "two", "off"))
TAGS = "/api/admin/features/f/tags"
DEFAULT = f"{PROJECT}/environments/development/default-strategy"
SEGMENT = "/api/admin/segments/1001"
IN = {"contextName": "userId", "operator": "IN", "values": ["7"], "inverted": False, "caseInsensitive": False}
SPLIT = [{"name": name, "weight": 500, "weightType": "variable", "stickiness": "default"} for name in ("b", "a")]
NEW = {"name": "default", "title": "new"}
ROLLOUT = {"name": "flexibleRollout", "parameters": {"rollout": "10", "stickiness": "default", "groupId": "g"}}
Call = tuple[str, str, Any]

# The change before, if there is one.
FIRST: dict[str, Call] = {
    "everything of a strategy": ("PUT", ONE, {"variants": SPLIT, "constraints": [IN]}),
    "strategy removed": ("PUT", ONE, {"variants": SPLIT, "constraints": [IN], "segments": [1001]}),
    "switched off": ("POST", f"{HERE}/on", None),
    "not stale": ("PUT", FLAG, {"stale": True}),
    "revived": ("DELETE", FLAG, None),
    "untagged": ("POST", TAGS, {"type": "simple", "value": "beta"}),
    "default strategy": ("POST", DEFAULT, {**ROLLOUT, "title": "old"}),
}
# The change, then a later change, and how the refusal names it.
CHANGES: dict[str, tuple[Call, Call, str]] = {
    "strategy added": (
        ("POST", f"{HERE}/strategies", NEW),
        ("PUT", f"{HERE}/strategies/{{id}}", {"title": "later"}),
        "title was new, and is later now",
    ),
    "rollout": (
        ("PUT", ONE, {"parameters": {"rollout": "34", "stickiness": "default", "groupId": "f"}}),
        ("PUT", ONE, {"parameters": {"rollout": "50", "stickiness": "default", "groupId": "f"}}),
        "parameters.rollout was 34, and is 50 now",
    ),
    "everything of a strategy": (
        ("PUT", ONE, {**NEW, "disabled": True, "segments": [1001]}),
        ("DELETE", ONE, None),
        "the strategy is deleted now",
    ),
    "strategy removed": (("DELETE", ONE, None), ("POST", "{undo}", None), "the strategy exists now"),
    "order": (
        ("POST", f"{HERE}/strategies/set-sort-order", [{"id": "one", "sortOrder": 30}, {"id": "off", "sortOrder": 10}]),
        ("DELETE", TWO, None),
        'strategyIds was ["off","two","one"], and is ["off","one"] now',
    ),
    "switched on": (("POST", f"{HERE}/on", None), ("POST", f"{HERE}/off", None), "the flag is off in development now"),
    "switched off": (("POST", f"{HERE}/off", None), ("POST", f"{HERE}/on", None), "the flag is on in development now"),
    "variants": (("PUT", f"{HERE}/variants", SPLIT), ("PUT", f"{HERE}/variants", SPLIT[:1]), "variants was ["),
    "metadata": (
        ("PUT", FLAG, {"description": "new", "type": "kill-switch", "impressionData": True}),
        ("PUT", FLAG, {"description": ""}),
        'description was new, and is "" now',
    ),
    "stale": (
        ("POST", f"{PROJECT}/stale", {"features": ["f"], "stale": True}),
        ("PUT", FLAG, {"stale": False}),
        "the flag is not stale now",
    ),
    "not stale": (("PUT", FLAG, {"stale": False}), ("PUT", FLAG, {"stale": True}), "the flag is stale now"),
    "archived": (("DELETE", FLAG, None), ("POST", "/api/admin/archive/revive/f", None), "the flag is not archived now"),
    "revived": (("POST", "/api/admin/archive/revive/f", None), ("DELETE", FLAG, None), "the flag is archived now"),
    "tagged": (
        ("POST", TAGS, {"type": "simple", "value": "beta"}),
        ("DELETE", f"{TAGS}/simple/beta", None),
        "the flag does not have the tag simple:beta now",
    ),
    "untagged": (
        ("DELETE", f"{TAGS}/simple/beta", None),
        ("POST", TAGS, {"type": "simple", "value": "beta"}),
        "the flag has the tag simple:beta now",
    ),
    "segment created": (
        ("POST", "/api/admin/segments", {"name": "new", "constraints": []}),
        ("PUT", "/api/admin/segments/{id}", {"name": "later", "constraints": []}),
        "name was new, and is later now",
    ),
    "segment updated": (
        ("PUT", SEGMENT, {"name": "new", "description": "new", "project": "default", "constraints": []}),
        ("PUT", SEGMENT, {"name": "new", "constraints": []}),
        "project was default, and is not set now",
    ),
    "segment deleted": (("DELETE", SEGMENT, None), ("POST", "{undo}", None), "the segment exists now"),
    "default strategy": (
        ("POST", DEFAULT, {**ROLLOUT, "parameters": {"rollout": "20"}}),
        ("POST", DEFAULT, {**ROLLOUT, "parameters": {"rollout": "30"}}),
        "parameters.rollout was 20, and is 30 now",
    ),
    "first default strategy": (
        ("POST", DEFAULT, ROLLOUT),
        ("POST", DEFAULT, {**ROLLOUT, "title": "later"}),
        "title was not set, and is later now",
    ),
    "project": (
        ("PUT", f"{PROJECT}/settings", {"featureNaming": {"pattern": "[a-z]+"}, "defaultStickiness": "userId"}),
        ("PUT", PROJECT, {"name": "Default", "defaultStickiness": "random"}),
        "defaultStickiness was userId, and is random now",
    ),
}


@pytest.fixture
def alice(world: World) -> Caller:
    """An administrator, with a flag that has two strategies and a disabled one, and a segment."""
    flag = world.flag("f")
    rollout = {"rollout": "25", "stickiness": "default", "groupId": "f"}
    world.strategy(flag, strategy_id="one", sort_order=10, parameters=rollout)
    world.strategy(flag, strategy_id="two", sort_order=20, name="default")
    world.strategy(flag, strategy_id="off", sort_order=30, disabled=True)
    caller = world.user("Alice", 1)
    send(caller, ("POST", "/api/admin/segments", {"name": "s", "constraints": [IN]}))
    world.conn.execute("UPDATE segments SET id = 1001")
    return caller


def send(caller: Caller, call: Call, **names: Any) -> Any:
    """Send a change that succeeds."""
    method, path, body = call
    response = caller.request(method, path.format(**names), **({} if body is None else {"json": body}))
    assert response.status_code < 300, response.text
    return response


def state(caller: Caller) -> dict[str, Any]:
    """Everything that the changes change."""
    paths = (FLAG, f"{HERE}/strategies", f"{HERE}/variants", TAGS, "/api/admin/segments", f"{PROJECT}/overview")
    found = {path: caller.get(path).get_json() for path in (*paths, "/api/admin/environments/project/default")}
    for each in found.values():
        # A refusal has an id, and the rest changes with each event.
        for name in ("id", "collaborators", "updatedAt", "stats") if isinstance(each, dict) else ():
            each.pop(name, None)
    return {path: as_json(each) for path, each in found.items()}


def made(caller: Caller, case: str) -> tuple[dict[str, Any], Any]:
    """Make the change of a case. Return the state before it, and its response."""
    for call in [FIRST[case]] if case in FIRST else []:
        send(caller, call)
    return state(caller), send(caller, CHANGES[case][0])


def undo(caller: Caller, event_id: int | str) -> Any:
    """Undo an event."""
    return caller.post(f"/api/admin/events/{event_id}/undo")


def test_each_type_is_tested(world: World, alice: Caller) -> None:
    found = set()
    for case in CHANGES:
        with world.conn.transaction(force_rollback=True):
            made(alice, case)
            found.add(world.events()[-1]["type"])
    assert found == set(UNDO)


@pytest.mark.parametrize("case", CHANGES)
def test_undo_puts_back_what_changed_and_redo_changes_it_again(world: World, alice: Caller, case: str) -> None:
    before, response = made(alice, case)
    event_id, after = int(response.headers["Event-Id"]), state(alice)
    assert before != after
    response = undo(alice, event_id)
    assert response.status_code == 200, response.text
    assert state(alice) == before
    events = response.get_json()["events"]
    assert {event["undoes"] for event in events} == {event_id}
    assert events[-1]["id"] == world.last_event_id() == int(response.headers["Event-Id"])
    assert all("undoes" not in (event["data"] or ()) for event in events)
    assert undo(alice, events[-1]["id"]).status_code == 200
    assert state(alice) == after or case == "segment created"


@pytest.mark.parametrize("case", CHANGES)
def test_a_later_change_is_409_and_named(world: World, alice: Caller, case: str) -> None:
    _, later, message = CHANGES[case]
    _, response = made(alice, case)
    event_id, names = response.headers["Event-Id"], response.get_json(silent=True)
    send(alice, later, undo=f"/api/admin/events/{event_id}/undo", id=names and names.get("id"))
    before, since = state(alice), world.last_event_id()
    error = "NameExistsError" if message == "the segment exists now" else "ConflictError"
    assert message in refused(undo(alice, event_id), 409, error)
    assert (state(alice), world.last_event_id()) == (before, since)


def test_a_later_change_of_other_properties_stays(alice: Caller) -> None:
    rollout = {"rollout": "34", "stickiness": "default", "groupId": "f"}
    event_id = send(alice, ("PUT", ONE, {"parameters": rollout})).headers["Event-Id"]
    send(alice, ("PUT", ONE, {"title": "later", "parameters": rollout | {"stickiness": "userId"}}))
    assert undo(alice, event_id).status_code == 200
    strategy = alice.get(ONE).get_json()
    assert (strategy["title"], strategy["parameters"]["stickiness"]) == ("later", "userId")
    assert strategy["parameters"]["rollout"] == "25"


def test_a_strategy_returns_without_switching_the_flag_on(world: World, alice: Caller) -> None:
    send(alice, ("POST", f"{HERE}/on", None))
    send(alice, ("DELETE", TWO, None))
    response = send(alice, ("DELETE", ONE, None))
    assert "Event-Id" not in response.headers  # Two events can be undone.
    off, removed = (event["id"] for event in world.events()[-2:])
    assert "no enabled strategy" in refused(undo(alice, off), 409, "ConflictError")
    response = undo(alice, removed)
    assert "did not switch the flag on" in response.get_json()["message"]
    place = alice.get(HERE).get_json()
    assert (place["enabled"], [strategy["id"] for strategy in place["strategies"]]) == (False, ["one", "off"])
    assert undo(alice, off).status_code == 200
    assert alice.get(HERE).get_json()["enabled"]


def test_a_flag_that_loses_its_only_strategy_is_switched_off(world: World, alice: Caller) -> None:
    world.flag("g")
    place = f"{PROJECT}/features/g/environments/development"
    event_id = int(send(alice, ("POST", f"{place}/on", None)).headers["Event-Id"])
    events = undo(alice, event_id - 1).get_json()["events"]
    assert [(event["type"], event["undoes"]) for event in events] == [
        ("feature-environment-disabled", event_id - 1),
        ("feature-strategy-remove", event_id - 1),
    ]
    assert alice.get(place).get_json()["enabled"] is False


def test_variants_that_moved_in_keep_their_order(world: World, alice: Caller) -> None:
    [flag] = world.conn.execute("SELECT id FROM flags WHERE name = 'f'").fetchall()
    for position, name in enumerate(("b", "a")):
        for owner in (None, "one"):
            fields = {"name": name, "weight": 500, "position": position}
            fixtures.insert_variant(world.conn, flag["id"], "development", owner, **fields)
    before = state(alice)
    for change in (("DELETE", ONE, None), ("PUT", ONE, {"title": "new"}), ("PUT", f"{HERE}/variants", [])):
        assert undo(alice, send(alice, change).headers["Event-Id"]).status_code == 200
        assert state(alice) == before


def test_one_request_can_change_the_stale_mark_and_more(world: World, alice: Caller) -> None:
    assert "Event-Id" not in send(alice, ("PUT", FLAG, {"stale": True, "description": "new"})).headers
    metadata, stale = (event["id"] for event in world.events()[-2:])
    assert undo(alice, metadata).status_code == 200
    assert (alice.get(FLAG).get_json()["description"], alice.get(FLAG).get_json()["stale"]) == (None, True)
    assert undo(alice, stale).status_code == 200
    assert alice.get(FLAG).get_json()["stale"] is False


def test_a_strategy_that_was_sorted_since_is_removed(alice: Caller) -> None:
    response = send(alice, ("POST", f"{HERE}/strategies", NEW))
    order = [{"id": response.get_json()["id"], "sortOrder": 1}]
    send(alice, ("POST", f"{HERE}/strategies/set-sort-order", order))
    assert undo(alice, response.headers["Event-Id"]).status_code == 200


def test_other_numbers_for_the_same_order_have_no_event(world: World, alice: Caller) -> None:
    since = world.last_event_id()
    response = send(alice, ("POST", f"{HERE}/strategies/set-sort-order", [{"id": "off", "sortOrder": 31}]))
    assert "Event-Id" not in response.headers
    assert (world.last_event_id(), alice.get(OFF).get_json()["sortOrder"]) == (since, 31)


def test_undo_of_an_event_that_changed_nothing_has_no_events(world: World, alice: Caller) -> None:
    ids = {"strategyIds": ["one", "two", "off"]}
    about = {"project": "default", "environment": "development", "feature": "f", "data": ids, "pre_data": ids}
    fixtures.record(world.conn, "strategy-order-changed", SYSTEM, **about)
    assert undo(alice, world.last_event_id()).get_json() == {"message": "There was nothing to undo.", "events": []}


def test_a_revived_flag_has_no_dependencies(world: World, alice: Caller) -> None:
    world.flag("parent")
    send(alice, ("POST", f"{FLAG}/dependencies", {"feature": "parent"}))
    event_id = send(alice, ("DELETE", FLAG, None)).headers["Event-Id"]
    assert "Dependencies that it had are not restored" in undo(alice, event_id).get_json()["message"]
    assert alice.get(FLAG).get_json()["dependencies"] == []


def test_a_moved_or_archived_flag_is_409(world: World, alice: Caller) -> None:
    world.project("other")
    event_id = send(alice, ("POST", f"{HERE}/on", None)).headers["Event-Id"]
    send(alice, ("POST", f"{FLAG}/changeProject", {"newProjectId": "other"}))
    assert "the flag f is deleted, or in another project, now" in refused(undo(alice, event_id), 409, "ConflictError")
    send(alice, ("POST", "/api/admin/projects/other/features/f/changeProject", {"newProjectId": "default"}))
    send(alice, ("DELETE", FLAG, None))
    assert "the flag is archived now" in refused(undo(alice, event_id), 409, "ConflictError")


def test_a_deleted_segment_or_environment_is_409(alice: Caller) -> None:
    event_id = send(alice, ("PUT", SEGMENT, {"name": "new", "constraints": []})).headers["Event-Id"]
    send(alice, ("DELETE", SEGMENT, None))
    assert "the segment is deleted now" in refused(undo(alice, event_id), 409, "ConflictError")
    changes = [("POST", DEFAULT, ROLLOUT), ("PUT", ONE, NEW)]
    event_ids = [send(alice, change).headers["Event-Id"] for change in changes]
    send(alice, ("DELETE", f"{PROJECT}/environments/development", None))
    message = "the project does not have the environment development now"
    for event_id in event_ids:
        assert message in refused(undo(alice, event_id), 409, "ConflictError")


@pytest.mark.parametrize("table", ["flags", "projects"])
def test_a_new_flag_or_project_of_the_same_name_is_409(world: World, alice: Caller, table: str) -> None:
    event_id = send(alice, ("POST", f"{HERE}/on", None)).headers["Event-Id"]
    world.conn.execute(f"UPDATE {table} SET created_at = clock_timestamp()")  # pyright: ignore
    assert "another flag or project has its name now" in refused(undo(alice, event_id), 409, "ConflictError")


def test_a_preflight_names_no_event_of_an_earlier_request(alice: Caller) -> None:
    send(alice, ("POST", f"{HERE}/on", None))
    assert "Event-Id" not in alice.request("OPTIONS", "/api/frontend").headers


def test_the_last_use_of_a_flag_is_no_change(world: World, alice: Caller) -> None:
    event_id = send(alice, ("PUT", FLAG, {"description": "new"})).headers["Event-Id"]
    seen = """UPDATE events SET data = replace(data::text, '"lastSeenAt":null', '"lastSeenAt":"2026"')::json"""
    world.conn.execute(seen)
    assert undo(alice, event_id).status_code == 200


def test_other_types_are_409(world: World, alice: Caller) -> None:
    response = send(alice, ("POST", f"{PROJECT}/features", {"name": "g"}))
    assert "Event-Id" not in response.headers
    assert refused(undo(alice, world.last_event_id()), 409, "ConflictError") == (
        "Events of the type feature-created cannot be undone."
    )


def test_the_rules_of_the_direct_operation_hold(alice: Caller) -> None:
    send(alice, ("PUT", ONE, {"segments": [1001]}))
    event_id = send(alice, ("DELETE", ONE, None)).headers["Event-Id"]
    send(alice, ("DELETE", SEGMENT, None))
    assert "segments" in refused(undo(alice, event_id), 400)
    event_id = send(alice, ("POST", "/api/admin/segments", {"name": "t", "constraints": []})).headers["Event-Id"]
    used = [segment["id"] for segment in alice.get("/api/admin/segments").get_json()["segments"]]
    send(alice, ("PUT", TWO, {"segments": used}))
    assert "is used by" in refused(undo(alice, event_id), 409, "ConflictError")


def test_hidden_and_unknown_events_are_404(world: World, alice: Caller) -> None:
    world.project("secret", mode="private")
    world.flag("hidden", "secret")
    path = "/api/admin/projects/secret/features/hidden"
    event_id = send(alice, ("PUT", path, {"description": "new"})).headers["Event-Id"]
    victor, eve = world.user("Victor"), world.user("Eve", 2)
    for caller, id in ((victor, event_id), (victor, 10**9), (alice, 10**9), (alice, 10**12)):
        refused(undo(caller, id), 404, "NotFoundError")
    segment_event = send(alice, ("DELETE", SEGMENT, None)).headers["Event-Id"]
    refused(undo(eve, segment_event), 404, "NotFoundError")


# The permissions of the direct operations. Each of them is enough, and all others together are not.
PROJECT_WIDE = {
    **dict.fromkeys(("metadata", "stale", "not stale", "archived", "tagged", "untagged"), ("UPDATE_FEATURE",)),
    "revived": ("DELETE_FEATURE",),
    "default strategy": ("UPDATE_PROJECT", "PROJECT_DEFAULT_STRATEGY_WRITE"),
    "project": ("UPDATE_PROJECT", "PROJECT_SETTINGS_WRITE"),
}
IN_ENVIRONMENT = {
    "strategy added": ("DELETE_FEATURE_STRATEGY",),
    **dict.fromkeys(("rollout", "order"), ("UPDATE_FEATURE_STRATEGY",)),
    "strategy removed": ("CREATE_FEATURE_STRATEGY",),
    **dict.fromkeys(("switched on", "switched off"), ("UPDATE_FEATURE_ENVIRONMENT",)),
    "variants": ("UPDATE_FEATURE_ENVIRONMENT_VARIANTS",),
}


@pytest.mark.parametrize("case", PROJECT_WIDE | IN_ENVIRONMENT)
def test_undo_needs_the_permission_of_the_direct_operation(world: World, alice: Caller, case: str) -> None:
    conn, needed = world.conn, (PROJECT_WIDE | IN_ENVIRONMENT)[case]
    names = {row["name"] for row in conn.execute("SELECT name FROM permissions")} - {"ADMIN"}
    role = roles.insert(conn, "Holder", type="root-custom")
    holder = world.user("Holder", role)

    def given(*permissions: str, environment: str | None = None) -> Any:
        conn.execute("DELETE FROM role_permissions WHERE role_id = %s", [role])
        for permission in permissions:
            fixtures.allow(conn, role, permission, environment=environment)
        return undo(holder, event_id)

    event_id = made(alice, case)[1].headers["Event-Id"]
    assert needed[0] in refused(given(*names - {*needed}), 403, "NoAccessError")
    elsewhere = "production" if case in IN_ENVIRONMENT else "development"
    refused(given(*needed, environment=elsewhere), 403, "NoAccessError")
    for permission in needed:
        with conn.transaction(force_rollback=True):
            assert given(permission, environment="development" if case in IN_ENVIRONMENT else None).status_code == 200


def test_a_segment_needs_the_permission_where_it_is_and_where_it_returns(world: World, alice: Caller) -> None:
    olga, role = world.user("Olga"), roles.insert(world.conn, "Segments")
    fixtures.allow(world.conn, role, "UPDATE_PROJECT_SEGMENT", project="default")
    world.member("default", olga, role)
    send(alice, ("PUT", SEGMENT, {"name": "s", "constraints": [], "project": "default"}))
    moved = world.last_event_id()
    event_id = send(olga, ("PUT", SEGMENT, {"name": "t", "constraints": [], "project": "default"})).headers["Event-Id"]
    assert undo(olga, event_id).status_code == 200
    assert "UPDATE_SEGMENT" in refused(undo(olga, moved), 403, "NoAccessError")
    event_id = send(olga, ("DELETE", SEGMENT, None)).headers["Event-Id"]
    assert undo(olga, event_id).status_code == 200


def test_a_copy_of_several_strategies_names_no_event(alice: Caller) -> None:
    send(alice, ("POST", f"{HERE}/on", None))
    copy = ("POST", f"{FLAG}/environments/production/copy", {"from": "development", "enabled": True})
    assert "Event-Id" not in send(alice, copy).headers


def test_a_dry_run_names_no_event(world: World, alice: Caller) -> None:
    event_id = world.last_event_id()
    sent = body(document("g", featureStrategies=[strategy("g")]))
    response = send(alice, ("POST", "/api/admin/features-batch/validate", sent))
    assert ("Event-Id" not in response.headers, world.last_event_id()) == (True, event_id)
    assert "Event-Id" in send(alice, ("POST", "/api/admin/features-batch/import", sent)).headers
