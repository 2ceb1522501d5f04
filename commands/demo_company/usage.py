"""What applications asked: two years of usage, as the flags were on and off."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any

from commands.demo_company.dates import Dates
from commands.demo_company.lives import Life, Place
from sql import Connection, usage

BATCH = 2000
# What share of a project's traffic an environment sees.
VOLUMES = {"production": 1.0, "staging": 0.01, "qa": 0.004, "development": 0.001}
WEEK = (0.95, 0.9, 0.95, 1.0, 1.15, 1.3, 1.2)  # people shop at weekends


def reports(dates: Dates, seed: int, lives: Sequence[Life], count: int) -> list[dict[str, Any]]:
    """About this many reports, one a day at most for a flag in an environment, oldest first."""
    seen = [
        (life, environment, place)
        for life in lives
        for environment, place in life.places.items()
        if place.shares and life.project.plan.applications and not life.is_deleted
    ]
    spans = [asked_span(dates, life, place) for life, _, place in seen]
    weights = [3 if environment == "production" else 1 for _, environment, _ in seen]
    all_days = sum(weight * (until - since).days for weight, (since, until) in zip(weights, spans, strict=True))
    share = min(1 / 3, count / max(1, all_days))
    found: list[dict[str, Any]] = []
    for (life, environment, place), (since, until), weight in zip(seen, spans, weights, strict=True):
        rng = Random(f"{seed}/usage/{life.name}/{environment}")
        # How often the applications ask for this flag, beside others of its project.
        popularity = rng.lognormvariate(-2, 0.8) * VOLUMES[environment]
        for number in range((until - since).days):
            if rng.random() < share * weight:
                at = since + timedelta(days=number, hours=rng.randrange(24))
                found.append(report(dates, rng, life, environment, place, at, popularity))
    return sorted(found, key=lambda report: report["at"])


def asked_span(dates: Dates, life: Life, place: Place) -> tuple[datetime, datetime]:
    """From the day after it was first there until applications no longer asked, a week or so after it was archived."""
    first = place.shares[0][0].replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    end = dates.end if life.archived_at is None else min(dates.end, life.archived_at + timedelta(days=6))
    if life.project.archived_at:
        end = min(end, life.project.archived_at)
    return first, max(first, end)


def report(dates: Dates, rng: Random, life: Life, environment: str, place: Place, at: datetime, popularity: float) -> dict[str, Any]:
    """What one application asked in that hour, which stands for its day."""
    home = [project for since, project in life.homes if since <= at][-1]
    growth = 0.5 + 0.9 * (at - dates.start) / (dates.end - dates.start)
    season = 1.6 if at.month in (11, 12) else 1.0
    asked = max(1, round(home.plan.traffic * popularity * growth * season * WEEK[at.weekday()] * rng.uniform(0.7, 1.3)))
    on = next(share for since, share in reversed(place.shares) if since <= at)
    yes = min(asked, round(asked * on * rng.uniform(0.95, 1.05)))
    return {
        "project": home.plan.id,
        "flag": life.name,
        "environment": environment,
        "app": rng.choice(home.plan.applications),
        "at": at,
        "yes": yes,
        "no": asked - yes,
    }


def write(conn: Connection, rows: Sequence[dict[str, Any]]) -> Iterator[int]:
    """Write the reports; yields how many, batch by batch."""
    for first in range(0, len(rows), BATCH):
        batch = rows[first : first + BATCH]
        usage.add(conn, batch)
        yield len(batch)
