"""What a change request can contain: each action is checked and applied as its direct operation, or is in conflict."""

import re
from typing import Any

import pytest
from werkzeug.exceptions import HTTPException

from sql.database import value
from sql.people import roles
from tests.support import fixtures
from tests.support.change_requests import apply, change, changes_of, conflicts, defaults, propose, refusal
from tests.support.event_search import PATH
from tests.support.segments import ASKED, KEPT
from tests.support.world import Caller, World

PROJECT = "/api/admin/projects/default"
FLAG = f"{PROJECT}/features/f"
HERE = f"{FLAG}/environments/production"
SEGMENTS = "/api/admin/segments"
SPLIT = [{"name": "a", "weight": 1000}]
ROLLOUT = {"name": "flexibleRollout", "parameters": {"rollout": "10"}}
ORDER = [{"id": "one", "sortOrder": 9}, {"id": "two", "sortOrder": 1}]
Call = tuple[str, str, Any]
# Each action: its payload, and the direct operation.
DIRECT: dict[str, tuple[dict[str, Any], Call]] = {
    "on": (change("updateEnabled", {"enabled": True}), ("POST", f"{HERE}/on", None)),
    "on with all": (
        change("updateEnabled", {"enabled": True, "shouldActivateDisabledStrategies": True}),
        ("POST", f"{HERE}/on?shouldActivateDisabledStrategies=true", None),
    ),
    "on with the default": (
        change("updateEnabled", {"enabled": True}, "parent"),
        ("POST", f"{HERE}/on".replace("/f/", "/parent/"), None),
    ),
    "off": (
        change("updateEnabled", {"enabled": False}, "on"),
        ("POST", f"{HERE}/off".replace("/f/", "/on/"), None),
    ),
    "add": (
        change("addStrategy", ROLLOUT | {"segments": [1]}),
        ("POST", f"{HERE}/strategies", ROLLOUT | {"segments": [1]}),
    ),
    "update": (
        change("updateStrategy", {"id": "one", "title": "new", "constraints": None, "sortOrder": 0}),
        ("PUT", f"{HERE}/strategies/one", {"title": "new", "constraints": None}),
    ),
    "delete": (change("deleteStrategy", {"id": "one"}), ("DELETE", f"{HERE}/strategies/one", None)),
    "delete the last": (
        change("deleteStrategy", {"id": "last"}, "on"),
        ("DELETE", f"{HERE}/strategies/last".replace("/f/", "/on/"), None),
    ),
    "reorder": (change("reorderStrategy", ORDER), ("POST", f"{HERE}/strategies/set-sort-order", ORDER)),
    "variants": (change("patchVariant", {"variants": SPLIT}), ("PUT", f"{HERE}/variants", SPLIT)),
    "archive": (change("archiveFeature"), ("DELETE", FLAG, None)),
    "add parent": (
        change("addDependency", {"feature": "parent", "enabled": False}, "on"),
        ("POST", f"{PROJECT}/features/on/dependencies", {"feature": "parent", "enabled": False}),
    ),
    "remove parents": (change("deleteDependency"), ("DELETE", f"{FLAG}/dependencies", None)),
    "update segment": (
        change("updateSegment", {"id": 1, "name": "Beta", "constraints": [ASKED], "createdBy": None}),
        ("PUT", f"{SEGMENTS}/1", {"name": "Beta", "constraints": [ASKED], "project": "default"}),
    ),
    "delete segment": (change("deleteSegment", {"id": 1}), ("DELETE", f"{SEGMENTS}/1", None)),
}


@pytest.fixture(autouse=True)
def flags(world: World) -> None:
    """Flags f (with a parent and three strategies, off), on and parent, and an unused segment of the project."""
    f, on, parent = world.flag("f"), world.flag("on", enabled_in=("production",)), world.flag("parent")
    for number, id in enumerate(("one", "two", "off")):
        fields = {"strategy_id": id, "sort_order": number, "disabled": id == "off"}
        world.strategy(f, "production", constraints=[KEPT] if id == "one" else [], **fields)
    world.strategy(on, "production", strategy_id="last")
    fixtures.insert(world.conn, "flag_dependencies", child_id=f, parent_id=parent)
    world.conn.execute(
        "INSERT INTO segments (id, name, constraints, project_id) OVERRIDING SYSTEM VALUE VALUES"
        " (1, 'beta', '[]', 'default'), (2, 'all', '[]', NULL)"
    )


@pytest.fixture
def applier(world: World) -> Caller:
    """A user whose only permissions are for what all environments share."""
    paula, role = world.user("Paula"), roles.insert(world.conn, "Keeper of all", type="custom")
    for permission in ("DELETE_FEATURE", "UPDATE_FEATURE_DEPENDENCY", "UPDATE_PROJECT_SEGMENT"):
        fixtures.allow(world.conn, role, permission)
    world.member("default", paula, role)
    return paula


