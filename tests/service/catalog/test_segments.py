"""Segments and their strategies: created, read, changed and deleted over HTTP."""

from typing import Any
from urllib.parse import urljoin

import pytest

from sql.catalog import context_fields, segments
from sql.database import Connection, rows, value
from sql.people import roles
from tests.support import fixtures
from tests.support.event_log import event, events
from tests.support.fingerprint import fingerprint
from tests.support.segments import ASKED, KEPT, PATH, body, curator, limit, make, stored
from tests.support.world import World, refused

GIVE = f"{PATH}/strategies"
ARCHIVED = "2026-01-01T00:00:00Z"


def used(world: World, segment: int, flag: str = "checkout", project: str = "default", **fields: Any) -> str:
    """A strategy of a new flag that has the segment."""
    strategy = world.strategy(world.flag(flag, project, **fields))
    fixtures.add_segment(world.conn, strategy, segment)
    return strategy


def in_use(*places: str) -> str:
    """The refusal of a segment that is used there."""
    return f"The segment is used by {', '.join(places)}. Remove it there first."


# --- Creating ---------------------------------------------------------------------------------------------------------


def test_segment_is_created(world, eve, apollo, conn):
    since = world.last_event_id()
    answer = eve.post(PATH, json={"name": " Beta testers ", "description": "Früh dran", "constraints": [ASKED]})
    assert answer.status_code == 201
    created = answer.json
    fields = {"id": created["id"], "name": "Beta testers", "description": "Früh dran", "constraints": [KEPT]}
    assert created == fields | {"createdBy": eve.email, "createdAt": created["createdAt"]}
    assert answer.headers["Location"] == f"segments/{created['id']}"
    assert stored(conn, created["id"]) == fields | {"project_id": None, "created_by": eve.email}
    assert eve.get(f"{PATH}/{created['id']}").json == created
    crew = eve.post(PATH, json={"name": "Crew", "constraints": [], "project": apollo}).json
    assert (crew["project"], crew["description"], crew["constraints"]) == (apollo, None, [])
    assert stored(conn, crew["id"])["project_id"] == apollo
    first, second = (event("segment-created", eve, data=segment) for segment in (created, crew))
    assert events(world, since) == [first, second | {"project": apollo}]


@pytest.mark.parametrize("fields", [{"project": None, "description": None}, {"project": ""}])
def test_segment_without_a_project_is_for_all(world, conn, fields):
    created = world.api_key(name="deploy").post(PATH, json={"name": "All", "constraints": []} | fields).json
    assert "project" not in created
    assert (created["description"], created["createdBy"]) == (None, "deploy")
    assert stored(conn, created["id"])["project_id"] is None


def test_name_is_unique(alice, victor, apollo):
    make(alice, project=apollo)
    segment = make(alice, "beta")
    for answer in (
        alice.post(PATH, json=body(" Beta ")),
        alice.put(f"{PATH}/{segment}", json=body("Beta")),
        victor.post(f"{PATH}/validate", json={"name": " Beta "}),
    ):
        assert refused(answer, 409, "NameExistsError") == "name: a segment with this name already exists"


def test_validate_name(victor):
    answer = victor.post(f"{PATH}/validate", json={"name": "free"})
    assert (answer.status_code, answer.data) == (204, b"")
    for asked in ({}, {"name": ""}, {"name": "x" * 256}, {"name": 5}, {"name": "x", "constraints": []}):
        refused(victor.post(f"{PATH}/validate", json=asked))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": None}, "name: must not be null"),
        ({"name": " "}, "name: must not be empty"),
        ({"name": "x" * 256}, "name: must be at most 255 characters long"),
        ({"constraints": None}, "constraints: must not be null"),
        ({"constraints": {}}, "constraints: must be a list"),
        (
            {"constraints": [{"contextName": "userId", "operator": "NUM_GT"}]},
            "constraints.0.value: is required with this operator",
        ),
        (
            {"constraints": [ASKED | {"contextName": "other"}]},
            "constraints.0.contextName: must be an existing context field, not other",
        ),
        ({"project": "nowhere"}, "project: must be an existing project"),
        ({"project": 5}, "project: must be a string"),
        ({"projects": 7}, "projects: unknown property"),
    ],
)
def test_invalid_segment_is_refused(alice, change, message):
    segment = make(alice, "x" * 255)
    assert refused(alice.post(PATH, json=body() | change)) == message
    assert refused(alice.put(f"{PATH}/{segment}", json=body() | change)) == message


