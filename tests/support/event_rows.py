"""Events written straight into the table, for tests that need many, or old ones."""

from datetime import datetime
from typing import Any

from sql.database import Connection, rows, value

ADD = """
    INSERT INTO events (created_at, type, created_by, created_by_user_id, environment, project, feature_name, data)
    SELECT coalesce(%(at)s, now()), %(type)s, 'somebody', %(creator)s, %(environment)s, %(project)s, %(feature)s,
           %(data)s
      FROM generate_series(1, %(times)s)
 RETURNING id
"""


def add(conn: Connection, times: int = 1, at: datetime | None = None, **fields: Any) -> list[int]:
    """Write events that are all alike, and return their ids."""
    all_fields = {
        "type": "feature-created",
        "creator": None,
        "environment": None,
        "project": None,
        "feature": None,
        "data": "{}",
    }
    return [row["id"] for row in rows(conn, ADD, all_fields | {"times": times, "at": at} | fields)]


def fill_weeks(conn: Connection) -> None:
    """Add up all finished weeks."""
    while value(conn, "SELECT event_weeks_are_due()"):
        conn.execute("SELECT fill_event_weeks()")