def without_ids(value: Any) -> str:
    """A value as text. New strategies have random ids, and one transaction has one time."""
    return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "<id>", repr(value))


def outcome(world: World, since: int) -> list[str]:
    """What clients, readers of the flags and of the log see."""
    world.conn.execute("SET CONSTRAINTS ALL IMMEDIATE")
    world.conn.execute("SET CONSTRAINTS ALL DEFERRED")
    client: Any = world.api_key("client", environment="production").get("/api/client/features").json
    client.pop("meta", None)
    reader = world.api_key()
    records: list[Any] = [reader.get(f"{PROJECT}/features/{name}").json for name in ("f", "on", "parent")]
    for record in records:
        record.pop("collaborators", None)
    skipped = ("id", "created_at", "created_by", "created_by_user_id")
    log = [{key: row[key] for key in row if key not in skipped} for row in world.events(since)]
    return [without_ids(one) for one in (client, records, reader.get(SEGMENTS).json, log)]


@pytest.mark.parametrize("name", DIRECT)
def test_applied_change_equals_the_direct_one(world: World, alice: Caller, victor: Caller, applier: Caller, name: str):
    proposed, (method, path, body) = DIRECT[name]
    since = world.last_event_id()
    before = outcome(world, since)
    with world.conn.transaction(force_rollback=True):
        assert alice.request(method, path, **({} if body is None else {"json": body})).status_code < 300
        direct = outcome(world, since)
    request = propose(world, victor, proposed)
    assert outcome(world, since) == before
    assert conflicts(world, request) == [None]
    apply(world, applier, request)
    assert outcome(world, since) == direct != before
    written = world.conn.execute("SELECT created_by, change_request_id FROM events WHERE id > %s", [since]).fetchall()
    assert {tuple(row.values()) for row in written} == {(applier.email, request)}


def refused(call: Any) -> tuple[int, str]:
    """The status and message with which a call is refused."""
    with pytest.raises(HTTPException) as caught:
        call()
    return refusal(caught.value)