def test_name_and_constraints_are_required(alice):
    # An invalid body is refused before a missing segment.
    for send, path in ((alice.post, PATH), (alice.put, f"{PATH}/999")):
        assert refused(send(path, json={"name": "x"})) == "constraints: is required"
        assert refused(send(path, json={"constraints": []})) == "name: is required"


def test_constraints_have_legal_values(alice, conn):
    context_fields.insert(conn, "plan", legal_values=[{"value": "free"}, {"value": "paid"}])
    plan = {"contextName": "plan", "operator": "IN"}
    message = refused(alice.post(PATH, json={"name": "x", "constraints": [plan | {"values": ["free", "gold"]}]}))
    assert message == "constraints.0: must have only legal values of the context field plan"
    make(alice, constraints=[plan | {"values": ["free"]}])


# Constraints with so many values.
OF = [ASKED | {"values": [str(number) for number in range(count)]} for count in range(6)]
TOO_MANY_CONSTRAINTS = "constraints: must have at most 2 constraints (setting MAX_CONSTRAINTS)"


def test_numbers_of_segments_constraints_and_values_are_limited(app, alice, monkeypatch):
    limit(app, monkeypatch, MAX_SEGMENTS=2, MAX_CONSTRAINTS=2, MAX_CONSTRAINT_VALUES=3, MAX_SEGMENT_VALUES=5)
    for constraints, message in (
        ([OF[1]] * 3, TOO_MANY_CONSTRAINTS),
        # Then their patterns are not compiled, which takes up to 0.3 seconds for each.
        ([{"contextName": "userId", "operator": "REGEX", "value": "("}] * 3, TOO_MANY_CONSTRAINTS),
        ([OF[4]], "constraints.0.values: must have at most 3 values (setting MAX_CONSTRAINT_VALUES)"),
        ([OF[3], OF[3]], "constraints: must have at most 5 values in total (setting MAX_SEGMENT_VALUES)"),
    ):
        assert refused(alice.post(PATH, json=body(constraints=constraints))) == message
    make(alice, "one", constraints=[OF[3], OF[2]])
    make(alice, "two")
    message = "There can be at most 2 segments in this instance. The setting MAX_SEGMENTS raises this limit."
    assert refused(alice.post(PATH, json=body("three"))) == message


def test_segment_above_a_limit_can_stay_but_not_grow(app, alice, monkeypatch):
    path = f"{PATH}/{make(alice, constraints=[OF[4], OF[4]])}"
    limit(app, monkeypatch, MAX_CONSTRAINTS=1, MAX_CONSTRAINT_VALUES=3, MAX_SEGMENT_VALUES=6)
    assert alice.put(path, json=body("Kept", constraints=[OF[4], OF[4]])).status_code == 204
    for constraints, message in (
        ([OF[1]] * 3, TOO_MANY_CONSTRAINTS),
        ([OF[5], OF[1]], "constraints.0.values: must have at most 4 values (setting MAX_CONSTRAINT_VALUES)"),
    ):
        assert refused(alice.put(path, json=body(constraints=constraints))) == message
    limit(app, monkeypatch, MAX_CONSTRAINTS=9)
    message = refused(alice.put(path, json=body(constraints=[OF[3]] * 3)))
    assert message == "constraints: must have at most 8 values in total (setting MAX_SEGMENT_VALUES)"
    assert alice.put(path, json=body(constraints=[OF[3]])).status_code == 204
    assert "at most 6 values" in refused(alice.put(path, json=body(constraints=[OF[3], OF[3], OF[1]])))


