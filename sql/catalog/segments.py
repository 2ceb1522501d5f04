"""Segments: named lists of constraints."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, LiteralString

from sql.database import Connection, RecordText, as_json, one, record, rows, run, value
from sql.projects.visibility import VISIBLE

# The message of a unique violation.
TAKEN = {"segments_name_key": "name: a segment with this name already exists"}

# The Segment record, which events contain too. A segment of all projects has no key project.
RECORD: LiteralString = """
    json_merge(
        json_build_object('id', segments.id, 'name', segments.name, 'description', segments.description),
        CASE WHEN segments.project_id IS NOT NULL THEN json_build_object('project', segments.project_id) END,
        json_build_object(
            'constraints', segments.constraints,
            'createdBy', segments.created_by,
            'createdAt', iso(segments.created_at)))
"""

# A viewer sees the segments of all projects and of the projects that they see.
SEEN: LiteralString = f"""
    (segments.project_id IS NULL
     OR EXISTS (SELECT FROM projects WHERE projects.id = segments.project_id AND {VISIBLE}))"""

# Our choice: a segment is used by live flags in any project, if their strategies have it.
LIST: LiteralString = f"""
    WITH uses AS (
        SELECT segment_id, count(DISTINCT flags.id) AS flags, count(DISTINCT flags.project_id) AS projects
          FROM strategy_segments
          JOIN strategies ON strategies.id = strategy_segments.strategy_id
          JOIN flags ON flags.id = strategies.flag_id
         WHERE flags.archived_at IS NULL
         GROUP BY segment_id
    )
    SELECT json_build_object('segments', coalesce(json_agg(json_merge({RECORD}, json_build_object(
                                                     'usedInFeatures', coalesce(uses.flags, 0),
                                                     'usedInProjects', coalesce(uses.projects, 0)))
                                                 ORDER BY segments.name), '[]'))::text
      FROM segments
      LEFT JOIN uses ON uses.segment_id = segments.id
     WHERE {SEEN}"""


def list_all(conn: Connection, viewer: int | None) -> str:
    """Return {"segments": [...]} as JSON text: the segments that the viewer sees, with their use, by name."""
    return value(conn, LIST, {"viewer": viewer})


GET: LiteralString = f"SELECT ({RECORD})::text AS text, version FROM segments WHERE id = %(id)s AND {SEEN}"


def get(conn: Connection, segment_id: int, viewer: int | None) -> RecordText | None:
    """Return a segment as JSON text, or None if the viewer sees no such segment."""
    return record(conn, GET, {"id": segment_id, "viewer": viewer})


LOCK = "SELECT id FROM segments WHERE id = %(id)s FOR UPDATE"

# A separate statement, which begins after the wait for the lock, because the project of the segment may have changed.
READ: LiteralString = f"SELECT {RECORD} FROM segments WHERE id = %(id)s AND {SEEN}"


def lock(conn: Connection, segment_id: int, viewer: int | None) -> dict[str, Any] | None:
    """Lock a segment, so that no strategy gets it. Return its record, or None if the viewer sees no such segment."""
    params = {"id": segment_id, "viewer": viewer}
    return None if value(conn, LOCK, params) is None else value(conn, READ, params)


IS_TAKEN = "SELECT EXISTS (SELECT FROM segments WHERE name = %(name)s)"


def is_taken(conn: Connection, name: str) -> bool:
    """Return whether a segment has this name, visible or not."""
    return value(conn, IS_TAKEN, {"name": name})


HOLD_PROJECT = "SELECT id FROM projects WHERE id = %(id)s FOR KEY SHARE"


def hold_project(conn: Connection, project_id: str) -> bool:
    """Return whether a project exists, and keep it from being deleted."""
    return one(conn, HOLD_PROJECT, {"id": project_id}) is not None


INSERT = """
    INSERT INTO segments (name, description, project_id, constraints, created_by)
    VALUES (%(name)s, %(description)s, %(project)s, %(constraints)s::json, %(created_by)s)
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
) -> int:
    """Insert a segment (project None: for all) and return its id. Raise UniqueViolation for a taken name."""
    params = {
        "name": name,
        "description": description,
        "project": project,
        "constraints": as_json(list(constraints)),
        "created_by": created_by,
    }
    return value(conn, INSERT, params)


RESTORE = """
    INSERT INTO segments (id, name, description, project_id, constraints, created_by, created_at)
    VALUES (%(id)s, %(name)s, %(description)s, %(project)s, %(constraints)s::json, %(createdBy)s, %(createdAt)s)
    RETURNING id
"""


def restore(conn: Connection, segment: Mapping[str, Any]) -> int:
    """Insert a segment with the id of its record. Raise UniqueViolation if its id or name is taken."""
    return value(conn, RESTORE, {**segment, "constraints": as_json(segment["constraints"])})


UPDATE: LiteralString = f"""
    UPDATE segments
       SET name = %(name)s,
           description = %(description)s,
           project_id = %(project)s,
           constraints = %(constraints)s::json
     WHERE id = %(id)s
    RETURNING {RECORD}
"""


def update(conn: Connection, segment_id: int, segment: Mapping[str, Any]) -> dict[str, Any]:
    """Set every field that can change, and return the record. Raise UniqueViolation if the name is taken."""
    return value(conn, UPDATE, {**segment, "id": segment_id, "constraints": as_json(segment["constraints"])})


DELETE = "DELETE FROM segments WHERE id = %(id)s"


def delete(conn: Connection, segment_id: int) -> None:
    """Delete a segment that no strategy has."""
    run(conn, DELETE, {"id": segment_id})


# FOR SHARE: no other transaction deletes a segment, or moves it to another project, before the strategy has it.
HOLD_USABLE = """
    SELECT id
      FROM segments
     WHERE id = ANY(%(ids)s::bigint[])
       AND (project_id IS NULL OR project_id = %(project)s)
     ORDER BY id
       FOR SHARE
"""


def hold_usable_segments(conn: Connection, ids: Sequence[int], project: str) -> set[int]:
    """Return the ids of the segments that strategies of the project can use, and keep the segments from changing."""
    return {row["id"] for row in rows(conn, HOLD_USABLE, {"ids": list(ids), "project": project})}