NEWER = "changed after this change was proposed."
DEFAULT = ("POST", f"{PROJECT}/environments/production/default-strategy", ROLLOUT)
DELETE = ("DELETE", "/api/admin/archive/f", None)
SEGMENT = {"name": "Other", "constraints": [ASKED], "project": "default"}
UPDATE = change("updateStrategy", {"id": "one", "title": "new", "segments": [1]})
STICKY: list[Call] = [("PUT", PROJECT, {"name": "Default", "defaultStickiness": "random"})]
# A change, later direct ones, and the conflict.
CONFLICTS: dict[str, tuple[dict[str, Any], list[Call], str | None]] = {
    "archived": (DIRECT["on"][0], [DIRECT["archive"][1]], "The flag is archived."),
    "deleted": (
        DIRECT["on"][0],
        [DIRECT["archive"][1], DELETE],
        "The flag was deleted.",
    ),
    "made again": (
        DIRECT["on"][0],
        [
            DIRECT["archive"][1],
            ("DELETE", "/api/admin/archive/f", None),
            ("POST", f"{PROJECT}/features", {"name": "f"}),
        ],
        "The flag was deleted.",
    ),
    "moved": (
        DIRECT["off"][0],
        [("POST", f"{PROJECT}/features/on/changeProject", {"newProjectId": "hermes"})],
        "The flag was moved to another project.",
    ),
    "environment": (
        DIRECT["on"][0],
        [("DELETE", f"{PROJECT}/environments/production", None)],
        "The environment was removed from the project.",
    ),
    "strategy deleted": (UPDATE, [DIRECT["delete"][1]], "The strategy was deleted."),
    "strategy changed": (UPDATE, [DIRECT["update"][1]], f"The strategy was {NEWER}"),
    "deleted strategy changed": (DIRECT["delete"][0], [DIRECT["update"][1]], f"The strategy was {NEWER}"),
    "another strategy changed": (DIRECT["delete"][0], [("DELETE", f"{HERE}/strategies/two", None)], None),
    "strategy has another place": (UPDATE, [DIRECT["reorder"][1]], None),
    "segment of new strategy": (
        DIRECT["add"][0],
        [("PUT", f"{SEGMENTS}/1", SEGMENT)],
        f"The segments of the strategy were {NEWER}",
    ),
    "new segment of strategy": (
        UPDATE,
        [("PUT", f"{SEGMENTS}/1", SEGMENT)],
        f"The segments of the strategy were {NEWER}",
    ),
    "old segment of strategy": (
        change("updateStrategy", {"id": "last", "segments": [2]}, "on"),
        [("PUT", f"{SEGMENTS}/2", {"name": "all", "constraints": [ASKED]})],
        None,
    ),
    "segment has another name": (DIRECT["add"][0], [("PUT", f"{SEGMENTS}/1", SEGMENT | {"constraints": []})], None),
    "default strategy": (DIRECT["on with the default"][0], [DEFAULT], f"The default strategy was {NEWER}"),
    "unneeded default strategy": (DIRECT["on"][0], [DEFAULT], None),
    "stickiness of new strategy": (DIRECT["add"][0], STICKY, f"The default stickiness of the project was {NEWER}"),
    "stickiness of parameters": (
        change("updateStrategy", {"id": "one", "parameters": {"stickiness": None}}),
        STICKY,
        f"The default stickiness of the project was {NEWER}",
    ),
    "stickiness of the default strategy": (
        DIRECT["on with the default"][0],
        STICKY,
        f"The default stickiness of the project was {NEWER}",
    ),
    "unneeded stickiness": (UPDATE, STICKY, None),
    "stickiness of another type": (change("addStrategy", {"name": "default", "segments": None}), STICKY, None),
    "own stickiness": (
        change("addStrategy", ROLLOUT | {"parameters": {"stickiness": "userId"}, "segments": None}),
        STICKY,
        None,
    ),
    "default strategy that came": (
        DIRECT["on"][0],
        [DEFAULT, DIRECT["delete"][1], ("DELETE", f"{HERE}/strategies/two", None)],
        f"The default strategy was {NEWER}",
    ),
    "switched on": (DIRECT["on"][0], [DIRECT["on"][1]], None),
    "order": (
        DIRECT["reorder"][0],
        [("POST", f"{HERE}/strategies/set-sort-order", ORDER[:1])],
        f"The order of the strategies was {NEWER}",
    ),
    "place in the same order": (
        DIRECT["reorder"][0],
        [("POST", f"{HERE}/strategies/set-sort-order", [{"id": "off", "sortOrder": 5}])],
        f"The order of the strategies was {NEWER}",
    ),
    "variants": (DIRECT["variants"][0], [DIRECT["variants"][1]], f"The variants were {NEWER}"),
    "parents": (DIRECT["add parent"][0], [DIRECT["add parent"][1]], f"The dependencies were {NEWER}"),
    "removed parents": (DIRECT["remove parents"][0], [DIRECT["remove parents"][1]], f"The dependencies were {NEWER}"),
    "segment changed": (DIRECT["update segment"][0], [("PUT", f"{SEGMENTS}/1", SEGMENT)], f"The segment was {NEWER}"),
    "segment moved": (
        DIRECT["delete segment"][0],
        [("PUT", f"{SEGMENTS}/1", {"name": "beta", "constraints": [], "project": "hermes"})],
        f"The segment was {NEWER}",
    ),
    "segment deleted": (DIRECT["update segment"][0], [DIRECT["delete segment"][1]], "The segment was deleted."),
}


@pytest.mark.parametrize("name", CONFLICTS)
def test_change_is_in_conflict_if_what_it_replaces_has_changed(
    world: World, alice: Caller, victor: Caller, applier: Caller, name: str
):
    proposed, later, text = CONFLICTS[name]
    world.project("hermes")
    fixtures.add_segment(world.conn, "last", 2)
    request = propose(world, victor, proposed)
    for method, path, body in later:
        response = alice.request(method, path, **({} if body is None else {"json": body}))
        assert response.status_code < 300, response.text
    assert conflicts(world, request) == [text]
    since = world.last_event_id()
    if text is None:
        apply(world, applier, request)
    else:
        subject = proposed.get("feature") or "segment 1"
        assert refused(lambda: apply(world, applier, request)) == (409, f"{subject}: {text}")
        assert world.events(since) == []


# For each kind of record in a base: a change that stores it, and a field that a later version could have added.
LATER: dict[str, tuple[dict[str, Any], str]] = {
    "segment": (DIRECT["update segment"][0], "{segment,description}"),
    "deleted segment": (DIRECT["delete segment"][0], "{segment,createdBy}"),
    "strategy": (UPDATE, "{strategy,title}"),
    "deleted strategy": (DIRECT["delete"][0], "{strategy,disabled}"),
    "default strategy": (DIRECT["on with the default"][0], "{defaultStrategy,0,disabled}"),
    "variant of a strategy": (UPDATE, "{strategy,variants,0,stickiness}"),
    "variant": (DIRECT["variants"][0], "{variants,0,stickiness}"),
    "parent": (DIRECT["remove parents"][0], "{parents,0,variants}"),
    "part": (UPDATE, "{segments}"),
}


