"""Which strategies use which segments: listed and set."""

from typing import Any
from urllib.parse import urljoin

import pytest

from sql.database import Connection, rows
from sql.people import roles
from sql.vocabulary import segments
from tests.support import fixtures
from tests.support.event_log import event, events
from tests.support.fingerprint import fingerprint
from tests.support.segments import PATH
from tests.support.world import World, refused

GIVE = f"{PATH}/strategies"


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
    return {
        "projectId": "default",
        "strategyId": strategy,
        "environmentId": "development",
        "segmentIds": list(segment_ids),
    } | fields


def given(conn: Connection, strategy: str) -> list[int]:
    """The segments that the table says a strategy has."""
    found = rows(
        conn, "SELECT segment_id FROM strategy_segments WHERE strategy_id = %(id)s ORDER BY 1", {"id": strategy}
    )
    return [row["segment_id"] for row in found]


def some(conn: Connection, count: int, **fields: Any) -> list[int]:
    """The ids of segments."""
    of = fields.get("project", "all")
    return [segments.insert(conn, f"{number} of {of}", [], **fields) for number in range(count)]


# Giving them


def test_segments_replace_those_that_a_strategy_has(world, eve, conn, flag, strategy):
    one, two, three = some(conn, 3)
    own = segments.insert(conn, "own", [], project="default")
    fixtures.tag(conn, flag, "simple", "tagged")
    for segment in (one, two):
        fixtures.add_segment(conn, strategy, segment)
    since = world.last_event_id()
    body = asked(strategy, own, two, three, two)
    answer = eve.post(GIVE, json=dict(reversed(body.items())))
    assert (answer.status_code, answer.json) == (201, body)
    assert (
        answer.headers["Location"]
        == f"../projects/default/features/checkout/environments/development/strategies/{strategy}"
    )
    assert given(conn, strategy) == [two, three, own]
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
    assert events(world, since) == [event("feature-strategy-update", eve, data=after, pre_data=before, **about)]
    assert eve.get(urljoin(GIVE, answer.headers["Location"])).json == after


def test_an_empty_list_takes_all(world, alice, conn, strategy):
    [segment] = some(conn, 1)
    assert alice.post(GIVE, json=asked(strategy, segment)).status_code == 201
    since = world.last_event_id()
    assert alice.post(GIVE, json=asked(strategy)).json["segmentIds"] == []
    assert given(conn, strategy) == []
    [row] = world.events(since)
    assert (row["pre_data"]["segments"], row["data"]["segments"]) == ([segment], [])


def test_setting_the_same_segments_again_records_nothing(world, alice, conn, strategy):
    one, two = some(conn, 2)
    assert alice.post(GIVE, json=asked(strategy, one, two)).status_code == 201
    since, before = world.last_event_id(), fingerprint(conn)
    for ids in ((one, two), (two, one, one)):
        answer = alice.post(GIVE, json=asked(strategy, *ids))
        assert (answer.status_code, answer.json["segmentIds"]) == (201, list(ids))
    assert (world.events(since), fingerprint(conn)) == ([], before)


def test_a_strategy_can_have_as_many_segments_as_the_setting_allows(app, world, alice, conn, strategy, monkeypatch):
    six = some(conn, 6)
    since, before = world.last_event_id(), fingerprint(conn)
    assert (
        refused(alice.post(GIVE, json=asked(strategy, *six)))
        == "segmentIds: must have at most 5 segments (setting MAX_STRATEGY_SEGMENTS)"
    )
    assert (world.events(since), fingerprint(conn)) == ([], before)
    assert alice.post(GIVE, json=asked(strategy, *six[:5])).status_code == 201
    monkeypatch.setitem(app.config, "MAX_STRATEGY_SEGMENTS", 2)
    # What it has too many, it may keep.
    assert alice.post(GIVE, json=asked(strategy, *six[1:])).status_code == 201
    assert alice.post(GIVE, json=asked(strategy, *six[:2])).status_code == 201
    refused(alice.post(GIVE, json=asked(strategy, *six[:3])))


def test_a_strategy_can_only_have_segments_of_its_project_or_of_all_projects(world, alice, apollo, conn, strategy):
    [of_apollo] = some(conn, 1, project=apollo)
    [shared] = some(conn, 1)
    since, before = world.last_event_id(), fingerprint(conn)
    message = "segmentIds: must be ids of existing segments of this project or of all projects"
    for ids in ((of_apollo,), (shared, of_apollo), (shared, 999), (2**31,), (2**63 - 1,)):
        assert refused(alice.post(GIVE, json=asked(strategy, *ids))) == message
    assert (world.events(since), fingerprint(conn)) == ([], before)


def test_the_strategy_must_be_in_the_project_and_environment_of_the_body(world, alice, apollo, conn, strategy):
    archived = world.strategy(world.flag("gone", archived_at="2026-01-01T00:00:00Z"))
    [segment] = some(conn, 1)
    since, before = world.last_event_id(), fingerprint(conn)
    bodies = [
        asked("no-such-strategy", segment),
        asked(strategy, segment, environmentId="production"),
        asked(strategy, segment, environmentId="nowhere"),
        asked(strategy, segment, projectId=apollo),
        asked(strategy, segment, projectId="nowhere"),
        asked(archived, segment),
        # Whether there is such a strategy comes before whether there is such a segment.
        asked("no-such-strategy", 999),
    ]
    messages = {refused(alice.post(GIVE, json=body), 404, "NotFoundError") for body in bodies}
    assert messages == {
        "No strategy in this project and environment has that id, or its flag is archived.",
        "No project has that id.",
    }
    assert (world.events(since), fingerprint(conn)) == ([], before)


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
def test_an_invalid_field_is_refused_and_named(world, alice, conn, strategy, change, message):
    since, before = world.last_event_id(), fingerprint(conn)
    assert refused(alice.post(GIVE, json=asked(strategy) | change)) == message
    assert (world.events(since), fingerprint(conn)) == ([], before)


