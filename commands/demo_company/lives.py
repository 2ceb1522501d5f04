"""The life of a flag, step by step: what it is after each, and the one event that tells of it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import Any

from commands.demo_company import targeting
from commands.demo_company.cast import Person
from commands.demo_company.dates import iso
from commands.demo_company.log import SYSTEM, Log
from commands.demo_company.plans import Step
from commands.demo_company.projects import Project
from commands.demo_company.targeting import Document
from sql.bootstrap import System

DESCRIPTIONS = {
    "release": (
        "Brings {it} to all customers, step by step.",
        "{It}: remove after the autumn release.",
        "Rollout of {it}; see the runbook.",
    ),
    "experiment": (
        "Compares two ways to do {it}.",
        "Does {it} sell more? Ends when the numbers are in.",
        "Test of {it}, with research in Malmö.",
    ),
    "kill-switch": (
        "Turns {it} off when it misbehaves.",
        "Emergency exit for {it}: on-call may use it.",
        "Off: {it} falls back to the cache.",
    ),
    "permission": ("Gives {it} to those who asked for it.", "Who may use {it}.", "{It} for pilots such as Café Zürich."),
    "operational": ("Switches {it} over.", "{It}: old and new side by side for a week.", "Cutover of {it}. Ask the platform team."),
}


@dataclass
class Place:
    """A flag in one environment. shares: for what share of requests it was on, from each instant on."""

    enabled: bool = False
    strategies: list[Document] = field(default_factory=list)
    added_at: dict[str, datetime] = field(default_factory=dict)
    variants: list[Document] = field(default_factory=list)
    shares: list[tuple[datetime, float]] = field(default_factory=list)

    @property
    def can_be_on(self) -> bool:
        """Whether it has a strategy that is not disabled: without one, on would mean on for everybody."""
        return any(not strategy["disabled"] for strategy in self.strategies)


class Life:
    """A flag, and its steps to come."""

    def __init__(self, rng: Random, name: str, type: str, home: Project, audience: list[Document], steps: Iterable[Step]) -> None:
        self.rng = rng
        self.name = name
        self.type = type
        self.project = home
        self.audience = audience
        self.steps = list(steps)
        self.description: str | None = None
        self.impression_data = False
        self.created_at = self.steps[0].at
        self.creator: Person | System = SYSTEM
        self.stale_since: datetime | None = None
        self.archived_at: datetime | None = None
        self.first_in_production_at: datetime | None = None
        self.is_deleted = False
        self.past: list[tuple[str, datetime, datetime]] = []
        self.tags: dict[tuple[str, str], datetime] = {}
        self.favorites: dict[str, tuple[Person, datetime]] = {}
        self.homes = [(self.created_at, home)]
        self.places = {environment: Place() for environment in home.plan.environments}

    def take(self, step: Step, log: Log) -> None:
        """Take a step, which writes one event."""
        self.log = log
        getattr(self, step.act)(step, self.author(step))

    def author(self, step: Step) -> Person | System:
        """Who takes a step: whom it names, if he works then, else often the one who made the flag, else somebody of the project."""
        if step.by == SYSTEM.name:
            return SYSTEM
        named = self.project.people.get(step.by or "")
        if named and named.works_at(step.at):
            return named
        if isinstance(self.creator, Person) and self.rng.random() < 0.5 and self.project.is_worker(self.creator, step.at):
            return self.creator
        return self.project.somebody(self.rng, step.at)

    def note(self, step: Step, type: str, author: Person | System, **about: Any) -> None:
        """Write the event of a step."""
        tags = [{"type": type, "value": value} for type, value in sorted(self.tags)]
        self.log.add(step.at, type, author, project=self.project.plan.id, feature=self.name, tags=tags, **about)

    def core(self) -> Document:
        """What the log says of the flag itself."""
        return {
            "name": self.name,
            "type": self.type,
            "description": self.description,
            "project": self.project.plan.id,
            "stale": self.stale_since is not None,
            "impressionData": self.impression_data,
            "archived": self.archived_at is not None,
            "createdAt": iso(self.created_at),
            "archivedAt": iso(self.archived_at),
            "lastSeenAt": None,
        }

    def create(self, step: Step, author: Person | System) -> None:
        self.creator = author
        self.description = step.detail or self.new_description()
        self.note(step, "feature-created", author, data=self.core())

    def new_description(self) -> str:
        subject = self.name.split("-", 1)[1].replace("-", " ")
        sentences = [text.format(it=subject, It=subject.capitalize()) for text in DESCRIPTIONS[self.type]]
        return self.rng.choice([text for text in sentences if text != self.description])

    def describe(self, step: Step, author: Person | System) -> None:
        before = self.core()
        if step.detail or self.rng.random() < 0.8:
            self.description = step.detail or self.new_description()
        else:
            self.impression_data = not self.impression_data
        self.note(step, "feature-metadata-updated", author, data=self.core(), pre_data=before)

    def tag(self, step: Step, author: Person | System) -> None:
        type, value = step.detail
        self.tags[(type, value)] = step.at
        self.note(step, "feature-tagged", author, data={"type": type, "value": value})

    def untag(self, step: Step, author: Person | System) -> None:
        type, value = step.detail
        del self.tags[(type, value)]
        self.note(step, "feature-untagged", author, pre_data={"type": type, "value": value})

    def favorite(self, step: Step, author: Person) -> None:
        self.favorites[author.key] = (author, step.at)
        self.note(step, "feature-favorited", author, data={"feature": self.name})

    def unfavorite(self, step: Step, author: Person) -> None:
        del self.favorites[author.key]
        self.note(step, "feature-unfavorited", author, data={"feature": self.name})

    def mark_stale(self, step: Step, author: Person | System) -> None:
        self.stale_since = step.at
        self.note(step, "feature-stale-on", author)

    def unmark_stale(self, step: Step, author: Person | System) -> None:
        assert self.stale_since
        self.past.append(("stale", self.stale_since, step.at))
        self.stale_since = None
        self.note(step, "feature-stale-off", author)

    def grow_old(self, step: Step, author: Person | System) -> None:
        self.note(step, "feature-potentially-stale-on", author)

    def complete(self, step: Step, author: Person | System) -> None:
        self.note(step, "feature-completed", author, data={"status": step.detail, "kept": step.detail == "kept"})

    def archive(self, step: Step, author: Person | System) -> None:
        self.archived_at = step.at
        for place in self.places.values():
            self.switch(place, step.at, False)
        self.note(step, "feature-archived", author)

    def revive(self, step: Step, author: Person | System) -> None:
        assert self.archived_at
        self.past.append(("archived", self.archived_at, step.at))
        self.archived_at = None
        self.note(step, "feature-revived", author)

    def delete(self, step: Step, author: Person | System) -> None:
        self.is_deleted = True
        self.note(step, "feature-deleted", author, pre_data=self.core())

    def move(self, step: Step, author: Person | System) -> None:
        before, self.project = self.project, step.detail
        self.homes.append((step.at, self.project))
        assert set(self.places) <= set(self.project.plan.environments)
        moved = {"oldProject": before.plan.id, "newProject": self.project.plan.id}
        self.note(step, "feature-project-change", author, data=moved)

    def switch(self, place: Place, at: datetime, enabled: bool) -> None:
        place.enabled = enabled
        self.measure(place, at)

    def measure(self, place: Place, at: datetime) -> None:
        place.shares.append((at, targeting.share_of_yes(place.strategies) if place.enabled else 0.0))

    def enable(self, step: Step, author: Person | System) -> None:
        assert step.environment
        place = self.places[step.environment]
        if place.enabled or not place.can_be_on:
            return self.describe(step, author)
        self.switch(place, step.at, True)
        if step.environment == "production" and not self.first_in_production_at:
            self.first_in_production_at = step.at
        return self.note(step, "feature-environment-enabled", author, environment=step.environment)

    def disable(self, step: Step, author: Person | System) -> None:
        assert step.environment
        place = self.places[step.environment]
        if not place.enabled:
            return self.describe(step, author)
        self.switch(place, step.at, False)
        return self.note(step, "feature-environment-disabled", author, environment=step.environment)

    def add(self, step: Step, author: Person | System, strategy: Document) -> None:
        assert step.environment
        place = self.places[step.environment]
        strategy["sortOrder"] = len(place.strategies)
        place.strategies.append(strategy)
        place.added_at[strategy["id"]] = step.at
        self.measure(place, step.at)
        self.note(step, "feature-strategy-add", author, environment=step.environment, data=strategy)

    def add_strategy(self, step: Step, author: Person | System) -> None:
        stickiness = self.project.plan.stickiness
        strategy = targeting.strategy(self.rng, self.name, stickiness, constraints=[dict(one) for one in self.audience])
        strategy["parameters"]["rollout"] = str(step.detail or 100)
        if self.rng.random() < 0.3:
            strategy["segments"] = self.project.some_segments(self.rng, step.at)
        if self.rng.random() < 0.25:
            strategy["variants"] = targeting.variants(self.rng, stickiness)
        self.add(step, author, strategy)

    def add_second_strategy(self, step: Step, author: Person | System) -> None:
        self.add(step, author, targeting.second_strategy(self.rng, self.name, self.project.plan.stickiness))

    def add_this_strategy(self, step: Step, author: Person | System) -> None:
        self.add(step, author, targeting.strategy(self.rng, self.name, self.project.plan.stickiness, **step.detail))

    def remove_strategy(self, step: Step, author: Person | System) -> None:
        assert step.environment
        place = self.places[step.environment]
        gone = place.strategies.pop()
        self.measure(place, step.at)
        self.note(step, "feature-strategy-remove", author, environment=step.environment, pre_data=gone)

    def update(self, step: Step, author: Person | System, number: int, change: Callable[[Document], None]) -> None:
        """Change a strategy in place, by its number in the environment."""
        assert step.environment
        place = self.places[step.environment]
        before = place.strategies[number]
        after = {**before, "parameters": dict(before["parameters"])}
        change(after)
        place.strategies[number] = after
        self.measure(place, step.at)
        self.note(step, "feature-strategy-update", author, environment=step.environment, data=after, pre_data=before)

    def roll_out(self, step: Step, author: Person | System) -> None:
        self.update(step, author, self.first(step), lambda strategy: strategy["parameters"].update(rollout=str(step.detail)))

    def retitle(self, step: Step, author: Person | System) -> None:
        self.update(step, author, self.first(step), lambda strategy: strategy.update(title=step.detail))

    def pause(self, step: Step, author: Person | System) -> None:
        """Disable the last strategy, or enable it again."""
        self.update(step, author, -1, lambda strategy: strategy.update(disabled=not strategy["disabled"]))

    def first(self, step: Step) -> int:
        """The number of the strategy that was there first, a gradual rollout."""
        assert step.environment
        place = self.places[step.environment]
        return min(range(len(place.strategies)), key=lambda number: place.added_at[place.strategies[number]["id"]])

    def change_audience(self, step: Step, author: Person | System) -> None:
        def change(strategy: Document) -> None:
            operators = [one["operator"] for one in strategy["constraints"]] or ["IN"]
            strategy["constraints"] = [targeting.constraint(self.rng, operator, step.at) for operator in operators]

        self.update(step, author, self.first(step), change)

    def reorder(self, step: Step, author: Person | System) -> None:
        assert step.environment
        place = self.places[step.environment]
        before = [strategy["id"] for strategy in place.strategies]
        place.strategies = [{**strategy, "sortOrder": order} for order, strategy in enumerate(reversed(place.strategies))]
        after = {"strategyIds": before[::-1]}
        self.note(step, "strategy-order-changed", author, environment=step.environment, data=after, pre_data={"strategyIds": before})

    def set_variants(self, step: Step, author: Person | System) -> None:
        assert step.environment
        place = self.places[step.environment]
        before = {"variants": place.variants}
        place.variants = targeting.variants(self.rng, self.project.plan.stickiness)
        after = {"variants": place.variants}
        self.note(step, "feature-environment-variants-updated", author, environment=step.environment, data=after, pre_data=before)