@pytest.mark.parametrize("name", LATER)
def test_field_that_a_later_version_added_is_no_conflict(world: World, alice: Caller, victor: Caller, name: str):
    proposed, field = LATER[name]
    own = [{**SPLIT[0], "weightType": "variable", "stickiness": "default"}]
    assert alice.put(f"{HERE}/variants", json=own).status_code == 200
    assert alice.put(f"{HERE}/strategies/one", json=ROLLOUT | {"variants": own}).status_code == 200
    assert alice.post(DEFAULT[1], json=ROLLOUT).status_code == 200
    request = propose(world, victor, proposed)
    older = "UPDATE change_request_changes SET base = base::jsonb #- %(field)s"
    assert world.conn.execute(f"{older} WHERE base::jsonb #> %(field)s IS NOT NULL", {"field": field}).rowcount == 1
    assert conflicts(world, request) == [None]


def test_project_or_payload_that_a_record_got_is_a_conflict(world: World, alice: Caller, victor: Caller):
    direct = [
        (f"{HERE}/variants", [{**SPLIT[0], "payload": {"type": "string", "value": "x"}}]),
        (f"{SEGMENTS}/2", {"name": "all", "constraints": [], "project": "default"}),
    ]
    assert alice.put(f"{HERE}/variants", json=SPLIT).status_code == 200
    request = propose(world, victor, DIRECT["variants"][0], change("deleteSegment", {"id": 2}))
    for path, body in direct:
        assert alice.put(path, json=body).status_code < 300
    assert conflicts(world, request) == [f"The variants were {NEWER}", f"The segment was {NEWER}"]


def test_request_of_version_1_0_0_has_no_conflict(world, victor, applier):
    request = propose(world, victor, DIRECT["reorder"][0], DIRECT["add"][0], DIRECT["on with the default"][0])
    world.conn.execute(
        "UPDATE change_request_changes SET base = (base::jsonb - '{positions,stickiness}'::text[])::json"
    )
    assert conflicts(world, request) == [None] * 3
    apply(world, applier, request)


def test_default_strategy_with_a_changed_segment_is_in_conflict(world, alice, victor):
    assert alice.post(DEFAULT[1], json=ROLLOUT | {"segments": [2]}).status_code == 200
    request = propose(world, victor, DIRECT["on with the default"][0])
    assert alice.put(f"{SEGMENTS}/2", json={"name": "all", "constraints": [ASKED]}).status_code == 204
    assert conflicts(world, request) == [f"The default strategy was {NEWER}"]


def test_all_conflicts_are_named_and_nothing_is_applied(world, alice, victor, applier):
    request = propose(world, victor, DIRECT["off"][0], UPDATE, DIRECT["update segment"][0])
    assert alice.put(f"{HERE}/strategies/one", json={}).status_code == 200
    assert alice.delete(f"{SEGMENTS}/1").status_code == 204
    since = world.last_event_id()
    texts = [f"f: The strategy was {NEWER}", "segment 1: The segment was deleted."]
    assert refused(lambda: apply(world, applier, request)) == (409, " ".join(texts))
    assert world.events(since) == []


def test_conflict_that_two_changes_share_is_named_once(world, alice, victor, applier):
    request = propose(world, victor, DIRECT["off"][0], DIRECT["on"][0], change("updateEnabled", {"enabled": False}))
    assert alice.delete(f"{PROJECT}/features/f").status_code == 202
    assert refused(lambda: apply(world, applier, request)) == (409, "f: The flag is archived.")


def test_refusal_of_the_direct_operation_is_a_conflict_and_all_is_rolled_back(world, alice, victor, applier):
    field = {"contextName": "plan", "operator": "IN", "values": ["gold"]}
    assert alice.post("/api/admin/context", json={"name": "plan"}).status_code == 201
    limited = change("addStrategy", ROLLOUT | {"constraints": [field]})
    request = propose(world, victor, DIRECT["off"][0], limited)
    assert alice.delete("/api/admin/context/plan").status_code == 200
    assert conflicts(world, request) == [None, None]
    since = world.last_event_id()
    text = "f: constraints.0.contextName: must be an existing context field, not plan"
    assert refused(lambda: apply(world, applier, request)) == (409, text)
    assert world.events(since) == []


def test_changes_are_applied_in_their_order(world, victor, applier):
    proposed = (UPDATE, DIRECT["on"][0], change("deleteStrategy", {"id": "one"}), DIRECT["add"][0])
    request = propose(world, victor, *proposed)
    since = world.last_event_id()
    apply(world, applier, request)
    assert [event["type"] for event in world.events(since)] == [
        "feature-strategy-update",
        "feature-environment-enabled",
        "feature-strategy-remove",
        "feature-strategy-add",
    ]


