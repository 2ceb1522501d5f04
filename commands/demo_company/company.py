"""Makes the company in a database, in the caller's transaction."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from random import Random

from commands.demo_company import flags, history, usage
from commands.demo_company.cast import MARKER, everybody
from commands.demo_company.dates import Dates
from commands.demo_company.groups import make_groups
from commands.demo_company.log import Log
from commands.demo_company.projects import make_projects
from commands.demo_company.roles import make_roles
from commands.demo_company.staff import hire, remember_days
from commands.demo_company.tokens import INVITES, make_invites, make_keys
from commands.demo_company.vocabulary import make_segments, make_vocabulary
from sql import Connection, past_users

FLAGS, EVENTS, REPORTS = 400, 50_000, 30_000


@dataclass(frozen=True)
class Made:
    """How much there is now, and the secret of a signup token that works."""

    counts: dict[str, int]
    invite: str


def is_there(conn: Connection) -> bool:
    """Whether the company has been made in this database before, whatever was done to it since."""
    return past_users.ever_was(conn, MARKER)


def work(scale: float) -> int:
    """About how many pieces of work make() does."""
    return round((2 * FLAGS + EVENTS + REPORTS) * scale)


def make(conn: Connection, seed: int, today: date, scale: float, advance: Callable[[int], object]) -> Made:
    """Make all of it. scale: 1, or less for fewer flags, events and reports; advance is told of every piece of work done."""
    dates, rng, log = Dates(seed, today), Random(seed), Log()
    people = everybody(dates, Random(f"{seed}/people"))
    make_vocabulary(conn, dates, people, log)
    role_ids = make_roles(conn, dates, people, log)
    hire(conn, people, role_ids, log)
    group_ids = make_groups(conn, dates, people, role_ids, log)
    projects = make_projects(conn, dates, rng, people, (role_ids, group_ids), log)
    segments = make_segments(conn, dates, rng, people, log)
    for project in projects.values():
        project.segments = segments
    invite = make_invites(conn, dates, people, log)
    keys = make_keys(conn, dates, people, log)
    lives = flags.draft(dates, seed, projects, scale)
    history.back_up(dates, lives, people, log)
    planned = sum(len(life.steps) for life in lives)
    history.fill_up(dates, rng, lives, max(0, round(EVENTS * scale) - len(log) - planned))
    for done in history.play(lives, log):
        advance(done)
    for done in flags.write(conn, lives):
        advance(done)
    reports = usage.reports(dates, seed, lives, round(REPORTS * scale))
    for done in usage.write(conn, reports):
        advance(done)
    for done in log.write(conn):
        advance(done)
    remember_days(conn, people)
    kept = [life for life in lives if not life.is_deleted]
    counts = {
        "users": sum(not person.is_service for person in people.values()),
        "service accounts": sum(person.is_service for person in people.values()),
        "groups": len(group_ids),
        "projects": len(projects),
        "segments": len(segments),
        "flags": len(kept),
        "strategies": sum(len(place.strategies) for life in kept for place in life.places.values()),
        "application keys": keys,
        "signup tokens": len(INVITES),
        "events": len(log),
        "usage reports": len(reports),
    }
    return Made(counts, invite)