# --- Reading ----------------------------------------------------------------------------------------------------------


def test_list_has_uses(world, alice, apollo, conn):
    assert alice.get(PATH).json == {"segments": []}
    ids = {name: segments.insert(conn, name, [ASKED]) for name in ("c", "a", "b")}
    created = segments.insert(conn, "d", [], project=apollo, description="x", created_by="y")
    one, two, three = world.flag("one"), world.flag("two"), world.flag("three", apollo)
    archived = world.flag("gone", archived_at=ARCHIVED)
    for segment, flag, environment in (
        ("a", one, "development"),
        ("a", one, "development"),
        ("a", one, "production"),
        ("a", two, "development"),
        ("a", three, "development"),
        ("a", archived, "development"),
        ("b", archived, "development"),
    ):
        fixtures.add_segment(conn, world.strategy(flag, environment), ids[segment])
    listed = alice.get(PATH).json["segments"]
    assert [(entry["name"], entry["usedInFeatures"], entry["usedInProjects"]) for entry in listed] == [
        ("a", 3, 2),
        ("b", 0, 0),
        ("c", 0, 0),
        ("d", 0, 0),
    ]
    assert listed[3] == alice.get(f"{PATH}/{created}").json | {"usedInFeatures": 0, "usedInProjects": 0}
    assert ["project" in entry for entry in listed] == [False, False, False, True]


def test_segment_of_a_hidden_project_is_404(world, alice, victor, max, apollo):
    hidden, shown = make(alice, "hidden", project=apollo), make(alice, "shown")
    carla = curator(world, "default")
    for path in (f"{PATH}/{hidden}", f"{PATH}/{hidden}/strategies"):
        assert refused(victor.get(path), 404, "NotFoundError") == "No segment has that id."
        assert max.get(path).status_code == 200
    assert [segment["id"] for segment in victor.get(PATH).json["segments"]] == [shown]
    assert [segment["id"] for segment in max.get(PATH).json["segments"]] == [hidden, shown]
    for response in (carla.delete(f"{PATH}/{hidden}"), carla.put(f"{PATH}/{hidden}", json=body())):
        assert refused(response, 404, "NotFoundError") == "No segment has that id."


def test_unknown_segment_is_404_and_an_invalid_id_400(alice):
    for call in (alice.get, alice.delete, lambda path: alice.put(path, json=body())):
        for word in ("999", str(2**31), "9" * 50):
            refused(call(f"{PATH}/{word}"), 404, "NotFoundError")
        for word in ("0", "-1", "x", "1.0", "%201", "٣"):
            refused(call(f"{PATH}/{word}"))
    refused(alice.get(f"{PATH}/x/strategies"))
    refused(alice.get(f"{PATH}/999/strategies"), 404, "NotFoundError")


# --- Changing and deleting --------------------------------------------------------------------------------------------


def test_segment_is_changed(world, alice, eve, apollo, conn):
    segment = make(alice, description="Before")
    path = f"{PATH}/{segment}"
    before = alice.get(path).json
    since = world.last_event_id()
    answer = eve.put(path, json={"name": " Gamma ", "constraints": [], "project": apollo})
    assert (answer.status_code, answer.data) == (204, b"")
    after = eve.get(path).json
    # The description that the body omits stays, and so does the creator.
    assert after == before | {"name": "Gamma", "constraints": [], "project": apollo}
    row = {"id": segment, "name": "Gamma", "description": "Before", "project_id": apollo, "constraints": []}
    assert stored(conn, segment) == row | {"created_by": alice.email}
    assert events(world, since) == [event("segment-updated", eve, data=after, pre_data=before, project=apollo)]
    since = world.last_event_id()
    assert alice.put(path, json=body()).status_code == 204
    last = alice.get(path).json
    assert "project" not in last
    assert events(world, since) == [event("segment-updated", alice, data=last, pre_data=after)]


