"""Ramp plans: strategies whose shares rise at given times."""

from datetime import UTC, datetime
from typing import Any

import pytest

from evaluation.document import Document
from rules.ramp_plans import Plan, recognize
from sql.catalog import segments
from sql.database import value
from tests.support import fixtures
from tests.support.flag_environments import path, recorded, tagged_flag
from tests.support.world import Caller, refused

NOW = datetime(2026, 12, 4, tzinfo=UTC)
SHOP = {"contextName": "appName", "operator": "IN", "values": ["shop"], "inverted": False, "caseInsensitive": False}


def time(operator: str, day: int, **changes: Any) -> dict[str, Any]:
    """A constraint on the current time: a day of December 2026."""
    value = f"2026-12-{day:02}T00:00:00.000Z"
    return SHOP | {"contextName": "currentTime", "operator": operator, "values": [], "value": value} | changes


def step(percent: int, day: int, *others: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The record of a step, whose id is its share."""
    return {
        "id": str(percent),
        "name": "flexibleRollout",
        "title": None,
        "disabled": False,
        "constraints": [*others, time("DATE_AFTER", day)],
        "variants": [],
        "segments": [],
        "parameters": {"rollout": str(percent), "groupId": "f", "stickiness": "default"},
        **changes,
    }


STAFF = step(100, 1, segments=[1], constraints=[], id="staff")
STEPS = [step(10, 1), step(50, 3), step(100, 5)]


def test_steps_are_one_plan_with_the_step_of_today():
    staff, plan, other = recognize([STAFF, *STEPS, STAFF], NOW)
    assert isinstance(plan, Plan)
    assert (staff, other) == (STAFF, STAFF)
    assert [(one.percent, one.reached) for one in plan.steps] == [(10, True), (50, True), (100, False)]
    assert (plan.today, plan.next, plan.ids) == (plan.steps[1], plan.steps[2], ["10", "50", "100"])
    assert plan.strategy == STEPS[0] | {"constraints": [], "parameters": STEPS[1]["parameters"]}


def test_plan_can_have_an_end_and_a_neighbor():
    ending = [step(share, day, SHOP, time("DATE_BEFORE", 4)) for share, day in ((10, 1), (20, 3))]
    first, second = recognize([*STEPS, *ending], NOW)
    assert isinstance(first, Plan)
    assert (first.until, first.ended, len(first.steps)) == (None, False, 3)
    assert isinstance(second, Plan)
    assert (second.until, second.ended, second.strategy["constraints"]) == ("2026-12-04T00:00:00.000Z", True, [SHOP])


def test_plan_before_its_first_step_is_on_for_nobody():
    [plan] = recognize([step(10, 5), step(20, 6)], NOW)
    assert isinstance(plan, Plan)
    assert (plan.today, plan.strategy["parameters"]["rollout"]) == (None, "0")


@pytest.mark.parametrize(
    "changed",
    [
        step(5, 3),
        step(50, 1),
        step(50, 6),
        step(50, 3, SHOP),
        step(50, 3, time("DATE_AFTER", 2)),
        step(50, 3, constraints=[]),
        step(50, 3, constraints=[time("DATE_AFTER", 3, inverted=True)]),
        step(50, 3, segments=[1]),
        step(50, 3, title="Half"),
        step(50, 3, disabled=True),
        step(50, 3, name="default", parameters={}),
        step(50, 3, parameters={"rollout": "50.5"}),
        step(50, 3, parameters=STEPS[1]["parameters"] | {"stickiness": "userId"}),
    ],
)
def test_steps_that_somebody_changed_are_ordinary_strategies(changed: dict[str, Any]):
    for found in ([STEPS[0], changed, STEPS[2]], STEPS[:1]):
        assert recognize(found, NOW) == found


# --- Plans of a flag --------------------------------------------------------------------------------------------------

PATH = path("/plan")
SOON, LATER, END = "2099-12-02T08:00:00.000Z", "2099-12-03T08:00:00.000Z", "2099-12-24T08:00:00.000Z"
POINTS = [{"percent": 10}, {"percent": 50, "at": SOON}, {"percent": 100, "at": LATER}]


def plans(caller: Caller, now: str) -> list[Plan | dict[str, Any]]:
    """The strategies of flag f in development at a time."""
    return recognize(caller.get(path("/strategies")).json, datetime.fromisoformat(now))


def shares(caller: Caller) -> list[str]:
    """The shares of the strategies of flag f in development, in their order."""
    return [strategy["parameters"].get("rollout", "all") for strategy in caller.get(path("/strategies")).json]


def test_created_plan_is_recognized(world, alice, conn):
    tagged_flag(world)
    ids = [segments.insert(conn, name, []) for name in ("beta", "staff")]
    common = {"title": "Ramp", "constraints": [SHOP], "groupId": "g", "disabled": True}
    since = world.last_event_id()
    answer = alice.post(PATH, json={"steps": POINTS, "until": END, "segments": [*reversed(ids), ids[0]], **common})
    assert answer.status_code == 200
    assert answer.json == alice.get(path("/strategies")).json
    [plan] = plans(alice, SOON)
    assert isinstance(plan, Plan)
    assert [(one.percent, one.at, one.reached) for one in plan.steps][1:] == [(50, SOON, True), (100, LATER, False)]
    parameters = {"rollout": "50", "groupId": "g", "stickiness": "default"}
    common |= {"parameters": parameters, "segments": ids}
    del common["groupId"]
    assert (plan.until, {key: plan.strategy[key] for key in common}) == (END, common)
    assert recorded(world, since) == ["feature-strategy-add"] * 3


def test_users_of_a_step_are_in_all_later_steps(world, alice):
    flag = world.flag("f", enabled_in=("development",))
    parameters = {"rollout": "5", "groupId": "g", "stickiness": "userId"}
    old = world.strategy(flag, parameters=parameters, constraints=[])
    client, within = world.api_key("client", environment="development"), list[set[int]]()
    for steps in ([], POINTS):
        if steps:
            alice.post(PATH, json={"steps": steps, "until": END, "replaces": old})
        document = Document(client.get("/api/client/features").json)
        for now in ("2099-01-01T00:00:00Z", "2099-12-02T08:00:01Z", "2099-12-03T08:00:01Z", END):
            contexts = [{"userId": str(user), "currentTime": now} for user in range(2000)]
            within.append({user for user, context in enumerate(contexts) if document.evaluate("f", context).enabled})
    five, ten, half, everybody, after_end = within[3:]
    assert five < ten < half < everybody
    assert [len(users) for users in (five, ten, half, everybody, after_end)] == [102, 198, 1017, 2000, 0]


def test_plan_takes_the_place_of_a_strategy_and_keeps_its_users(world, alice, conn):
    flag = tagged_flag(world, enabled_in=("development",))
    parameters = {"rollout": "25", "groupId": "g", "stickiness": "userId"}
    first = {"name": "userWithId", "parameters": {"userIds": "7"}, "constraints": [], "sort_order": 0}
    world.strategy(flag, **first)
    old = world.strategy(flag, title="Old", sort_order=1, parameters=parameters, constraints=[SHOP])
    world.strategy(flag, **first | {"sort_order": 2})
    # Moved flags have variants in another order than that of their names.
    for position, name in enumerate(("red", "blue")):
        fixtures.insert_variant(conn, flag, "development", old, name=name, weight=500, position=position)
    since = world.last_event_id()
    assert alice.post(PATH, json={"steps": POINTS, "replaces": old}).status_code == 200
    _, plan, _ = plans(alice, SOON)
    assert isinstance(plan, Plan)
    kept = (parameters | {"rollout": "50"}, [SHOP], "Old")
    assert tuple(plan.strategy[key] for key in ("parameters", "constraints", "title")) == kept
    assert plan.ids[0] == old
    assert alice.post(f"{PATH}/{old}/skip").status_code == 200
    variants = [one["variants"] for one in alice.get(path("/strategies")).json]
    assert [[variant["name"] for variant in found] for found in variants] == [[], *[["red", "blue"]] * 3, []]
    types = [type.removeprefix("feature-strategy-") for type in recorded(world, since)]
    assert types == ["add", "add", "update", "strategy-order-changed", "update"]
    # A plan can replace a plan. Its steps stay if they do not change.
    since = world.last_event_id()
    _, skipped, _ = plans(alice, SOON)
    assert isinstance(skipped, Plan)
    steps = [{"percent": step.percent, "at": step.at} for step in skipped.steps[:2]]
    assert alice.post(PATH, json={"steps": steps, "replaces": plan.ids[2]}).status_code == 200
    assert (shares(alice), recorded(world, since)) == (["all", "10", "50", "all"], ["feature-strategy-remove"])


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ({"steps": []}, "steps: must have at least one step"),
        ({"steps": [{"percent": n + 1} for n in range(11)]}, "steps: must have at most 10 steps"),
        (
            {"steps": [POINTS[1], POINTS[0] | {"at": LATER}]},
            "steps.1.percent: must be more than the share of the step before, 50 %",
        ),
        ({"steps": [POINTS[1], POINTS[2] | {"at": SOON}]}, f"steps.1.at: must be later than {SOON}"),
        ({"steps": [POINTS[1], {"percent": 60}]}, f"steps.1.at: must be later than {SOON}"),
        ({"until": LATER}, "until: must be later than the last step"),
        ({"constraints": [time("DATE_BEFORE", 1)]}, "constraints: must not compare currentTime"),
        ({"replaces": "old", "stickiness": "random"}, "stickiness: must be userId, as in the replaced strategy"),
        ({"replaces": "old", "groupId": "h"}, "groupId: must be g, as in the replaced strategy"),
        ({"segments": [99]}, "segments: must be ids of existing segments"),
        ({"stickiness": "none"}, "parameters.stickiness: must be default"),
    ],
)
def test_invalid_plans_are_refused(world, alice, sent, message):
    parameters = {"rollout": "5", "groupId": "g", "stickiness": "userId"}
    world.strategy(tagged_flag(world), strategy_id="old", parameters=parameters, constraints=[])
    assert refused(alice.post(PATH, json={"steps": POINTS} | sent)).startswith(message)
    assert shares(alice) == ["5"]


def test_plan_obeys_the_limit_of_strategies(world, alice, app, monkeypatch):
    tagged_flag(world)
    monkeypatch.setitem(app.config, "MAX_STRATEGIES", 2)
    assert "at most 2 strategies" in refused(alice.post(PATH, json={"steps": POINTS}))


EVERYBODY = {"parameters": {"rollout": "11"}, "constraints": []}


@pytest.mark.parametrize(
    ("other", "is_refused"),
    [
        (EVERYBODY, True),
        ({"name": "default", "parameters": {}, "constraints": []}, True),
        (EVERYBODY | {"constraints": [SHOP]}, True),
        (EVERYBODY | {"constraints": [time("DATE_AFTER", 1) | {"value": "2020-01-01T00:00:00.000Z"}]}, True),
        (EVERYBODY | {"constraints": [time("DATE_AFTER", 1) | {"value": SOON}]}, False),
        (EVERYBODY | {"constraints": [time("DATE_BEFORE", 1) | {"value": "2020-01-01T00:00:00.000Z"}]}, False),
        (EVERYBODY | {"constraints": [SHOP | {"values": ["app"]}]}, False),
        (EVERYBODY | {"parameters": {"rollout": "10"}}, False),
        (EVERYBODY | {"disabled": True}, False),
        ({"name": "userWithId", "parameters": {"userIds": "7"}, "constraints": []}, False),
    ],
)
def test_plan_is_refused_if_another_strategy_gives_more_already(world, alice, other, is_refused):
    strategy = world.strategy(tagged_flag(world), title="Wide", **other)
    answer = alice.post(PATH, json={"steps": POINTS, "constraints": [SHOP]})
    assert answer.status_code == (409 if is_refused else 200)
    if is_refused:
        assert refused(answer, 409, "ConflictError").startswith("The strategy Wide already gives 1")
        assert alice.post(PATH, json={"steps": POINTS, "replaces": strategy}).status_code == 200


def test_stop_deletes_the_steps_that_are_not_reached(world, alice):
    tagged_flag(world, enabled_in=("development",))
    first = alice.post(PATH, json={"steps": POINTS}).json[0]
    since, removed = world.last_event_id(), "feature-strategy-remove"
    answer = alice.post(f"{PATH}/{first['id']}/stop")
    assert (answer.json, recorded(world, since)) == ([first], [removed] * 2)
    assert "no plan" in refused(alice.post(f"{PATH}/{first['id']}/stop"), 404, "NotFoundError")
    # Without a reached step, the flag is switched off. Otherwise it would be on for everybody.
    steps = alice.post(PATH, json={"steps": POINTS[1:], "replaces": first["id"]}).json
    since = world.last_event_id()
    assert alice.post(f"{PATH}/{steps[1]['id']}/stop").json == []
    assert recorded(world, since) == [removed, "feature-environment-disabled", removed]


def test_delete_removes_all_steps_and_switches_the_flag_off(world, alice):
    tagged_flag(world, enabled_in=("development",))
    steps = alice.post(PATH, json={"steps": POINTS}).json
    since, removed = world.last_event_id(), "feature-strategy-remove"
    answer = alice.delete(f"{PATH}/{steps[2]['id']}")
    assert (answer.status_code, answer.json) == (200, [])
    assert recorded(world, since) == [removed, removed, "feature-environment-disabled", removed]
    assert "no plan" in refused(alice.delete(f"{PATH}/{steps[2]['id']}"), 404, "NotFoundError")


def test_plan_can_be_paused_where_another_strategy_gives_more(world, alice):
    tagged_flag(world)
    steps = alice.post(PATH, json={"steps": POINTS}).json
    assert alice.post(path("/strategies"), json={"name": "default"}).status_code == 200
    body = {"steps": POINTS, "replaces": steps[0]["id"]}
    refused(alice.post(PATH, json=body), 409, "ConflictError")
    paused = alice.post(PATH, json=body | {"disabled": True}).json
    assert [one["disabled"] for one in paused] == [True, True, True, False]


def test_skip_begins_the_next_step_now(world, alice, conn):
    tagged_flag(world)
    steps = alice.post(PATH, json={"steps": POINTS}).json
    for reached in (2, 3):
        since = world.last_event_id()
        answer = alice.post(f"{PATH}/{steps[-1]['id']}/skip")
        assert answer.status_code == 200
        [plan] = recognize(answer.json, value(conn, "SELECT clock_timestamp()"))
        assert isinstance(plan, Plan)
        assert [step.reached for step in plan.steps] == [True] * reached + [False] * (3 - reached)
        assert recorded(world, since) == ["feature-strategy-update"]
    for action in ("skip", "stop"):
        message = refused(alice.post(f"{PATH}/{steps[0]['id']}/{action}"), 409, "ConflictError")
        assert message == "All steps of this plan are reached."
