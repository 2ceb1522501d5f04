"""Flags from one project into another."""

from psycopg.rows import DictRow

from sql.database import Connection, one, run

# Held until the end of the transaction: a segment of all projects does not become one of the project that the flag leaves.
HOLD_SEGMENTS = """
    SELECT
      FROM segments
     WHERE id IN (SELECT segment_id FROM strategy_segments JOIN strategies ON strategies.id = strategy_id WHERE flag_id = %(id)s)
     ORDER BY id
       FOR SHARE
"""

OBSTACLES = """
    SELECT ARRAY(
               SELECT environment
                 FROM flag_environments
                WHERE flag_id = %(id)s
                  AND environment NOT IN (SELECT environment FROM project_environments WHERE project_id = %(project)s)
                ORDER BY environment) AS environments,
           EXISTS (SELECT FROM flag_dependencies WHERE %(id)s IN (child_id, parent_id)) AS has_dependencies,
           ARRAY(
               SELECT DISTINCT segments.name
                 FROM strategies
                 JOIN strategy_segments ON strategy_id = strategies.id
                 JOIN segments ON segments.id = segment_id
                WHERE flag_id = %(id)s
                  AND segments.project_id <> %(project)s
                ORDER BY segments.name) AS segments
"""


def obstacles(conn: Connection, flag_id: int, project: str) -> DictRow:
    """What keeps a flag from moving into a project.

    environments: those of the flag that the project lacks; has_dependencies; segments: the names of those it uses that belong elsewhere.
    """
    run(conn, HOLD_SEGMENTS, {"id": flag_id})
    found = one(conn, OBSTACLES, {"id": flag_id, "project": project})
    assert found is not None
    return found


MOVE = "UPDATE flags SET project_id = %(project)s WHERE id = %(id)s"


def move(conn: Connection, flag_id: int, project: str) -> None:
    """Put a flag into another project. Its usage stays where it was reported."""
    run(conn, MOVE, {"id": flag_id, "project": project})