def test_change_without_effect_records_no_event(world, alice, apollo, conn):
    segment, other = make(alice, description="Same", project=apollo), make(alice, "Other")
    since, before = world.last_event_id(), fingerprint(conn)
    for constraint in (ASKED, KEPT):
        same = body(description="Same", project=apollo, constraints=[constraint])
        assert alice.put(f"{PATH}/{segment}", json=same).status_code == 204
    assert alice.put(f"{PATH}/{other}", json=body(" Other ", project=None)).status_code == 204
    assert (world.events(since), fingerprint(conn)) == ([], before)


def test_old_segment_without_values_can_be_changed(alice, conn):
    segment = segments.insert(conn, "old", [{"contextName": "userId", "operator": "IN"}])
    assert alice.put(f"{PATH}/{segment}", json=body()).status_code == 204


def test_segment_is_deleted(world, alice, eve, apollo, conn):
    shared, owned = make(alice, "shared"), make(alice, "owned", project=apollo)
    before = {segment: alice.get(f"{PATH}/{segment}").json for segment in (shared, owned)}
    since = world.last_event_id()
    for segment in (shared, owned):
        answer = eve.delete(f"{PATH}/{segment}")
        assert (answer.status_code, answer.data, stored(conn, segment)) == (204, b"", {})
    first, second = (event("segment-deleted", eve, pre_data=record) for record in before.values())
    assert events(world, since) == [first, second | {"project": apollo}]


def test_used_segment_cannot_be_deleted(world, alice, apollo):
    carla = curator(world, "default")
    segment = make(carla, project="default")

    def problem(caller: Any) -> str:
        return refused(caller.delete(f"{PATH}/{segment}"), 409, "ConflictError")

    used(world, segment, "rocket", apollo)
    # Carla does not see apollo.
    assert problem(carla) == in_use("1 hidden place")
    used(world, segment)
    assert problem(carla) == in_use("flag checkout in development", "1 more place")
    used(world, segment, "old", archived_at=ARCHIVED)
    places = ("archived flag old in development", "flag checkout in development", "flag rocket in development")
    assert problem(alice) == in_use(*places)
    world.conn.execute("DELETE FROM flags WHERE archived_at IS NULL")
    assert problem(alice) == in_use(places[0])


def test_used_segment_cannot_leave_its_projects(world, alice, apollo, conn):
    path = f"{PATH}/{make(alice)}"
    used(world, int(path.rpartition("/")[2]))
    used(world, int(path.rpartition("/")[2]), "rocket", apollo)
    for project, flag in (("default", "rocket"), (apollo, "checkout")):
        message = refused(alice.put(path, json=body(project=project)), 409, "ConflictError")
        assert message == in_use(f"flag {flag} in development")
    assert alice.put(path, json=body("Gamma")).status_code == 204
    conn.execute("DELETE FROM flags WHERE project_id = 'apollo'")
    assert alice.put(path, json=body(project="default")).status_code == 204
    refused(alice.put(path, json=body(project=apollo)), 409, "ConflictError")
    # Its flag has left the project. The other fields can change.
    conn.execute("UPDATE segments SET project_id = 'apollo'")
    assert alice.put(path, json=body("Delta", project=apollo)).status_code == 204
    assert alice.put(path, json=body()).status_code == 204


