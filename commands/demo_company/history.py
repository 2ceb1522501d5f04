"""What happened to the flags in two years: their plans, and between them the small changes of every day."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from random import Random

from commands.demo_company import fixed
from commands.demo_company.cast import People, Person
from commands.demo_company.dates import Dates
from commands.demo_company.lives import Life, Place
from commands.demo_company.log import Log
from commands.demo_company.plans import TESTS, Step
from commands.demo_company.vocabulary import TAGS

NIGHTLY_SHARE = 0.25  # of the small changes: tests that switch flags on and off at night
# How often flags of a type are worked on, each day that they live.
ATTENTION = {"release": 1.0, "experiment": 1.0, "operational": 1.2, "kill-switch": 0.5, "permission": 0.6}
TITLES = ("Customers", "Pilot countries", "Only the apps", "After the review", "As agreed in #releases", "Für alle", None)


def fill_up(dates: Dates, rng: Random, lives: Sequence[Life], count: int) -> None:
    """Add this many small changes to the steps of the flags, more to those that lived longer."""
    spans = [busy_span(dates, life) for life in lives]
    weights = [
        max(0.0, (until - since) / timedelta(days=1)) * ATTENTION[life.type] * rng.uniform(0.4, 1.8)
        if life.name not in fixed.NAMES
        else 0.0
        for life, (since, until) in zip(lives, spans, strict=True)
    ]
    shares = [int(count * weight / sum(weights)) for weight in weights]
    # What rounding down has left goes to the flags that have most already.
    for place in sorted(range(len(lives)), key=lambda place: -weights[place])[: count - sum(shares)]:
        shares[place] += 1
    for life, (since, until), share in zip(lives, spans, shares, strict=True):
        for _ in range(share):
            if rng.random() < NIGHTLY_SHARE:
                life.steps.append(Step(dates.night(rng, since, until), "test_at_night", by=TESTS))
            else:
                life.steps.append(Step(dates.working_instant(rng, since, until), "change_a_little"))


def busy_span(dates: Dates, life: Life) -> tuple[datetime, datetime]:
    """From when to when small changes are made: while it is switched on anywhere, before it is archived for the first time."""
    since = min((step.at for step in life.steps if step.act == "enable"), default=dates.end)
    until = min((step.at for step in life.steps if step.act == "archive"), default=dates.end)
    return since + timedelta(seconds=1), until


def back_up(dates: Dates, lives: Sequence[Life], people: People, log: Log) -> None:
    """Every fourth Sunday or so the flags of three big projects are exported from production."""
    live_spans = {life: busy_span(dates, life) for life in lives}
    for days_ago in range(680, 0, -28):
        at = dates.ago(days_ago, "01:30")
        for project in ("checkout", "mobile-app", "payments-core"):
            names = [life.name for life, (since, until) in live_spans.items() if life.project.plan.id == project and since < at < until]
            data = {"environment": "production", "features": names}
            log.add(at, "features-exported", people["ci-pipeline"], data=data)


def play(lives: Iterable[Life], log: Log) -> Iterable[int]:
    """Take all steps of all flags; yields 1 for each flag."""
    for life in lives:
        for step in sorted(life.steps, key=lambda step: step.at):
            before = len(log)
            life.take(SMALL_CHANGES.get(step.act, lambda _, step: step)(life, step), log)
            assert len(log) == before + 1, step
        yield 1


def test_at_night(life: Life, step: Step) -> Step:
    """A switch turned in an environment for tests, if there is one that can be."""
    places = [name for name, place in life.places.items() if name in ("qa", "development") and place.can_be_on]
    if not places:
        return step._replace(act="describe")
    return toggled(life, step, places[-1])


def toggled(life: Life, step: Step, environment: str) -> Step:
    """The step that turns the switch of an environment."""
    return step._replace(act="disable" if life.places[environment].enabled else "enable", environment=environment)


def change_a_little(life: Life, step: Step) -> Step:
    """What somebody might do to a flag on a working day, as it is then."""
    places = [name for name, place in life.places.items() if place.strategies]
    if not places or life.rng.random() < 0.12:
        return change_words(life, step)
    weights = [{"development": 4, "qa": 2, "staging": 3, "production": 2}[name] for name in places]
    environment = life.rng.choices(places, weights)[0]
    place, step = life.places[environment], step._replace(environment=environment)
    choice = life.rng.random()
    if environment == "production":
        return change_carefully(life, step, choice)
    if choice < 0.30 and place.can_be_on:
        return toggled(life, step, environment)
    if choice < 0.50:
        return step._replace(act="roll_out", detail=life.rng.choice((1, 5, 10, 20, 25, 33, 50, 75, 90, 100)))
    if choice < 0.62:
        return step._replace(act="change_audience")
    if choice < 0.70:
        return step._replace(act="set_variants")
    return change_strategies(life, step, place)


def change_strategies(life: Life, step: Step, place: Place) -> Step:
    """Strategies come, wait and go beside the first, which stays."""
    last = place.strategies[-1]
    is_only_one = len(place.strategies) == 1
    if is_only_one or (len(place.strategies) < 4 and life.rng.random() < 0.2):
        return step._replace(act="add_second_strategy")
    choice = life.rng.random()
    if choice < 0.3:
        return step._replace(act="reorder")
    others_can = any(not strategy["disabled"] for strategy in place.strategies[:-1])
    is_first = life.first(step) == len(place.strategies) - 1
    if choice < 0.6 and (last["disabled"] or others_can):
        return step._replace(act="pause")
    if others_can and not is_first:
        return step._replace(act="remove_strategy")
    return step._replace(act="retitle", detail=life.rng.choice(TITLES))


def change_carefully(life: Life, step: Step, choice: float) -> Step:
    """In production nothing is switched, and nothing added or taken away, by the way."""
    if choice < 0.35:
        return step._replace(act="change_audience")
    if choice < 0.55 and life.type == "permission":
        return step._replace(act="roll_out", detail=life.rng.choice((40, 60, 80, 100)))
    if choice < 0.65 and life.places["production"].variants:
        return step._replace(act="set_variants")
    return step._replace(act="retitle", detail=life.rng.choice(TITLES))


def change_words(life: Life, step: Step) -> Step:
    """Tags, favourites, and what the flag is said to be for."""
    choice = life.rng.random()
    if choice < 0.3:
        tag = life.rng.choice(TAGS)
        return step._replace(act="untag" if tag in life.tags else "tag", detail=tag)
    if choice < 0.6:
        fan = life.project.somebody(life.rng, step.at)
        if isinstance(fan, Person):
            return step._replace(act="unfavorite" if fan.key in life.favorites else "favorite", by=fan.key)
    return step._replace(act="describe")


SMALL_CHANGES = {"test_at_night": test_at_night, "change_a_little": change_a_little}
