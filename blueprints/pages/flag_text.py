"""For whom a flag is on, in words: the strategies of an environment, and the first line of the page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup

from blueprints.pages.constraints import join
from blueprints.pages.strategy_text import sentence
from rules.ramp_plans import Plan, conditions, recognize

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Row:
    """A strategy or a ramp plan of an environment."""

    # The place among all strategies, or the places of the steps: 2, or 2–4.
    number: str
    said: Markup
    # For a plan: what its steps share.
    strategy: dict[str, Any]
    plan: Plan | None

    @property
    def ids(self) -> list[str]:
        """Return the ids of the strategy or of the steps."""
        return self.plan.ids if self.plan else [self.strategy["id"]]

    @property
    def is_active(self) -> bool:
        """Return whether it is evaluated, and can be on."""
        return not self.strategy["disabled"] and not (self.plan and (self.plan.ended or self.plan.today is None))

    @property
    def is_for_everybody(self) -> bool:
        """Return whether it is on for every user now."""
        strategy = self.strategy
        share = "100" if strategy["name"] == "default" else strategy["parameters"].get("rollout")
        known = strategy["name"] in ("default", "flexibleRollout") and share == "100"
        return self.is_active and known and not (strategy["segments"] or conditions(strategy, datetime.now(UTC)))

    def in_words(self, rows: "Sequence[Row]") -> Markup:
        """Return for whom it is on, or who gets its variants if a later one of the rows is on for everybody."""
        full = next((row for row in rows if row.is_for_everybody), self)
        only_variant = self.strategy["variants"] and self.is_active and rows.index(self) < rows.index(full)
        return self.said.replace("On for", "Variant for", 1) if only_variant else self.said


def rows_of(strategies: Sequence[dict[str, Any]], segments: Mapping[int, str], now: datetime) -> list[Row]:
    """Return the strategies of an environment in the order of evaluation. segments: names by id."""
    found: list[Row] = []
    place = 1
    for item in recognize(strategies, now):
        plan = item if isinstance(item, Plan) else None
        strategy = item.strategy if isinstance(item, Plan) else item
        last = place + len(plan.steps) - 1 if plan else place
        found.append(Row(f"{place}–{last}" if plan else str(place), sentence(strategy, segments), strategy, plan))
        place = last + 1
    return found


def texts_of(strategies: Sequence[dict[str, Any]], segments: Mapping[int, str]) -> list[Markup]:
    """Return for whom each strategy of an environment is on, as Row.in_words() says it. segments: names by id."""
    rows = [Row(str(place), sentence(one, segments), one, None) for place, one in enumerate(strategies, start=1)]
    return [row.in_words(rows) for row in rows]


def without_effect(id: str | None, strategy: Json, rows: Sequence[Row]) -> str:
    """Return why a strategy of the form adds no users to the others, or an empty text. id: None for a new one."""
    others = [row for row in rows if id not in row.ids]
    full = next((row for row in others if row.is_for_everybody), None)
    if full is None or strategy.get("disabled"):
        return ""
    is_earlier = any(id in row.ids for row in rows[: rows.index(full)])
    chooses = is_earlier and (strategy.get("variants") or any(row.strategy["variants"] for row in others))
    effect = "only chooses the variant" if chooses else "strategy changes nothing"
    return f"Strategy {full.number} is on for everybody, so this {effect}."


def useless(rows: Sequence[Row]) -> str:
    """Return which strategies change nothing because another one is on for everybody, or an empty text."""
    full = next((row for row in rows if row.is_for_everybody), None)
    if full is None:
        return ""
    # An earlier strategy still decides about the variant.
    has_variants = any(row.strategy["variants"] for row in rows)
    numbers = [row.number for row in (rows[rows.index(full) :] if has_variants else rows) if row.is_active]
    numbers.remove(full.number)
    others = f"{'strategies' if len(numbers) > 1 else 'strategy'} {join(numbers, 'and')}"
    verb = "have" if len(numbers) > 1 else "has"
    return f"Strategy {full.number} is on for everybody, so {others} {verb} no effect." if numbers else ""


def state_of(linked: Json, rows: Sequence[Row]) -> str:
    """Return for whom a flag is on in an environment: off, on for everybody, or on for 25 % of users."""
    if not linked["enabled"]:
        return "off"
    # Applications get only the enabled strategies. Without one, the flag is on.
    if all(row.strategy["disabled"] for row in rows) or any(row.is_for_everybody for row in rows):
        return "on for everybody"
    said = [row.said.striptags().removeprefix("On ") for row in rows if row.is_active]
    return f"on {join(said, 'and')}" if said else "on for no user"


def group_states(states: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the names of environments by what the first line says of them: Off, or On for everybody."""
    groups: dict[str, list[str]] = {}
    for name, state in states.items():
        short = state in ("off", "on for everybody", "on for no user")
        groups.setdefault(state.capitalize() if short else "On for some users", []).append(name)
    return groups