UNSUPPORTED = "action: must be one of updateEnabled, addStrategy, "
ADDED: dict[str, tuple[dict[str, Any], int, str]] = {
    "unsupported action": (change("startMilestone", {}), 400, "startMilestone is unsupported"),
    "strange action": (change("__init__", {}), 400, UNSUPPORTED),
    "no flag": (change("archiveFeature", None, None), 400, "feature: is required"),
    "unknown flag": (change("archiveFeature", None, "unknown"), 404, "no such flag"),
    "flag of another project": (change("updateEnabled", {"enabled": True}, "theirs"), 404, "no such flag"),
    "archived flag": (change("updateEnabled", {"enabled": True}, "old"), 404, "archived"),
    "no payload": (change("updateEnabled"), 400, "must be a JSON object"),
    "wrong payload": (change("updateEnabled", {"enabled": 1}), 400, "enabled: must be true or false"),
    "unknown property": (change("deleteStrategy", {"id": "one", "x": 1}), 400, "x: unknown property"),
    "no list": (change("reorderStrategy", {}), 400, "must be a JSON array"),
    "same strategy twice": (change("reorderStrategy", [ORDER[0], ORDER[0]]), 400, "must not contain a strategy twice"),
    "order of another flag": (change("reorderStrategy", [{"id": "last", "sortOrder": 1}]), 404, "no such strategy"),
    "strategy of another flag": (change("deleteStrategy", {"id": "last"}), 404, "no such strategy"),
    "no id": (change("updateStrategy", {"title": "x"}), 400, "id: is required"),
    "another flag name": (change("updateStrategy", {"id": "one", "featureName": "on"}), 400, "featureName: must be"),
    "strategy with a wrong segment": (change("addStrategy", {"name": "default", "segments": [9]}), 400, "segments: "),
    "large strategy": (change("addStrategy", {"name": "default", "title": "x" * 1_000_000}), 400, "title: "),
    "variants twice": (change("patchVariant", {"variants": SPLIT * 2}), 400, "a name twice"),
    "itself": (change("addDependency", {"feature": "f"}), 409, "cannot depend on itself"),
    "needed parent": (change("archiveFeature", None, "parent"), 409, "Live flags depend on parent: f."),
    "segment of another project": (change("deleteSegment", {"id": 3}), 404, "No segment has that id."),
    "unknown segment": (change("deleteSegment", {"id": 2**31}), 404, "No segment has that id."),
    "used segment": (change("deleteSegment", {"id": 2}), 409, "The segment is used by flag on in production."),
    "taken name": (change("updateSegment", {"id": 1, "name": "all", "constraints": []}), 409, "already exists"),
    "segment into another project": (
        change("updateSegment", {"id": 1, "name": "beta", "constraints": [], "project": "hermes"}),
        400,
        "project: must be omitted or unchanged",
    ),
}


@pytest.mark.parametrize("name", ADDED)
def test_change_is_refused_as_by_its_direct_operation(world: World, victor: Caller, name: str):
    proposed, status, text = ADDED[name]
    world.project("hermes")
    world.flag("theirs", "hermes")
    world.flag("old", archived_at="now")
    fixtures.insert(world.conn, "segments", id=3, name="theirs", constraints="[]", project_id="hermes")
    fixtures.add_segment(world.conn, "last", 2)
    code, message = refused(lambda: propose(world, victor, proposed))
    assert code == status
    assert text in message
    assert value(world.conn, "SELECT count(*) FROM change_request_changes") == 0


def test_payload_is_stored_as_it_was_sent_without_what_has_no_effect(world, victor):
    sent = {"id": "one", "featureName": "f", "milestoneId": "m", "constraints": None, "parameters": {"rollout": 5}}
    request = propose(world, victor, change("updateStrategy", sent), change("archiveFeature", {"ignored": True}))
    first, second = changes_of(world, request)
    assert first["payload"] == {"id": "one", "constraints": None, "parameters": {"rollout": 5}}
    assert second["payload"] is None


