"""Rows that no request makes: of the past, or of one table alone. A test inserts them itself."""

from collections.abc import Iterable, Mapping
from typing import Any

from psycopg.sql import SQL, Identifier, Placeholder

from sql import events
from sql.database import Connection, as_json
from sql.events import Event
from sql.tokens import signup_tokens


def insert(conn: Connection, table: str, **columns: Any) -> dict[str, Any]:
    """Insert a row with these columns, and return the whole row."""
    names, values = (SQL(", ").join(map(kind, columns)) for kind in (Identifier, Placeholder))
    statement = SQL("INSERT INTO {} ({}) VALUES ({}) RETURNING *").format(Identifier(table), names, values)
    row = conn.execute(statement, columns).fetchone()
    assert row is not None
    return row


def update(conn: Connection, table: str, row_id: int | str, /, **columns: Any) -> None:
    """Set these columns of the row with this id, if there are any."""
    if columns:
        changes = SQL(", ").join(SQL("{} = {}").format(Identifier(name), Placeholder(name)) for name in columns)
        statement = SQL("UPDATE {} SET {} WHERE id = %(where)s").format(Identifier(table), changes)
        conn.execute(statement, {**columns, "where": row_id})


def record(conn: Connection, type: str, author: events.Author, *, created_at: Any = None, **about: Any) -> None:
    """Write an event into the log, of another instant if one is given."""
    if created_at is None:
        events.record(conn, Event(type, author, **about))
        return
    row = events.as_row(Event(type, author, **about))
    documents = {key: None if row[key] is None else as_json(row[key]) for key in ("data", "pre_data", "tags")}
    insert(conn, "events", created_at=created_at, **row | documents)


def mark_stale(conn: Connection, flag_id: int, at: Any = "now") -> None:
    """Mark a flag stale, since now or another instant; None: not stale."""
    update(conn, "flags", flag_id, stale_since=at)


def tag(conn: Connection, flag_id: int, type: str, value: str) -> None:
    conn.execute("INSERT INTO tags (type, value) VALUES (%s, %s) ON CONFLICT DO NOTHING", [type, value])
    conn.execute("INSERT INTO flag_tags VALUES (%s, %s, %s) ON CONFLICT DO NOTHING", [flag_id, type, value])


def link(conn: Connection, flag_id: int, url: str, title: str | None = None) -> str:
    """A link of a flag. Returns its id."""
    return str(insert(conn, "flag_links", flag_id=flag_id, url=url, title=title)["id"])


def add_flag_environment(conn: Connection, flag_id: int, environment: str, *, enabled: bool = False) -> None:
    insert(conn, "flag_environments", flag_id=flag_id, environment=environment, enabled=enabled)


def add_segment(conn: Connection, strategy_id: str, segment_id: int) -> None:
    insert(conn, "strategy_segments", strategy_id=strategy_id, segment_id=segment_id)


def insert_variant(
    conn: Connection, flag_id: int, environment: str, strategy_id: str | None, *, name: str, weight: int, **fields: Any
) -> None:
    """Add a variant to a strategy, or to a flag in an environment. None: to the flag."""
    fields |= {"flag_id": flag_id, "environment": environment, "strategy_id": strategy_id}
    insert(conn, "variants", name=name, weight=weight, **fields)


def allow(
    conn: Connection, role_id: int, permission: str, *, project: str | None = None, environment: str | None = None
) -> None:
    """Let a role hold a permission; None: in all projects, in all environments."""
    place = {"project_id": project, "environment": environment}
    insert(conn, "role_permissions", role_id=role_id, permission=permission, **place)


def add_group_user(conn: Connection, group_id: int, user_id: int, **fields: Any) -> None:
    insert(conn, "group_users", group_id=group_id, user_id=user_id, **fields)


def remove_group_user(conn: Connection, group_id: int, user_id: int) -> None:
    conn.execute("DELETE FROM group_users WHERE group_id = %s AND user_id = %s", [group_id, user_id])


def add_project_user(conn: Connection, project_id: str, user_id: int, role_id: int, created_at: Any = "now") -> None:
    insert(conn, "project_user_roles", project_id=project_id, user_id=user_id, role_id=role_id, created_at=created_at)


def add_project_group(conn: Connection, project_id: str, group_id: int, role_id: int, created_at: Any = "now") -> None:
    row = {"project_id": project_id, "group_id": group_id, "role_id": role_id, "created_at": created_at}
    insert(conn, "project_group_roles", **row)


def insert_project(conn: Connection, project_id: str, name: str, **fields: Any) -> None:
    """Insert a project, without environments."""
    insert(conn, "projects", id=project_id, name=name, **fields)


def add_project_environment(conn: Connection, project_id: str, environment: str, default_strategy: Any = None) -> None:
    strategy = None if default_strategy is None else as_json(default_strategy)
    insert(conn, "project_environments", project_id=project_id, environment=environment, default_strategy=strategy)


# Requests can report usage of the last hours only.
REPORT_USAGE = """
    INSERT INTO usage_metrics (project_id, flag_name, environment, app_name, hour, yes, no)
    VALUES (%(project)s, %(flag)s, %(environment)s, %(app)s, date_trunc('hour', %(at)s::timestamptz), %(yes)s, %(no)s)
        ON CONFLICT ON CONSTRAINT usage_metrics_pkey DO UPDATE
       SET yes = usage_metrics.yes + excluded.yes, no = usage_metrics.no + excluded.no
"""

# Usage that was reported before the hour of the flag's creation is that of an earlier flag.
SIGHT = """
    INSERT INTO flag_sightings AS known (flag_id, environment, app_name, first_at, last_at)
    SELECT id, %(environment)s, %(app)s, greatest(hour, created_at), greatest(hour, created_at)
      FROM flags, date_trunc('hour', %(at)s::timestamptz) AS hour
     WHERE name = %(flag)s
       AND deleted_at IS NULL
       AND hour >= date_trunc('hour', created_at)
        ON CONFLICT ON CONSTRAINT flag_sightings_pkey DO UPDATE
       SET first_at = least(known.first_at, excluded.first_at), last_at = greatest(known.last_at, excluded.last_at)
"""


def report_usage(conn: Connection, reports: Iterable[Mapping[str, Any]]) -> None:
    """Add reported usage: each report has project, flag, environment, app, at, yes and no.

    An application was seen at the beginning of the hour of its report.
    """
    reports = list(reports)
    with conn.cursor() as cursor:
        cursor.executemany(REPORT_USAGE, reports)
        cursor.executemany(SIGHT, reports)


def signup_token(conn: Connection, *, name: str, expires_at: Any, created_by: str, **fields: Any) -> dict[str, Any]:
    """Insert a signup token, also a disabled or an old one, or one with this secret. Return the row."""
    fields = {"secret": signup_tokens.generate()} | fields
    return insert(conn, "signup_tokens", name=name, expires_at=expires_at, created_by=created_by, **fields)