def test_segment_of_a_default_strategy_is_used(alice, apollo):
    segment = make(alice)
    path = f"/api/admin/projects/{apollo}/environments/production/default-strategy"
    assert alice.post(path, json={"name": "flexibleRollout", "segments": [segment]}).status_code == 200
    refused(alice.delete(f"{PATH}/{segment}"), 409, "ConflictError")
    refused(alice.put(f"{PATH}/{segment}", json=body(project="default")), 409, "ConflictError")
    assert alice.put(f"{PATH}/{segment}", json=body(project=apollo)).status_code == 204
    assert alice.post(path, json={"name": "flexibleRollout"}).status_code == 200
    assert alice.delete(f"{PATH}/{segment}").status_code == 204


# --- Permissions ------------------------------------------------------------------------------------------------------


def test_curator_creates_segments_in_own_projects(world, apollo):
    carla = curator(world, apollo)
    world.project("zeus")
    make(carla, project=apollo)
    # The message is the same for a project that does not exist.
    for project in ("default", "zeus", "nowhere"):
        message = refused(carla.post(PATH, json=body("x", project=project)), 403, "NoAccessError")
        assert message == "You lack the permission CREATE_SEGMENT or UPDATE_PROJECT_SEGMENT in this project."
    message = refused(carla.post(PATH, json=body("x")), 403, "NoAccessError")
    assert message == "You lack the permission CREATE_SEGMENT."


def test_curator_changes_segments_of_own_projects(world, alice, apollo):
    world.project("zeus")
    carla = curator(world, apollo, "zeus")
    mine, other, shared = (make(alice, str(place), project=place) for place in (apollo, "default", None))
    for segment in (other, shared):
        refused(carla.put(f"{PATH}/{segment}", json=body(project=apollo)), 403, "NoAccessError")
        refused(carla.put(f"{PATH}/{segment}", data="x"), 403, "NoAccessError")
        refused(carla.delete(f"{PATH}/{segment}"), 403, "NoAccessError")
    for project in ("default", "nowhere", None):
        refused(carla.put(f"{PATH}/{mine}", json=body(project=project)), 403, "NoAccessError")
    since = world.last_event_id()
    assert carla.put(f"{PATH}/{mine}", json=body(project="zeus")).status_code == 204
    assert carla.delete(f"{PATH}/{mine}").status_code == 204
    expected = [("segment-updated", "zeus"), ("segment-deleted", "zeus")]
    assert [(row["type"], row["project"]) for row in world.events(since)] == expected


# --- Segments of strategies -------------------------------------------------------------------------------------------


@pytest.fixture
def flag(world: World) -> int:
    """A live flag of project default."""
    return world.flag("checkout")


@pytest.fixture
def strategy(world: World, flag: int) -> str:
    """A strategy of it in development."""
    return world.strategy(flag, name="flexibleRollout", title="Slowly", parameters={"rollout": "5"})


def asked(strategy: str, *segment_ids: Any, **fields: Any) -> dict[str, Any]:
    """A body that gives a strategy segments."""
    ids = {"projectId": "default", "strategyId": strategy, "environmentId": "development"}
    return ids | {"segmentIds": list(segment_ids)} | fields


def some(conn: Connection, count: int, **fields: Any) -> list[int]:
    """The ids of segments."""
    of = fields.get("project", "all")
    return [segments.insert(conn, f"{number} of {of}", [], **fields) for number in range(count)]