def test_default_changes_are_those_of_flags_that_would_get_the_default_strategy(world, alice, victor):
    def given(*changes: dict[str, Any]) -> list[str]:
        return list(defaults(world, propose(world, victor, *changes)))

    on, off = ({"enabled": enabled} for enabled in (True, False))
    assert alice.post(DEFAULT[1], json=ROLLOUT).status_code == 200
    found = defaults(world, propose(world, victor, DIRECT["on"][0], DIRECT["on with the default"][0]))
    assert list(found) == ["parent"]
    assert found["parent"]["action"] == "addStrategy"
    assert found["parent"]["payload"]["parameters"] == {"rollout": "10", "groupId": "parent"}
    add = {"name": "default"}
    assert given(change("addStrategy", add, "parent"), change("updateEnabled", on, "parent")) == []
    disabled = add | {"disabled": True}
    assert given(change("addStrategy", disabled, "parent"), change("updateEnabled", on, "parent")) == ["parent"]
    activate = on | {"shouldActivateDisabledStrategies": True}
    assert given(change("addStrategy", disabled, "parent"), change("updateEnabled", activate, "parent")) == []
    assert given(change("updateEnabled", off, "parent")) == given(change("updateEnabled", on, "on")) == []
    # Without its last strategy the flag is switched off, and then on with the default strategy.
    last = change("deleteStrategy", {"id": "last"}, "on")
    assert given(last, change("updateEnabled", on, "on")) == ["on"]
    assert given(change("updateStrategy", {"id": "last", "disabled": True}, "on"), change("updateEnabled", on, "on"))
    # An update leaves a strategy disabled.
    without = [change("deleteStrategy", {"id": id}) for id in ("one", "two")]
    switched_on = change("updateEnabled", on)
    assert given(*without, change("updateStrategy", {"id": "off"}), switched_on) == ["f"]
    # As in the body of the direct operation, null means false.
    assert given(*without, change("updateStrategy", {"id": "off", "disabled": None}), switched_on) == []


LAST, ADD = change("deleteStrategy", {"id": "last"}, "on"), change("addStrategy", ROLLOUT, "on")
PAUSE = change("updateStrategy", {"id": "last", "disabled": True}, "on")
ON = change("updateEnabled", {"enabled": True}, "on")
ENDS = ("add", "remove", "update")


@pytest.mark.parametrize(
    "proposed", [(LAST, ADD), (ADD, LAST), (PAUSE, ADD), (ON, LAST, ADD)], ids=["delete", "add", "pause", "switch"]
)
def test_flag_that_gets_another_strategy_stays_on(world, alice, victor, applier, proposed):
    request = propose(world, victor, *proposed)
    assert defaults(world, request) == {}
    since = world.last_event_id()
    apply(world, applier, request)
    here = alice.get(f"{PROJECT}/features/on/environments/production").json
    assert here["enabled"]
    assert [one["parameters"]["rollout"] for one in here["strategies"] if not one["disabled"]] == ["10"]
    assert {event["type"] for event in world.events(since)} <= {f"feature-strategy-{end}" for end in ENDS}


@pytest.mark.parametrize(
    ("proposed", "is_said"),
    [
        ((LAST,), True),
        ((PAUSE,), True),
        ((LAST, change("addStrategy", ROLLOUT | {"disabled": True}, "on")), True),
        ((LAST, change("updateEnabled", {"enabled": False}, "on")), False),
        ((LAST, change("archiveFeature", None, "on")), False),
    ],
    ids=["delete", "pause", "replace", "off", "archive"],
)
def test_flag_without_a_strategy_goes_off_and_reviewers_see_it(world, victor, applier, proposed, is_said):
    request = propose(world, victor, *proposed)
    off = {"action": "updateEnabled", "payload": {"enabled": False}}
    assert defaults(world, request) == ({"on": off} if is_said else {})
    apply(world, applier, request)
    assert value(world.conn, "SELECT count(*) FROM flag_environments WHERE enabled") == 0


def test_flag_that_is_on_for_all_without_a_strategy_does_not_go_off(world, victor):
    world.conn.execute("UPDATE strategies SET disabled = true WHERE id = 'last'")
    assert defaults(world, propose(world, victor, ON, change("patchVariant", {"variants": SPLIT}, "on"))) == {}
    off = change("updateEnabled", {"enabled": False}, "on")
    assert defaults(world, propose(world, victor, off, ON))["on"]["action"] == "addStrategy"
    resume = change("updateStrategy", {"id": "last", "disabled": False}, "on")
    assert defaults(world, propose(world, victor, off, resume, ON, LAST))["on"]["action"] == "updateEnabled"


def test_flag_that_is_switched_on_after_its_last_strategy_gets_the_default(world, alice, victor, applier):
    request = propose(world, victor, LAST, ON)
    wanted = defaults(world, request)["on"]["payload"]["parameters"]
    apply(world, applier, request)
    here = alice.get(f"{PROJECT}/features/on/environments/production").json
    assert here["enabled"]
    assert [wanted.items() <= one["parameters"].items() for one in here["strategies"]] == [True]


