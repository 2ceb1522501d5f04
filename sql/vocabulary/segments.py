"""Segments: constraints with a name."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, LiteralString

from sql.access import VISIBLE
from sql.database import Connection, as_json, one, rows, run, value

# What the service says when a unique index refuses a segment.
TAKEN = {"segments_name_key": "name: a segment with this name already exists"}

FIRST: LiteralString = "'id', segments.id, 'name', segments.name, 'description', segments.description"
PROJECT: LiteralString = ", 'project', segments.project_id"
REST: LiteralString = """,
    'constraints', segments.constraints, 'createdBy', segments.created_by, 'createdAt', iso(segments.created_at)"""
USE: LiteralString = ", 'usedInFeatures', coalesce(uses.flags, 0), 'usedInProjects', coalesce(uses.projects, 0)"

# Segment, of rows of the table segments; project only where there is one.
RECORD: LiteralString = (
    f"CASE WHEN segments.project_id IS NULL THEN json_build_object({FIRST}{REST}) ELSE json_build_object({FIRST}{PROJECT}{REST}) END"
)

USED_RECORD: LiteralString = f"""
    CASE WHEN segments.project_id IS NULL THEN json_build_object({FIRST}{REST}{USE})
         ELSE json_build_object({FIRST}{PROJECT}{REST}{USE})
    END
"""

# Whether the viewer may see a segment: one of all projects, or of a project that he may see.
SEEN: LiteralString = f"""
    (segments.project_id IS NULL
     OR EXISTS (SELECT FROM projects WHERE projects.id = segments.project_id AND {VISIBLE}))"""

# Our choice: a segment is used by the live flags whose strategies have it, wherever they are.
LIST: LiteralString = f"""
    WITH uses AS (
        SELECT segment_id, count(DISTINCT flags.id) AS flags, count(DISTINCT flags.project_id) AS projects
          FROM strategy_segments
          JOIN strategies ON strategies.id = strategy_segments.strategy_id
          JOIN flags ON flags.id = strategies.flag_id
         WHERE flags.archived_at IS NULL
         GROUP BY segment_id
    )
    SELECT json_build_object('segments', coalesce(json_agg({USED_RECORD} ORDER BY segments.name), '[]'))::text
      FROM segments
      LEFT JOIN uses ON uses.segment_id = segments.id
     WHERE {SEEN}"""


def read(conn: Connection, viewer: int | None) -> str:
    """{"segments": [...]} as JSON text: those that the viewer may see with their use, by name."""
    return value(conn, LIST, {"viewer": viewer})


GET: LiteralString = f"SELECT ({RECORD})::text FROM segments WHERE id = %(id)s AND {SEEN}"


def get(conn: Connection, segment_id: int, viewer: int | None) -> str | None:
    """The Segment record as JSON text. None: unknown, or of a project that the viewer may not see."""
    return value(conn, GET, {"id": segment_id, "viewer": viewer})


LOCK = "SELECT id FROM segments WHERE id = %(id)s FOR UPDATE"

# A statement of its own, begun when the lock is held: which project the segment is of may have changed in the wait for it.
READ: LiteralString = f"SELECT {RECORD} FROM segments WHERE id = %(id)s AND {SEEN}"


def lock(conn: Connection, segment_id: int, viewer: int | None) -> dict[str, Any] | None:
    """The Segment record. Until the transaction ends, nobody changes the segment or gives it to a strategy. None: as in get()."""
    params = {"id": segment_id, "viewer": viewer}
    return None if value(conn, LOCK, params) is None else value(conn, READ, params)


IS_TAKEN = "SELECT EXISTS (SELECT FROM segments WHERE name = %(name)s)"


def is_taken(conn: Connection, name: str) -> bool:
    """Whether there is a segment of this name, whoever may see it."""
    return value(conn, IS_TAKEN, {"name": name})


HOLD_PROJECT = "SELECT id FROM projects WHERE id = %(id)s FOR KEY SHARE"


def hold_project(conn: Connection, project_id: str) -> bool:
    """Whether there is such a project, which then stays until the transaction ends."""
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
    """The id of the new segment. project None: for all projects. UniqueViolation of segments_name_key: the name is taken."""
    params = {
        "name": name,
        "description": description,
        "project": project,
        "constraints": as_json(list(constraints)),
        "created_by": created_by,
    }
    return value(conn, INSERT, params)


UPDATE: LiteralString = f"""
    UPDATE segments
       SET name = %(name)s,
           description = %(description)s,
           project_id = %(project)s,
           constraints = %(constraints)s::json
     WHERE id = %(id)s
    RETURNING {RECORD}"""


def update(conn: Connection, segment_id: int, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The record of the segment, made what is asked for. UniqueViolation of segments_name_key: the name is taken."""
    return value(conn, UPDATE, {**asked, "id": segment_id, "constraints": as_json(asked["constraints"])})


DELETE = "DELETE FROM segments WHERE id = %(id)s"


def delete(conn: Connection, segment_id: int) -> None:
    """Remove a segment that no strategy has."""
    run(conn, DELETE, {"id": segment_id})


# Held until the end of the transaction: a segment that is being deleted or moved to another project is not given to a strategy meanwhile.
USABLE_SEGMENTS = """
    SELECT id
      FROM segments
     WHERE id = ANY(%(ids)s::bigint[])
       AND (project_id IS NULL OR project_id = %(project)s)
     ORDER BY id
       FOR SHARE
"""


def usable_segments(conn: Connection, ids: Sequence[int], project: str) -> set[int]:
    """Those of these segments that strategies of the project can use: they exist, and are of all projects or of this one."""
    return {row["id"] for row in rows(conn, USABLE_SEGMENTS, {"ids": list(ids), "project": project})}
