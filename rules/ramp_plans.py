"""Ramp plans: strategies of a flag in an environment whose shares rise at given times, without a clock in the server.

A plan of 10, 50 and 100 % is three gradual rollouts. They differ only in rollout and in the time of a constraint
`currentTime DATE_AFTER`. They share groupId and stickiness, so users of one step are in all later steps too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby, pairwise, zip_longest
from typing import Any

from flask import abort
from psycopg.rows import DictRow

from rules.access import Actor
from rules.strategies import NO_STRATEGY, replace_strategies
from rules.strategy_parameters import PERCENTAGE, filled_parameters
from sql.database import Connection
from sql.flags.strategies import list_by_flag
from validators.catalog.constraints import DATE_OPERATORS, utc_text, with_utc_date

Json = dict[str, Any]
NO_PLAN = "The flag has no plan with such a step in this project and environment."
ROLLOUT = "flexibleRollout"
GROUP = ("groupId", "stickiness")
# What a plan that replaces nothing begins with. Without parameters, what all steps have besides groupId and stickiness.
NEW: Json = {"title": None, "disabled": False, "constraints": [], "segments": [], "variants": [], "parameters": {}}
SHARED = tuple(key for key in NEW if key != "parameters")


@dataclass(frozen=True)
class Step:
    """A strategy of a plan: this share of users, from this time on, such as 2026-12-02T08:00:00.000Z."""

    id: str
    percent: int
    at: str
    reached: bool


@dataclass(frozen=True)
class Plan:
    """A ramp plan of at least two steps. Shares and times rise."""

    steps: list[Step]
    # The last step that is reached, or None before the first one.
    today: Step | None
    # The first step that is not reached, or None after the last one and after the end.
    next: Step | None
    # The end of the plan ("only until") in the form of Step.at, or None.
    until: str | None
    # Whether that time is over. Then the plan is on for no user.
    ended: bool
    # The records of the steps, by their ids.
    records: Mapping[str, Json]
    # A strategy as the plan is now: the first step with the share of today, 0 after the end, and without the times.
    strategy: Json

    @property
    def ids(self) -> list[str]:
        """Return the ids of the steps. Each of them names the plan in paths."""
        return [step.id for step in self.steps]


def recognize(strategies: Sequence[Json], now: datetime) -> list[Plan | Json]:
    """Return the strategies of a flag in an environment, in their order, with one Plan for the steps of each plan.

    strategies: Strategy records in their order. now: the time, with an offset. Neighbors with a start and the same
    groupId are plans only if each of them is a step. Otherwise somebody has changed them, and they stay as they are.
    """
    items: list[Plan | Json] = []
    for can_be_steps, neighbors in groupby(strategies, group_of):
        found = list(neighbors)
        plans = [as_plan(list(run), utc_text(now.isoformat())) for _, run in groupby(found, shared) if can_be_steps]
        items += plans if plans and all(map(is_rising, plans)) else found
    return items


def group_of(strategy: Json) -> tuple[str, str] | None:
    """Return groupId and stickiness of a strategy that can be a step of a plan, otherwise None."""
    parameters = strategy["parameters"]
    is_rollout = strategy["name"] == ROLLOUT and PERCENTAGE.fullmatch(parameters.get("rollout", ""))
    is_step = is_rollout and len(times(strategy, "DATE_AFTER")) == 1
    return (parameters.get("groupId", ""), parameters.get("stickiness", "")) if is_step else None


def shared(strategy: Json) -> list[Any]:
    """Return what all steps of a plan have in common, besides groupId and stickiness."""
    others = [constraint for constraint in strategy["constraints"] if not is_time(constraint, "DATE_AFTER")]
    return [(strategy | {"constraints": others})[key] for key in SHARED]


def is_rising(plan: Plan) -> bool:
    """Return whether a plan has at least two steps, with rising shares and times."""
    rises = [one.percent < other.percent and one.at < other.at for one, other in pairwise(plan.steps)]
    return bool(rises) and all(rises)


def as_plan(strategies: Sequence[Json], now: str) -> Plan:
    """Return the plan of these steps, whether or not they rise."""
    steps = [
        Step(one["id"], int(one["parameters"]["rollout"]), at, reached=at <= now)
        for one in strategies
        for at in times(one, "DATE_AFTER")
    ]
    first, until = strategies[0], min(times(strategies[0], "DATE_BEFORE"), default=None)
    ended = until is not None and until <= now
    today = next((step for step in reversed(steps) if step.reached), None)
    left = next((step for step in steps if not (step.reached or ended)), None)
    others = [constraint for constraint in first["constraints"] if not is_time(constraint)]
    parameters = first["parameters"] | {"rollout": str(today.percent if today and not ended else 0)}
    strategy = first | {"constraints": others, "parameters": parameters}
    return Plan(steps, today, left, until, ended, {one["id"]: one for one in strategies}, strategy)


def times(strategy: Json, operator: str) -> list[str]:
    """Return the times of the constraints with this operator on the current time."""
    return [with_utc_date(one)["value"] for one in strategy["constraints"] if is_time(one, operator)]


def is_time(constraint: Mapping[str, Any], *operators: str) -> bool:
    """Return whether a constraint compares the current time. operators: by default, DATE_AFTER and DATE_BEFORE."""
    is_current = constraint["contextName"] == "currentTime" and not constraint.get("inverted")
    return is_current and constraint["operator"] in (operators or DATE_OPERATORS)


def create_plan(conn: Connection, actor: Actor, flag: DictRow, plan: Mapping[str, Any]) -> None:
    """Give a flag a plan as RampPlan loads it: after its other strategies, or in the place of what it replaces.

    What the plan omits is as in the replaced strategy, but its times are only those of the plan. Raises 400 if the plan
    is invalid, 404 if the replaced strategy does not exist, and 409 if another strategy already gives more.
    """
    before, plans = read_plans(conn, flag)
    id = plan.get("replaces")
    ids = next((other.ids for other in plans if id in other.ids), [id])
    replaced = [one for one in before if one["id"] in ids]
    others = [one for one in before if one not in replaced]
    if id and not replaced:
        abort(404, NO_STRATEGY)
    steps = steps_of(flag, plan, replaced[0] if replaced else NEW)
    if not steps[0]["disabled"]:
        refuse_more(others, steps, flag["locked_at"])
    # The steps take the ids of the replaced strategies, so that equal ones stay.
    steps = [step | {"id": id} for step, id in zip_longest(steps, ids[: len(steps)])]
    place = before.index(replaced[0]) if replaced else len(before)
    replace_strategies(conn, actor, flag, before, [*others[:place], *steps, *others[place:]])


def stop_plan(conn: Connection, actor: Actor, flag: DictRow, step_id: str) -> None:
    """Delete the steps of a plan that are not reached. Raise 404 without a plan, 409 if all steps are reached."""
    before, left = find_left(conn, flag, step_id)
    replace_strategies(conn, actor, flag, before, [one for one in before if one["id"] not in left])


def delete_plan(conn: Connection, actor: Actor, flag: DictRow, step_id: str) -> None:
    """Delete all steps of a plan. Raise 404 without a plan."""
    before, plan = find_plan(conn, flag, step_id)
    replace_strategies(conn, actor, flag, before, [one for one in before if one["id"] not in plan.ids])


def skip_step(conn: Connection, actor: Actor, flag: DictRow, step_id: str) -> None:
    """Let the next step of a plan begin now. Raise 404 without a plan, 409 if all steps are reached."""
    before, left = find_left(conn, flag, step_id)
    start = time_constraint("DATE_AFTER", flag["locked_at"])
    [step] = [one for one in before if one["id"] == left[0]]
    step = step | {"constraints": [start if is_time(one, "DATE_AFTER") else one for one in step["constraints"]]}
    replace_strategies(conn, actor, flag, before, [step if one["id"] == step["id"] else one for one in before])


def read_plans(conn: Connection, flag: DictRow) -> tuple[list[Json], list[Plan]]:
    """Return the strategies of a locked flag in its environment, and its plans at the time of the lock."""
    before = list_by_flag(conn, [flag["id"]], flag["environment"])[flag["id"]]
    return before, [item for item in recognize(before, flag["locked_at"]) if isinstance(item, Plan)]


def find_plan(conn: Connection, flag: DictRow, step_id: str) -> tuple[list[Json], Plan]:
    """Return the strategies of a flag, and its plan with this step. Raise 404 if there is none."""
    before, plans = read_plans(conn, flag)
    return before, next((plan for plan in plans if step_id in plan.ids), None) or abort(404, NO_PLAN)


def find_left(conn: Connection, flag: DictRow, step_id: str) -> tuple[list[Json], list[str]]:
    """Return the strategies of a flag, and the ids of the steps of a plan that are not reached.

    Raise 404 if the flag has no plan with this step, and 409 if all steps are reached.
    """
    before, plan = find_plan(conn, flag, step_id)
    left = [step.id for step in plan.steps if not step.reached]
    return (before, left) if left else abort(409, "All steps of this plan are reached.")


def steps_of(flag: DictRow, plan: Mapping[str, Any], base: Json) -> list[Json]:
    """Return the strategies of a plan without ids. base: the replaced strategy. Raise 400 if the plan is invalid."""
    # Our choice: a plan that replaces a strategy keeps its groupId and stickiness, so that no user falls out.
    given, kept = ({key: one[key] for key in GROUP if key in one} for one in (plan, base["parameters"]))
    changed = [key for key in given if given[key] != kept.get(key, given[key])]
    problems = [f"{key}: must be {kept[key]}, as in the replaced strategy, or omitted" for key in changed]
    if any(map(is_time, plan.get("constraints", ()))):
        problems.append("constraints: must not compare currentTime, which the steps and until do")
    if not plan["steps"]:
        problems.append("steps: must have at least one step")
    common: Json = base | {key: plan[key] for key in SHARED if key in plan} | {"name": ROLLOUT}
    common["segments"] = sorted(set(common["segments"]))
    others = [one for one in common["constraints"] if not is_time(one)]
    ends = [time_constraint("DATE_BEFORE", plan["until"])] if "until" in plan else []
    steps, share, time = list[Json](), 0, ""
    for place, step in enumerate(plan["steps"]):
        start = time_constraint("DATE_AFTER", step.get("at", flag["locked_at"]))
        if step["percent"] <= share:
            problems.append(f"steps.{place}.percent: must be more than the share of the step before, {share} %")
        if start["value"] <= time:
            problems.append(f"steps.{place}.at: must be later than {time}, the time of the step before")
        share, time = step["percent"], start["value"]
        parameters = filled_parameters(flag, {"name": ROLLOUT, "parameters": kept | given | {"rollout": str(share)}})
        steps.append(common | {"parameters": parameters, "constraints": [*others, start, *ends]})
    if ends and ends[0]["value"] <= time:
        problems.append("until: must be later than the last step")
    return abort(400, "; ".join(problems)) if problems else steps


def time_constraint(operator: str, time: datetime) -> Json:
    """Return a constraint on the current time."""
    value = {"contextName": "currentTime", "operator": operator, "values": [], "value": utc_text(time.isoformat())}
    return value | {"inverted": False, "caseInsensitive": False}


def conditions(strategy: Mapping[str, Any], now: datetime) -> list[Json]:
    """Return the constraints of a strategy that limit it: those on the time that are true now do not."""
    return [
        one
        for one in strategy["constraints"]
        if not is_time(one)
        or (with_utc_date(one)["value"] <= utc_text(now.isoformat())) is not (one["operator"] == "DATE_AFTER")
    ]


def refuse_more(others: Sequence[Json], steps: Sequence[Json], now: datetime) -> None:
    """Raise 409 if one of the other strategies gives the users of a plan more than its present step does."""
    reached = [one for one in steps if times(one, "DATE_AFTER")[0] <= utc_text(now.isoformat())]
    step = reached[-1] if reached else steps[0]
    for other in others:
        is_wider = all(one in step["constraints"] for one in conditions(other, now))
        if is_wider and {*other["segments"]} <= {*step["segments"]} and share_of(other) > share_of(step):
            name = f"The strategy {other['title']}" if other["title"] else "Another strategy"
            abort(409, f"{name} already gives {share_of(other)} % of these users. Begin with more, or replace it.")


def share_of(strategy: Json) -> int:
    """Return the share of users of a strategy for everybody or of a gradual rollout, and 0 for others."""
    rollout = {"default": "100", ROLLOUT: strategy["parameters"].get("rollout", "")}.get(strategy["name"], "")
    return int(rollout) if PERCENTAGE.fullmatch(rollout) and not strategy["disabled"] else 0