def test_flag_that_is_switched_on_again_stays_on_with_what_that_resumes(world, alice, victor, applier):
    flag_id = value(world.conn, "SELECT id FROM flags WHERE name = 'on'")
    paused, other = (world.strategy(flag_id, "production", disabled=True) for _ in range(2))
    resume = change("updateStrategy", {"id": paused, "disabled": False}, "on")
    resume_all = change("updateEnabled", {"enabled": True, "shouldActivateDisabledStrategies": True}, "on")
    request = propose(world, victor, LAST, resume, resume_all, change("deleteStrategy", {"id": paused}, "on"))
    assert defaults(world, request) == {}
    apply(world, applier, request)
    here = alice.get(f"{PROJECT}/features/on/environments/production").json
    assert (here["enabled"], [one["id"] for one in here["strategies"] if not one["disabled"]]) == (True, [other])


ON_PARENT, ADD_PARENT = change("updateEnabled", {"enabled": True}, "parent"), change("addStrategy", ROLLOUT, "parent")
OFF_PARENT = change("updateEnabled", {"enabled": False}, "parent")


@pytest.mark.parametrize(
    "proposed",
    [
        (ON_PARENT, ADD_PARENT),
        (ON_PARENT, change("updateStrategy", {"id": "paused", "disabled": False}, "parent")),
        (ON_PARENT, OFF_PARENT, ADD_PARENT, ON_PARENT),
        (LAST, ON, ADD),
    ],
    ids=["add", "resume", "twice", "replace"],
)
def test_flag_that_is_switched_on_before_it_gets_a_strategy_lacks_the_default(world, alice, victor, applier, proposed):
    parent = value(world.conn, "SELECT id FROM flags WHERE name = 'parent'")
    world.strategy(parent, "production", strategy_id="paused", disabled=True, parameters={"rollout": "10"})
    request = propose(world, victor, *proposed)
    assert defaults(world, request) == {}
    apply(world, applier, request)
    here = alice.get(f"{PROJECT}/features/{proposed[0]['feature']}/environments/production").json
    assert here["enabled"]
    assert [one["parameters"]["rollout"] for one in here["strategies"] if not one["disabled"]] == ["10"]


def test_flag_that_keeps_no_strategy_after_it_is_switched_on_gets_the_default(world, alice, victor, applier):
    paused = change("addStrategy", ROLLOUT | {"disabled": True}, "parent")
    resume_all = change("updateEnabled", {"enabled": True, "shouldActivateDisabledStrategies": True}, "parent")
    # The flag is on already when all would be resumed.
    request = propose(world, victor, paused, ON_PARENT, resume_all)
    assert defaults(world, request)["parent"]["action"] == "addStrategy"
    apply(world, applier, request)
    here = alice.get(f"{PROJECT}/features/parent/environments/production").json
    assert [one["parameters"]["rollout"] for one in here["strategies"] if not one["disabled"]] == ["100"]


def test_only_the_last_switch_decides_about_the_default(world, alice, victor):
    parent = value(world.conn, "SELECT id FROM flags WHERE name = 'parent'")
    world.strategy(parent, "production", strategy_id="paused", disabled=True)
    resume = change("updateStrategy", {"id": "paused", "disabled": False}, "parent")
    remove = change("deleteStrategy", {"id": "paused"}, "parent")
    assert defaults(world, propose(world, victor, ON_PARENT, OFF_PARENT)) == {}
    request = propose(world, victor, ON_PARENT, OFF_PARENT, resume, ON_PARENT, remove)
    assert defaults(world, request)["parent"]["action"] == "updateEnabled"
    assert alice.post(DEFAULT[1], json=ROLLOUT).status_code == 200
    assert not any(conflicts(world, request))


EVERYWHERE = ("archive", "add parent", "remove parents")
# Each change, how a conflict names its subject, and the permissions that it can need.
LACKED = {
    "archive": ("f", "DELETE_FEATURE"),
    "add parent": ("on", "UPDATE_FEATURE_DEPENDENCY"),
    "remove parents": ("f", "UPDATE_FEATURE_DEPENDENCY"),
    "update segment": ("segment 1", "UPDATE_SEGMENT or UPDATE_PROJECT_SEGMENT"),
}
LACKS = "It also changes flags in development, where change requests are on. It needs SKIP_CHANGE_REQUEST there."


@pytest.mark.parametrize("name", EVERYWHERE)
def test_change_of_all_environments_needs_skip_in_the_other_protected_ones(world, victor, applier, name):
    proposed = DIRECT[name][0]
    request = propose(world, victor, proposed)
    world.conn.execute("UPDATE project_environments SET required_approvals = 1")
    text = f"{proposed['feature']}: {LACKS}"
    assert refused(lambda: propose(world, victor, proposed)) == (409, text)
    assert refused(lambda: apply(world, applier, request)) == (409, text)
    role = roles.insert(world.conn, "Skipper", type="custom")
    fixtures.allow(world.conn, role, "SKIP_CHANGE_REQUEST", environment="production")
    group = fixtures.insert(world.conn, "groups", name="skippers")["id"]
    fixtures.insert(world.conn, "group_users", group_id=group, user_id=applier.id)
    fixtures.insert(world.conn, "project_group_roles", project_id="default", group_id=group, role_id=role)
    assert refused(lambda: apply(world, applier, request)) == (409, text)
    fixtures.allow(world.conn, role, "SKIP_CHANGE_REQUEST", environment="development")
    world.conn.execute("UPDATE project_group_roles SET project_id = %s", [world.project("hermes")])
    assert refused(lambda: apply(world, applier, request)) == (409, text)
    world.conn.execute("UPDATE project_group_roles SET project_id = 'default'")
    apply(world, applier, request)


