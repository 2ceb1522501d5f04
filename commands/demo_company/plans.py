"""How the life of a flag goes, by its type: who switches what on where, and when. Each step becomes one event."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from random import Random
from typing import Any, NamedTuple

from commands.demo_company.dates import Dates, office_hours, rounded

SYSTEM, CI, TESTS, BOT = "system", "ci-pipeline", "e2e-tests", "incident-bot"
LIFETIMES = {"release": 40, "experiment": 40, "operational": 7}  # days; as in schema.sql
FIRST_CLEAN_UP, CLEAN_UP_EVERY = 61, 91  # day of the demo, and days from one clean-up to the next


class Step(NamedTuple):
    """What is done to a flag: a method of Life, with what it needs. by: Person.key; None: somebody of the project."""

    at: datetime
    act: str
    environment: str | None = None
    detail: Any = None
    by: str | None = None


class Pencil:
    """Writes steps down one after the other, each later than the one before and in working hours."""

    def __init__(self, rng: Random, at: datetime) -> None:
        self.rng = rng
        self.at = at
        self.steps: list[Step] = []

    def wait(self, low: float, high: float) -> None:
        """Let some days go by."""
        self.at = max(office_hours(self.rng, self.at + timedelta(days=self.rng.uniform(low, high))), self.at + timedelta(minutes=1))

    def do(self, act: str, environment: str | None = None, detail: Any = None, by: str | None = None) -> None:
        """The next step, some minutes after the last."""
        self.steps.append(Step(self.at, act, environment, detail, by))
        self.at = rounded(self.at + timedelta(minutes=self.rng.uniform(0.3, 14)))

    def chance(self, share: float) -> bool:
        return self.rng.random() < share


def life(
    rng: Random, dates: Dates, type: str, environments: Iterable[str], tags: Iterable[tuple[str, str]], created_at: datetime
) -> list[Step]:
    """The steps of a flag of this type from its creation on, also those that today lies before."""
    pencil = Pencil(rng, created_at)
    pencil.do("create")
    for tag in tags:
        pencil.do("tag", detail=tag)
    open_up(pencil, type, environments)
    if pencil.chance({"release": 0.9, "experiment": 0.8}.get(type, 1)):
        go_live(pencil, type)
    end(pencil, dates, type)
    lifetime = LIFETIMES.get(type)
    if lifetime:
        grown_old = rounded(created_at.replace(hour=3, minute=5) + timedelta(days=lifetime + 1))
        if not any(step.at < grown_old and step.act in ("archive", "mark_stale") for step in pencil.steps):
            pencil.steps.append(Step(grown_old, "grow_old", by=SYSTEM))
    return pencil.steps


def open_up(pencil: Pencil, type: str, environments: Iterable[str]) -> None:
    """Development first, then where it is tested."""
    is_quick = type in ("operational", "kill-switch")
    for environment in environments:
        if environment == "production" or (environment == "qa" and pencil.chance(0.35)):
            continue
        pencil.wait(0.05, 0.6 if is_quick else 2.5)
        pencil.do("add_strategy", environment)
        pencil.do("enable", environment, by=CI if environment == "staging" and pencil.chance(0.4) else None)
        if environment == "development" and pencil.chance(0.3):
            pencil.wait(0.1, 3)
            pencil.do("add_second_strategy", environment)


WAIT_FOR_PRODUCTION = {
    "release": (2, 30),
    "experiment": (0.5, 9),
    "operational": (0.1, 1.5),
    "kill-switch": (0.2, 4),
    "permission": (1, 16),
}
ROLLOUTS = ((5, 25, 50, 100), (1, 10, 30, 60, 100), (20, 100), (10, 50, 100), (50,))


def go_live(pencil: Pencil, type: str) -> None:
    """Production, for everybody at once or bit by bit."""
    pencil.wait(*WAIT_FOR_PRODUCTION[type])
    gradual = type in ("release", "experiment")
    rollouts = list(pencil.rng.choice(ROLLOUTS)) if gradual else [100]
    pencil.do("add_strategy", "production", detail=rollouts[0])
    if type == "experiment" or (type == "release" and pencil.chance(0.15)):
        pencil.do("set_variants", "production")
    pencil.do("enable", "production")
    if pencil.chance(0.25):
        pencil.wait(0.1, 2)
        pencil.do("add_second_strategy", "production")
    for rollout in rollouts[1:]:
        pencil.wait(0.6, 5)
        pencil.do("roll_out", "production", detail=rollout, by=CI if pencil.chance(0.2) else None)


def end(pencil: Pencil, dates: Dates, type: str) -> None:
    """How it goes on after that: clean-up for what was meant to go, incidents for what stays."""
    if type in ("kill-switch", "permission"):
        grow_grey(pencil, dates, type)
        return
    low, high = {"release": (5, 32), "experiment": (9, 26), "operational": (0.3, 5)}[type]
    if type == "release" and pencil.chance(0.14):
        pencil.wait(3, 9)
        pencil.do("mark_stale")
        pencil.wait(4, 16)
        pencil.do("unmark_stale")
    pencil.wait(low, high)
    if type == "experiment" and pencil.chance(0.7):
        pencil.do("complete", detail=pencil.rng.choice(("kept", "discarded")))
    if pencil.chance(0.35):
        pencil.do("mark_stale")
        pencil.wait(2, 25)
    fate = pencil.rng.random()
    if fate < 0.08:
        pencil.wait(50, 200)  # forgotten
    if fate < 0.28:
        quarters = max(0, (pencil.at - dates.start).days - FIRST_CLEAN_UP) // CLEAN_UP_EVERY + 1
        clean_up = dates.start + timedelta(days=FIRST_CLEAN_UP + quarters * CLEAN_UP_EVERY)
        pencil.at = max(pencil.at, office_hours(pencil.rng, clean_up))
    pencil.do("archive")
    if pencil.chance(0.06):
        pencil.wait(1, 12)
        pencil.do("revive")
        pencil.do("enable", "development")
        pencil.wait(8, 40)
        pencil.do("archive")


def grow_grey(pencil: Pencil, dates: Dates, type: str) -> None:
    """Years of service: a kill switch is thrown in incidents, a permission has its audience changed."""
    last = dates.end if pencil.chance(0.75) else pencil.at + timedelta(days=pencil.rng.uniform(160, 420))
    while pencil.at < min(last, dates.end):
        pencil.at = rounded(pencil.at + timedelta(days=pencil.rng.uniform(25, 190), hours=pencil.rng.uniform(0, 24)))
        if type == "permission":
            pencil.wait(0, 2)
            pencil.do("change_audience", "production")
        elif pencil.at < last:
            pencil.do("disable", "production", by=BOT)
            pencil.at = rounded(pencil.at + timedelta(minutes=pencil.rng.uniform(20, 400)))
            pencil.do("enable", "production")
    if last < dates.end:
        pencil.do("mark_stale")
        pencil.wait(3, 40)
        pencil.do("archive")