def test_segments_of_a_strategy_are_replaced(world, eve, conn, flag, strategy):
    one, two, three = some(conn, 3)
    own = segments.insert(conn, "own", [], project="default")
    fixtures.tag(conn, flag, "simple", "tagged")
    for segment in (one, two):
        fixtures.add_segment(conn, strategy, segment)
    since = world.last_event_id()
    sent = asked(strategy, own, two, three, two)
    answer = eve.post(GIVE, json=dict(reversed(sent.items())))
    assert (answer.status_code, answer.json) == (201, sent)
    place = f"../projects/default/features/checkout/environments/development/strategies/{strategy}"
    assert answer.headers["Location"] == place
    kept = rows(conn, "SELECT segment_id FROM strategy_segments ORDER BY 1")
    assert [row["segment_id"] for row in kept] == [two, three, own]
    record = {
        "id": strategy,
        "name": "flexibleRollout",
        "title": "Slowly",
        "disabled": False,
        "featureName": "checkout",
        "sortOrder": 0,
        "constraints": [],
        "variants": [],
        "parameters": {"rollout": "5"},
    }
    after, before = record | {"segments": [two, three, own]}, record | {"segments": [one, two]}
    about = {
        "project": "default",
        "environment": "development",
        "feature_name": "checkout",
        "tags": [{"type": "simple", "value": "tagged"}],
    }
    update = event("feature-strategy-update", eve, data=after, pre_data=before, **about)
    assert events(world, since) == [update]
    assert eve.get(urljoin(GIVE, place)).json == after
    for ids in ((own, two, three), (three, three, two, own)):
        assert eve.post(GIVE, json=asked(strategy, *ids)).json["segmentIds"] == list(ids)
    assert len(world.events(since)) == 1
    assert eve.post(GIVE, json=asked(strategy)).json["segmentIds"] == []
    assert value(conn, "SELECT count(*) FROM strategy_segments") == 0
    assert events(world, since) == [update, update | {"data": record | {"segments": []}, "pre_data": after}]


def test_number_of_segments_of_a_strategy_is_limited(app, alice, conn, strategy, monkeypatch):
    six = some(conn, 6)
    message = refused(alice.post(GIVE, json=asked(strategy, *six)))
    assert message == "segmentIds: must have at most 5 segments (setting MAX_STRATEGY_SEGMENTS)"
    assert alice.post(GIVE, json=asked(strategy, *six[:5])).status_code == 201
    monkeypatch.setitem(app.config, "MAX_STRATEGY_SEGMENTS", 2)
    # As many as before are still accepted.
    assert alice.post(GIVE, json=asked(strategy, *six[1:])).status_code == 201
    assert alice.post(GIVE, json=asked(strategy, *six[:2])).status_code == 201
    refused(alice.post(GIVE, json=asked(strategy, *six[:3])))


def test_strategy_cannot_have_segments_of_another_project(alice, apollo, conn, strategy):
    [of_apollo], [shared] = some(conn, 1, project=apollo), some(conn, 1)
    message = "segmentIds: must be ids of existing segments of this project or of all projects"
    for ids in ((of_apollo,), (shared, of_apollo), (shared, 999), (2**31,), (2**63 - 1,)):
        assert refused(alice.post(GIVE, json=asked(strategy, *ids))) == message


def test_unknown_strategy_is_404(world, alice, apollo, conn, strategy):
    archived = world.strategy(world.flag("gone", archived_at=ARCHIVED))
    [segment] = some(conn, 1)
    unknown = "No strategy in this project and environment has that id, or its flag is archived."
    for sent, message in (
        (asked("no-such-strategy", segment), unknown),
        (asked(strategy, segment, environmentId="production"), unknown),
        (asked(strategy, segment, environmentId="nowhere"), unknown),
        (asked(strategy, segment, projectId=apollo), unknown),
        (asked(strategy, segment, projectId="nowhere"), "No project has that id."),
        (asked(archived, segment), unknown),
        # Before the check of the segments.
        (asked("no-such-strategy", 999), unknown),
    ):
        assert refused(alice.post(GIVE, json=sent), 404, "NotFoundError") == message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"segmentIds": None}, "segmentIds: must not be null"),
        ({"segmentIds": [0]}, f"segmentIds.0: must be from 1 to {2**63 - 1}"),
        ({"segmentIds": ["1"]}, "segmentIds.0: must be a whole number, without quotes"),
        ({"segmentIds": [1.0]}, "segmentIds.0: must be a whole number"),
        ({"strategyId": 7}, "strategyId: must be a string"),
        ({"additional": 1}, "additional: unknown property"),
    ],
)
def test_invalid_segments_of_a_strategy_are_refused(alice, strategy, change, message):
    assert refused(alice.post(GIVE, json=asked(strategy) | change)) == message
    required = "; ".join(f"{name}: is required" for name in asked(strategy))
    assert refused(alice.post(GIVE, json={})) == required


