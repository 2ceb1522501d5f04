"""What proposed changes would replace, as it is now. These statements lock nothing."""

from collections.abc import Collection
from typing import Any, LiteralString

from psycopg.rows import DictRow

from sql.catalog import segments
from sql.database import Connection, rows

LIST_FLAGS = """
    SELECT flags.id,
           flags.name,
           flags.project_id,
           %(environment)s::text AS environment,
           archived_at IS NOT NULL AS is_archived,
           deleted_at IS NOT NULL AS is_deleted,
           default_strategy,
           (SELECT default_stickiness FROM projects WHERE projects.id = flags.project_id) AS default_stickiness,
           coalesce(enabled, false) AS enabled,
           (SELECT coalesce(json_object_agg(id, sort_order ORDER BY created_at, id), '{}')
              FROM strategies
             WHERE flag_id = flags.id
               AND environment = %(environment)s) AS positions,
           (SELECT coalesce(json_agg(json_build_object('feature', parents.name, 'enabled', links.enabled,
                                                       'variants', links.variants) ORDER BY parents.name), '[]')
              FROM flag_dependencies AS links
              JOIN flags AS parents ON parents.id = parent_id
             WHERE child_id = flags.id) AS parents
      FROM flags
      LEFT JOIN project_environments ON project_environments.project_id = flags.project_id
                                    AND project_environments.environment = %(environment)s
      LEFT JOIN flag_environments ON flag_id = flags.id AND flag_environments.environment = %(environment)s
     WHERE flags.id = ANY(%(ids)s::bigint[])
"""


def list_flags(conn: Connection, ids: Collection[int], environment: str) -> list[DictRow]:
    """Return flags, also archived and deleted ones, with their state in the environment.

    positions: the sort orders of their strategies by id, oldest first, which is the order of equal ones.
    """
    return rows(conn, LIST_FLAGS, {"ids": list(ids), "environment": environment})


LIST_SEGMENTS: LiteralString = f"SELECT id, {segments.RECORD} AS record FROM segments WHERE id = ANY(%(ids)s::bigint[])"


def list_segments(conn: Connection, ids: Collection[int]) -> dict[int, dict[str, Any]]:
    """Return the Segment records by id."""
    return {row["id"]: row["record"] for row in rows(conn, LIST_SEGMENTS, {"ids": list(ids)})}
