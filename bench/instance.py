"""Everything in a filled database but its events: users and memberships, projects, flags, usage."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import bcrypt
from psycopg.sql import SQL, Identifier

from bench.company import ENVIRONMENTS, USAGE_ROWS, YEARS, Company, email, user_id
from bench.facts import MEMBER_ID, MEMBER_TOKEN, USER_PASSWORD
from sql import Connection
from sql.access import digest
from validators.settings import load

MEMBER_ROLE, OWNER_ROLE, VIEWER_ROLE, EDITOR_ROLE = 5, 4, 3, 2
APPS = ("web", "app", "checkout", "search", "billing")


def copy(conn: Connection, company: Company) -> None:
    """Write all of it, in one transaction."""
    with conn.transaction():
        conn.execute("INSERT INTO environments (name, type, sort_order) VALUES ('staging', 'preproduction', 2)")
        copy_users(conn, company)
        copy_projects(conn, company)
        copy_memberships(conn, company)
        copy_flags(conn, company)
        write(conn, "usage_metrics", ("project_id", "flag_name", "environment", "app_name", "hour", "yes", "no"), usage(company))
        for table in ("users", "groups", "flags"):
            conn.execute(SQL("SELECT setval(pg_get_serial_sequence({}, 'id'), max(id)) FROM {}").format(table, Identifier(table)))


def write(conn: Connection, table: str, columns: Sequence[str], lines: Iterable[Sequence[Any]]) -> None:
    """COPY rows into a table."""
    statement = SQL("COPY {} ({}) FROM STDIN").format(Identifier(table), SQL(", ").join(map(Identifier, columns)))
    with conn.cursor().copy(statement) as into:
        for line in lines:
            into.write_row(line)


def copy_users(conn: Connection, company: Company) -> None:
    """Users who log in on three days of four, and the member, who has a token."""
    rounds = load({})["BCRYPT_ROUNDS"]
    hashed = bcrypt.hashpw(USER_PASSWORD.encode(), bcrypt.gensalt(rounds)).decode()
    people = [(user_id(user), f"User {user}", email(user), VIEWER_ROLE if user % 3 else EDITOR_ROLE) for user in range(company.users)]
    people.append((MEMBER_ID, "Member", "member@example.org", VIEWER_ROLE))
    joined = [company.start + YEARS * (0.9 * place / len(people)) for place in range(len(people))]
    columns = ("id", "name", "email", "root_role_id", "password_hash", "created_at")
    write(conn, "users", columns, [(*person, hashed, at) for person, at in zip(people, joined, strict=True)])
    today = company.now.date()
    days = (
        (person[0], at.date() + timedelta(days=day))
        for person, at in zip(people, joined, strict=True)
        for day in range((today - at.date()).days + 1)
        if company.rng.random() < 0.4
    )
    write(conn, "user_seen_days", ("user_id", "day"), days)
    expires = company.now + timedelta(days=365)
    columns = ("user_id", "description", "digest", "expires_at")
    write(conn, "personal_tokens", columns, [(MEMBER_ID, "bench", digest(MEMBER_TOKEN), expires)])


def copy_projects(conn: Connection, company: Company) -> None:
    """Projects with three environments each."""
    projects = [
        (project.id, project.id.title(), "private" if project.is_private else "open", company.start) for project in company.projects
    ]
    write(conn, "projects", ("id", "name", "mode", "created_at"), projects)
    places = [(project.id, environment) for project in company.projects for environment in ENVIRONMENTS]
    write(conn, "project_environments", ("project_id", "environment"), places)


def copy_memberships(conn: Connection, company: Company) -> None:
    """Who works in a project is a member, every fifth an owner; some were before; groups of ten are members of three projects each."""
    held, past = [(company.member_project.id, MEMBER_ID, MEMBER_ROLE, company.start)], []
    for project in company.projects:
        for user in project.users:
            since = company.start + YEARS * company.rng.random()
            held.append((project.id, user_id(user), MEMBER_ROLE if user % 5 else OWNER_ROLE, since))
        for _ in range(3):
            since = company.start + YEARS * (company.rng.random() / 2)
            until = since + timedelta(days=company.rng.randint(5, 300))
            past.append((project.id, user_id(company.rng.randrange(company.users)), MEMBER_ROLE, since, until))
    write(conn, "project_user_roles", ("project_id", "user_id", "role_id", "created_at"), held)
    write(conn, "past_project_user_roles", ("project_id", "user_id", "role_id", "started_at", "ended_at"), past)
    groups = range(1, company.users // 10 + 1)
    write(conn, "groups", ("id", "name", "created_at"), [(group, f"Group {group}", company.start) for group in groups])
    members = [(group, user_id((group - 1) * 10 + place), company.start) for group in groups for place in range(10)]
    write(conn, "group_users", ("group_id", "user_id", "created_at"), members)
    roles = [(project.id, group, MEMBER_ROLE, company.start) for group in groups for project in company.rng.sample(company.projects, 3)]
    write(conn, "project_group_roles", ("project_id", "group_id", "role_id", "created_at"), roles)


def copy_flags(conn: Connection, company: Company) -> None:
    """Flags in three environments with a strategy in one, and what some of them were before: stale, archived."""
    rng = company.rng
    flags = [(project, flag) for project in company.projects for flag in project.flags]
    columns = ("id", "name", "project_id", "type", "created_at", "stale_since", "archived_at", "first_in_production_at")
    lines = [
        (id, flag.name, project.id, flag.type, flag.created_at, flag.stale_since, flag.archived_at, flag.first_in_production_at)
        for id, (project, flag) in enumerate(flags, start=1)
    ]
    write(conn, "flags", columns, lines)
    numbered = list(enumerate((flag for _, flag in flags), start=1))
    places = [
        (id, environment, flag.archived_at is None and (environment != "production" or flag.first_in_production_at is not None))
        for id, flag in numbered
        for environment in ENVIRONMENTS
    ]
    write(conn, "flag_environments", ("flag_id", "environment", "enabled"), places)
    strategies = [(f"00000000-0000-4000-8000-{id:012}", id, "production", "flexibleRollout") for id, _ in numbered]
    write(conn, "strategies", ("id", "flag_id", "environment", "name"), strategies)
    past = []
    for id, flag in numbered:
        if rng.random() < 0.2:
            life = (flag.archived_at or flag.stale_since or company.now) - flag.created_at
            past.append((id, rng.choice(("stale", "archived")), flag.created_at + life * 0.3, flag.created_at + life * 0.5))
    write(conn, "past_flag_states", ("flag_id", "state", "started_at", "ended_at"), past)


def usage(company: Company) -> Iterable[Sequence[Any]]:
    """Usage of every hour of the three years, of flags that there were."""
    rng = company.rng
    hours = int(YEARS.total_seconds()) // 3600
    rows = company.events * USAGE_ROWS
    first = company.start.replace(minute=0, second=0, tzinfo=UTC)
    due = 0.0
    for hour in range(hours):
        due += rows / hours
        seen: set[tuple[str, str]] = set()
        instant: datetime = first + timedelta(hours=hour)
        while due >= 1:
            due -= 1
            project = company.projects[int((len(company.projects) + 1) ** rng.random()) - 1]
            alive = min(len(project.flags), int(hour / hours * len(project.flags)) + 1)
            flag, app = project.flags[alive - int((alive + 1) ** rng.random())], rng.choice(APPS)
            if (flag.name, app) not in seen:
                seen.add((flag.name, app))
                yield project.id, flag.name, "production", app, instant, rng.randrange(1, 10_000), rng.randrange(10_000)