def test_segments_of_a_strategy_need_the_permission_there(world, olga, victor, apollo, conn, strategy):
    role = roles.insert(conn, "Developer")
    fixtures.allow(conn, role, "UPDATE_FEATURE_STRATEGY", environment="development")
    dora = world.user("Dora")
    world.member("default", dora, role)
    [segment] = some(conn, 1)
    production = world.strategy(world.flag("other"), "production")
    theirs = world.strategy(world.flag("rocket", apollo))
    for caller, sent in (
        (victor, asked(strategy, segment)),
        (olga, asked(strategy, segment)),
        (dora, asked(production, segment, environmentId="production")),
        (dora, asked(theirs, segment, projectId=apollo)),
        (dora, asked("no-such-strategy", segment, projectId="nowhere")),
    ):
        refused(caller.post(GIVE, json=sent), 403, "NoAccessError")
    refused(dora.post(GIVE, json=asked(theirs, segment)), 404, "NotFoundError")
    assert dora.post(GIVE, json=asked(strategy, segment)).status_code == 201
    assert olga.post(GIVE, json=asked(theirs, segment, projectId=apollo)).status_code == 201


def test_strategies_of_a_segment(world, alice, victor, apollo, conn, flag, strategy):
    [segment, unused] = some(conn, 2)
    production = world.strategy(flag, "production", name="default")
    rocket = world.strategy(world.flag("rocket", apollo))
    archived = world.strategy(world.flag("gone", archived_at=ARCHIVED))
    for each in (strategy, production, rocket, archived):
        fixtures.add_segment(conn, each, segment)
    names = ("id", "projectId", "featureName", "strategyName", "environment")
    uses = [
        (strategy, "default", "checkout", "flexibleRollout", "development"),
        (production, "default", "checkout", "default", "production"),
        (rocket, apollo, "rocket", "flexibleRollout", "development"),
    ]
    for caller, id, count in ((victor, segment, 2), (alice, segment, 3), (alice, unused, 0)):
        found = [dict(zip(names, use, strict=True)) for use in uses[:count]]
        answer = caller.get(f"{PATH}/{id}/strategies").json
        assert answer == {"strategies": found, "changeRequestStrategies": []}


def test_segments_of_a_strategy(world, alice, victor, max, apollo, conn, strategy):
    b, a, c = (segments.insert(conn, name, [], project=of) for name, of in (("b", None), ("a", "default"), ("c", None)))
    rocket = world.strategy(world.flag("rocket", apollo))
    for each, segment in ((strategy, b), (strategy, a), (rocket, c)):
        fixtures.add_segment(conn, each, segment)
    path = f"{PATH}/strategies"
    for caller in (alice, victor):
        listed = [caller.get(f"{PATH}/{segment}").json for segment in (a, b)]
        assert caller.get(f"{path}/{strategy}").json == {"segments": listed}
    for caller in (alice, max):
        assert [segment["name"] for segment in caller.get(f"{path}/{rocket}").json["segments"]] == ["c"]
    assert victor.get(f"{path}/{rocket}").json == {"segments": []}
    for word in ("no-such-strategy", "strategies", "7", "%zz", world.strategy(world.flag("bare"))):
        assert alice.get(f"{path}/{word}").json == {"segments": []}
    # A segment of a hidden project, which the flag of the strategy has left.
    conn.execute("UPDATE segments SET project_id = 'apollo' WHERE id = %s", [a])
    assert [segment["name"] for segment in victor.get(f"{path}/{strategy}").json["segments"]] == ["b"]
    assert len(alice.get(f"{path}/{strategy}").json["segments"]) == 2
