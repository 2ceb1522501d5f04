"""The flags of the company: begun in the order of their names, played to this day, then written down."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import cycle
from random import Random

from commands.demo_company import fixed, plans, targeting
from commands.demo_company.cast import Person
from commands.demo_company.dates import Dates
from commands.demo_company.lives import Life, Place
from commands.demo_company.names import flag_names
from commands.demo_company.plans import Pencil, Step
from commands.demo_company.projects import Project
from commands.demo_company.targeting import OPERATORS
from commands.demo_company.vocabulary import TAGS
from sql import Connection, flags, strategies

EARLY_SHARE, EARLY_DAYS = 0.1, 50  # of its flags a project makes in its first days
# What was made by mistake, and deleted: name, project, days before today.
MISTAKES = (
    ("checkout-test-please-ignore", "checkout", 655),
    ("search-tpyo-tolerance", "search", 590),
    ("rec-asdf", "recommendations", 377),
)


def draft(dates: Dates, seed: int, projects: Mapping[str, Project], scale: float) -> list[Life]:
    """All flags with the plans of their lives. scale: what share of the flags there shall be."""
    operators = cycle(OPERATORS)
    lives: list[Life] = []
    for project in projects.values():
        names = flag_names(project.plan.prefix, project.plan.flags)[: max(2, round(project.plan.flags * scale))]
        for number, (name, type) in enumerate(names):
            rng = Random(f"{seed}/flag/{name}")
            if name in fixed.NAMES:
                lives.append(Life(Random(name), name, type, project, [], fixed.steps(dates, name)))
                continue
            created_at = birthday(dates, rng, project, number / len(names), 1 / len(names))
            tags = rng.sample(TAGS, rng.choice((0, 1, 1, 2)))
            steps = plans.life(rng, dates, type, project.plan.environments, tags, created_at)
            audience = targeting.audience(rng, operators, created_at) if type != "kill-switch" else []
            lives.append(Life(rng, name, type, project, audience, until_today(dates, rng, project, steps)))
    for name, project_id, days_ago in MISTAKES:
        rng = Random(f"{seed}/flag/{name}")
        lives.append(Life(rng, name, "release", projects[project_id], [], mistake(dates.ago(days_ago, "11:11"), rng)))
    move(dates, seed, projects, lives)
    return sorted(lives, key=lambda life: life.created_at)


def birthday(dates: Dates, rng: Random, project: Project, place: float, share: float) -> datetime:
    """When a flag was made: place says which share of the project's flags were made before it."""
    end = dates.end if project.archived_at is None else project.archived_at - timedelta(days=30)
    begun = project.created_at + timedelta(days=1)
    early = min(begun + timedelta(days=EARLY_DAYS), end)
    if place < EARLY_SHARE and end - begun > timedelta(days=2 * EARLY_DAYS):
        return dates.working_instant(rng, begun, early)
    low = max(0.0, (place - EARLY_SHARE) / (1 - EARLY_SHARE))
    return dates.working_instant(
        rng, min(early, end - timedelta(days=10)) if project.plan.created > 60 else begun, end, (low, min(1.0, low + share))
    )


def until_today(dates: Dates, rng: Random, project: Project, steps: Sequence[Step]) -> list[Step]:
    """The steps that were taken: none is of the future, and an archived project has no live flag."""
    if project.archived_at is None:
        return [step for step in steps if step.at < dates.end]
    last = project.archived_at - timedelta(days=rng.uniform(1, 9))
    taken = [step for step in steps if step.at < last]
    is_live = sum({"archive": -1, "revive": 1}.get(step.act, 0) for step in taken) == 0
    return [*taken, Step(last.replace(microsecond=0), "archive")] if is_live else taken


def mistake(at: datetime, rng: Random) -> list[Step]:
    """A flag that should not have been, and is not."""
    pencil = Pencil(rng, at)
    for act in ("create", "archive", "delete"):
        pencil.do(act)
    return pencil.steps


def move(dates: Dates, seed: int, projects: Mapping[str, Project], lives: Sequence[Life]) -> None:
    """Three flags of search go to recommendations, which has the same environments, some time in their lives."""
    rng = Random(f"{seed}/moves")
    target = projects["recommendations"]
    movable = [
        life
        for life in lives
        if life.project.plan.id == "search"
        and life.steps[0].at > target.created_at
        and life.steps[0].at < dates.ago(30)
        and not life.is_deleted
    ]
    for life in movable[1:12:4]:
        end = min((step.at for step in life.steps if step.act == "archive"), default=dates.end)
        at = dates.working_instant(rng, life.steps[0].at, end)
        if life.steps[0].at < at < end:
            life.steps.append(Step(at, "move", detail=target, by="nora.lindqvist"))


def write(conn: Connection, lives: Sequence[Life]) -> Iterator[int]:
    """Write the flags down as they are today; yields 1 for each."""
    # Ten thousand small statements: most of them need not wait for an answer.
    with conn.pipeline():
        for life in lives:
            if not life.is_deleted:
                insert(conn, life)
            yield 1


def insert(conn: Connection, life: Life) -> None:
    """A flag with everything that belongs to it."""
    flag_id = flags.insert(
        conn,
        life.name,
        life.project.plan.id,
        type=life.type,
        description=life.description,
        impression_data=life.impression_data,
        created_at=life.created_at,
        created_by_user_id=life.creator.user_id,
        stale_since=life.stale_since,
        archived_at=life.archived_at,
        first_in_production_at=life.first_in_production_at,
    )
    for state, since, until in life.past:
        flags.add_past_state(conn, flag_id, state, since=since, until=until)
    for (type, value), at in sorted(life.tags.items()):
        flags.tag(conn, flag_id, type, value, at)
    for person, at in life.favorites.values():
        if isinstance(person, Person) and person.left_at is None:
            flags.add_favorite(conn, person.id, flag_id, at)
    for environment, place in life.places.items():
        flags.add_environment(conn, flag_id, environment, enabled=place.enabled)
        insert_place(conn, flag_id, environment, place)


def insert_place(conn: Connection, flag_id: int, environment: str, place: Place) -> None:
    """The strategies and variants of a flag in an environment."""
    for strategy in place.strategies:
        strategies.insert(
            conn,
            flag_id,
            environment,
            strategy_id=strategy["id"],
            name=strategy["name"],
            title=strategy["title"],
            disabled=strategy["disabled"],
            sort_order=strategy["sortOrder"],
            parameters=strategy["parameters"],
            constraints=strategy["constraints"],
            created_at=place.added_at[strategy["id"]],
        )
        for segment_id in strategy["segments"]:
            strategies.add_segment(conn, strategy["id"], segment_id)
    owned = [(strategy["id"], variant) for strategy in place.strategies for variant in strategy["variants"]]
    for strategy_id, variant in [*owned, *((None, variant) for variant in place.variants)]:
        payload = variant.get("payload", {})
        strategies.insert_variant(
            conn,
            flag_id,
            environment,
            strategy_id,
            name=variant["name"],
            weight=variant["weight"],
            weight_type=variant["weightType"],
            stickiness=variant["stickiness"],
            payload_type=payload.get("type"),
            payload_value=payload.get("value"),
        )