@pytest.mark.parametrize("name", [*EVERYWHERE, "update segment"])
def test_change_beyond_the_environment_needs_the_direct_permission_of_the_applier(world, victor, applier, name):
    world.strategy(world.flag("dev"), strategy_id="dev")
    for strategy in ("dev", "last"):
        fixtures.add_segment(world.conn, strategy, 1)
    request = propose(world, victor, DIRECT[name][0])
    kind, permissions = LACKED[name]
    outsider = world.user("Otto")
    text = f"{kind}: It also changes flags in development. It needs the permission {permissions}."
    assert refused(lambda: apply(world, outsider, request)) == (409, text)
    # SKIP_CHANGE_REQUEST replaces no other permission.
    role = roles.insert(world.conn, "Skipper", type="custom")
    fixtures.allow(world.conn, role, "SKIP_CHANGE_REQUEST")
    world.member("default", outsider, role)
    world.conn.execute("UPDATE project_environments SET required_approvals = 1")
    assert refused(lambda: apply(world, outsider, request)) == (409, text)
    world.conn.execute("UPDATE project_environments SET required_approvals = NULL")
    with world.conn.transaction(force_rollback=True):
        apply(world, applier, request)
    # Nothing else is reached.
    world.conn.execute("DELETE FROM strategies WHERE id = 'dev'")
    world.conn.execute("DELETE FROM project_environments WHERE environment = 'development'")
    apply(world, outsider, request)


@pytest.mark.parametrize(("name", "permission"), [("update", "UPDATE_SEGMENT"), ("delete", "DELETE_SEGMENT")])
def test_segment_of_all_projects_needs_the_permission_of_the_applier(world, victor, applier, name, permission):
    body = {"id": 2} | ({"name": "new", "constraints": []} if name == "update" else {})
    request = propose(world, victor, change(f"{name}Segment", body))
    text = f"segment 2: A change of a segment of all projects needs the permission {permission}."
    assert refused(lambda: apply(world, applier, request)) == (409, text)
    role = roles.insert(world.conn, "Keeper", type="root-custom")
    fixtures.allow(world.conn, role, permission)
    keeper = world.user("Kate", root_role=role)
    apply(world, keeper, request)


def test_segment_that_is_used_in_another_protected_place_needs_skip_there(world, alice, victor, applier):
    world.strategy(world.flag("dev"), strategy_id="dev")
    for strategy in ("dev", "last"):
        fixtures.add_segment(world.conn, strategy, 1)
    request = propose(world, victor, DIRECT["update segment"][0])
    world.conn.execute("UPDATE project_environments SET required_approvals = 1")
    assert refused(lambda: apply(world, applier, request)) == (409, f"segment 1: {LACKS}")
    apply(world, alice, request)


def test_search_finds_the_events_of_a_change_request(world, alice, victor, applier):
    request = propose(world, victor, DIRECT["on"][0], DIRECT["variants"][0])
    assert alice.post(DIRECT["off"][1][1]).status_code == 200
    direct = world.last_event_id()
    apply(world, applier, request)
    group = f"change-request-{request}"
    found: Any = alice.get(PATH, query_string={"groupId": f"IS:{group}"}).json
    assert found["total"] == len(found["events"]) == 2
    assert {(event["groupType"], event["groupId"]) for event in found["events"]} == {("change-request", group)}
    assert victor.get(PATH, query_string={"groupId": f"IS:{group}"}).json == found
    assert "groupId" not in alice.get(PATH, query_string={"id": f"IS:{direct}"}).json["events"][0]
    lines = alice.get(PATH, query_string={"groupId": f"IS:{group}"}, headers={"Accept": "application/x-ndjson"})
    assert len(lines.get_data().splitlines()) == 2
    assert alice.get(PATH, query_string={"groupId": "IS:change-request-999999999999999999"}).json["total"] == 0
    for wrong in ("change-request-", "change-request-x", "7change-request-", f"change-request-{10**20}", f"{group},1"):
        assert alice.get(PATH, query_string={"groupId": f"IS_ANY_OF:{wrong}"}).status_code == 400
