"""Say in a few characters for whom a flag is on in an environment, as lists of flags do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from rules.ramp_plans import Plan, conditions, recognize


@dataclass(frozen=True)
class Cell:
    """What the strategies of a flag mean in an environment while it is on.

    text: for a narrow column. audience: the same in a sentence.
    """

    text: str
    audience: str


def cell(strategies: Sequence[dict[str, Any]]) -> Cell:
    """Return what the strategies of sql.flags.search.ROW mean. Without any, the flag is on for all."""
    if len(strategies) > 1 and all("constraints" in strategy for strategy in strategies):
        items = recognize(strategies, datetime.now(UTC))
        if len(items) == 1 and isinstance(items[0], Plan):
            return of_plan(items[0])
    cells = [of_strategy(strategy) for strategy in strategies]
    if not cells or any(one.text == "all" for one in cells):
        return Cell("all", "all users")
    return cells[0] if len(cells) == 1 else Cell("some", " or ".join(dict.fromkeys(one.audience for one in cells)))


def of_plan(plan: Plan) -> Cell:
    """Return what a ramp plan means today."""
    share = plan.strategy["parameters"]["rollout"]
    if plan.next is None:
        return of_strategy(plan.strategy | {"rollout": share})
    number = sum(step.reached for step in plan.steps)
    return Cell(f"{share} % ↗", f"{share} % of users (step {number} of {len(plan.steps)} of a ramp plan)")


def of_strategy(strategy: Mapping[str, Any]) -> Cell:
    """Return what a single strategy means."""
    name, rollout, narrow = strategy["name"], strategy["rollout"], strategy["narrow"]
    if "constraints" in strategy:
        narrow = bool(strategy["segments"] or conditions(strategy, datetime.now(UTC)))
    if name == "default" or (name, rollout) == ("flexibleRollout", "100"):
        text, users = "some" if narrow else "all", "all users"
    elif name == "flexibleRollout" and rollout:
        text, users = f"{rollout} %{' of some' if narrow else ''}", f"{rollout} % of users"
    else:
        text, users = "some", f"the users of the strategy {name}"
    return Cell(text, users + (" who match the conditions" if narrow else ""))
