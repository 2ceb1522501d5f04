"""Say in a few characters for whom a flag is on in an environment, as lists of flags do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from rules.ramp_plans import Plan, recognise


@dataclass(frozen=True)
class Cell:
    """What the strategies of a flag mean in an environment while it is on.

    text: for a narrow column. audience: the same in a sentence. narrow: only for users who match conditions.
    """

    text: str
    audience: str
    narrow: bool = False


def cell(strategies: Sequence[dict[str, Any]]) -> Cell:
    """Return what the strategies of sql.flags.search.ROW mean. Without any, the flag is on for all."""
    if len(strategies) > 1 and all("constraints" in strategy for strategy in strategies):
        items = recognise(strategies, datetime.now(UTC))
        if len(items) == 1 and isinstance(items[0], Plan):
            return of_plan(items[0])
    cells = [of_strategy(strategy) for strategy in strategies]
    if not cells or any(one.text in ("all", "100 %") and not one.narrow for one in cells):
        return Cell("all", "all users")
    return cells[0] if len(cells) == 1 else Cell(f"{len(cells)} strat.", f"the users of {len(cells)} strategies")


def of_plan(plan: Plan) -> Cell:
    """Return what a ramp plan means today."""
    share = 0 if plan.ended or plan.today is None else plan.today.percent
    number = sum(step.reached for step in plan.steps)
    return Cell(f"{share} % ↗", f"{share} % of users (step {number} of {len(plan.steps)} of a ramp plan)")


def of_strategy(strategy: Mapping[str, Any]) -> Cell:
    """Return what a single strategy means."""
    name, rollout = strategy["name"], strategy["rollout"]
    if name == "flexibleRollout" and rollout:
        text, users = f"{rollout} %", f"{rollout} % of users"
    elif name == "default":
        text, users = "all", "all users"
    else:
        text, users = "1 strat.", f"the users of the strategy {name}"
    return Cell(text, users + (" who match the conditions" if strategy["narrow"] else ""), strategy["narrow"])