def test_every_field_is_required(alice):
    assert refused(alice.post(GIVE, json={})) == "; ".join(
        f"{name}: is required" for name in ("projectId", "strategyId", "environmentId", "segmentIds")
    )


def test_the_caller_needs_the_permission_in_that_project_and_environment(world, olga, victor, apollo, conn, strategy):
    role = roles.insert(conn, "Developer")
    fixtures.allow(conn, role, "UPDATE_FEATURE_STRATEGY", environment="development")
    dora = world.user("Dora")
    world.member("default", dora, role)
    [segment] = some(conn, 1)
    production = world.strategy(world.flag("other"), "production")
    theirs = world.strategy(world.flag("rocket", apollo))
    since, before = world.last_event_id(), fingerprint(conn)
    for caller, body in (
        (victor, asked(strategy, segment)),
        (olga, asked(strategy, segment)),
        (dora, asked(production, segment, environmentId="production")),
        (dora, asked(theirs, segment, projectId=apollo)),
        (dora, asked("no-such-strategy", segment, projectId="nowhere")),
    ):
        refused(caller.post(GIVE, json=body), 403, "NoAccessError")
    # Of another project's strategy, the permission in one's own is none.
    for body in (asked(theirs, segment), asked("no-such-strategy", segment)):
        message = refused(dora.post(GIVE, json=body), 404, "NotFoundError")
        assert message == "No strategy in this project and environment has that id, or its flag is archived."
    assert (world.events(since), fingerprint(conn)) == ([], before)
    assert dora.post(GIVE, json=asked(strategy, segment)).status_code == 201
    assert olga.post(GIVE, json=asked(theirs, segment, projectId=apollo)).status_code == 201


# Telling them


def test_the_strategies_of_a_segment_are_listed_with_their_place(world, alice, victor, apollo, conn, flag, strategy):
    used, unused = some(conn, 2)
    production = world.strategy(flag, "production", name="default")
    rocket = world.strategy(world.flag("rocket", apollo))
    archived = world.strategy(world.flag("gone", archived_at="2026-01-01T00:00:00Z"))
    for each in (strategy, production, rocket, archived):
        fixtures.add_segment(conn, each, used)

    def use(
        strategy: str,
        flag: str,
        environment: str = "development",
        project: str = "default",
        name: str = "flexibleRollout",
    ) -> dict:
        return {
            "id": strategy,
            "projectId": project,
            "featureName": flag,
            "strategyName": name,
            "environment": environment,
        }

    seen = [use(strategy, "checkout"), use(production, "checkout", "production", name="default")]
    hidden = use(rocket, "rocket", project=apollo)
    assert victor.get(f"{PATH}/{used}/strategies").json == {"strategies": seen, "changeRequestStrategies": []}
    assert alice.get(f"{PATH}/{used}/strategies").json == {"strategies": [*seen, hidden], "changeRequestStrategies": []}
    assert alice.get(f"{PATH}/{unused}/strategies").json == {"strategies": [], "changeRequestStrategies": []}


def test_the_segments_of_a_strategy_are_listed_by_name(world, alice, victor, max, apollo, conn, strategy):
    ids = {
        name: segments.insert(conn, name, [], project=project)
        for name, project in (("b", None), ("a", "default"), ("c", None))
    }
    for name in "ab":
        fixtures.add_segment(conn, strategy, ids[name])
    rocket = world.strategy(world.flag("rocket", apollo))
    fixtures.add_segment(conn, rocket, ids["c"])
    path = f"{PATH}/strategies"
    for caller in (alice, victor):
        found = caller.get(f"{path}/{strategy}").json
        assert found == {"segments": [caller.get(f"{PATH}/{ids[name]}").json for name in "ab"]}
    for caller in (alice, max):
        assert [segment["name"] for segment in caller.get(f"{path}/{rocket}").json["segments"]] == ["c"]
    assert victor.get(f"{path}/{rocket}").json == {"segments": []}
    for word in ("no-such-strategy", "strategies", "7", world.strategy(world.flag("bare"))):
        assert alice.get(f"{path}/{word}").json == {"segments": []}


def test_segments_of_hidden_projects_are_not_listed(alice, victor, apollo, conn, strategy):
    """As when a flag has left the project of its segment."""
    [segment] = some(conn, 1, project=apollo)
    fixtures.add_segment(conn, strategy, segment)
    assert victor.get(f"{PATH}/strategies/{strategy}").json == {"segments": []}
    assert len(alice.get(f"{PATH}/strategies/{strategy}").json["segments"]) == 1


@pytest.mark.parametrize("word", ["%00", "%ff", "%ED%A0%80", "x" * 4000, "%zz"])
def test_a_strange_strategy_id_in_the_path_is_no_server_error(alice, word):
    response = alice.get(f"{PATH}/strategies/{word}")
    assert response.status_code < 500, response.text
