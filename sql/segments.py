"""Segments: constraints with a name."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from sql import Connection, as_json, value

INSERT = """
    INSERT INTO segments (name, description, project_id, constraints, created_by, created_at)
    VALUES (%(name)s, %(description)s, %(project)s, %(constraints)s::json, %(created_by)s, coalesce(%(created_at)s::timestamptz, now()))
    RETURNING id
"""


def insert(
    conn: Connection,
    name: str,
    constraints: Iterable[Mapping[str, Any]],
    *,
    description: str | None = None,
    project: str | None = None,
    created_by: str | None = None,
    created_at: datetime | None = None,
) -> int:
    """The id of the new segment. project None: for all projects."""
    params = {
        "name": name,
        "description": description,
        "project": project,
        "constraints": as_json(list(constraints)),
        "created_by": created_by,
        "created_at": created_at,
    }
    return value(conn, INSERT, params)
