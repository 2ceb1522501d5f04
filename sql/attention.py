"""What waits for a user on the start page."""

from collections.abc import Sequence
from typing import LiteralString

from psycopg.rows import DictRow

from sql.applications import IS_UNKNOWN, SEEN
from sql.database import Connection, one
from sql.projects.health import POTENTIALLY_STALE

# old_in, asked_in: the project with the most of these flags.
COUNT: LiteralString = f"""
    WITH own AS (
        SELECT project_id,
               count(*) FILTER (WHERE {POTENTIALLY_STALE}) AS old,
               count(*) FILTER (WHERE EXISTS (
                    SELECT FROM flag_sightings
                     WHERE flag_id = flags.id
                       AND last_at > greatest(stale_since, now() - interval '30 days')
                       AND stale_since IS NOT NULL)) AS asked
          FROM flags
          JOIN flag_types ON flag_types.id = flags.type
         WHERE archived_at IS NULL
           AND project_id = ANY(%(projects)s)
         GROUP BY project_id
    )
    SELECT coalesce(sum(old), 0) AS old,
           coalesce(sum(asked), 0) AS asked,
           (SELECT project_id FROM own ORDER BY old DESC, project_id LIMIT 1) AS old_in,
           (SELECT project_id FROM own ORDER BY asked DESC, project_id LIMIT 1) AS asked_in,
           (SELECT count(DISTINCT flag_name)
              FROM unknown_flags
              JOIN applications ON applications.name = app_name
             WHERE cardinality(%(projects)s) > 0
               AND {IS_UNKNOWN}
               AND {SEEN}) AS unknown
      FROM own
"""


def count(conn: Connection, projects: Sequence[str], viewer: int | None) -> DictRow:
    """Return old, asked (stale flags that applications ask for) and unknown: of projects that the user may change."""
    return one(conn, COUNT, {"projects": list(projects), "viewer": viewer}) or {}
