"""What waits for a user on the start page."""

from collections.abc import Sequence
from typing import LiteralString

from psycopg.rows import DictRow

from sql.applications import IS_UNKNOWN, SEEN
from sql.database import Connection, one
from sql.projects.health import POTENTIALLY_STALE

# old_in, asked_in: the project with the most of these flags. failing: integrations, which only administrators see.
COUNT: LiteralString = f"""
    SELECT count(*) FILTER (WHERE is_old) AS old,
           count(*) FILTER (WHERE is_asked) AS asked,
           mode() WITHIN GROUP (ORDER BY project_id) FILTER (WHERE is_old) AS old_in,
           mode() WITHIN GROUP (ORDER BY project_id) FILTER (WHERE is_asked) AS asked_in,
           (SELECT count(DISTINCT flag_name)
              FROM unknown_flags
              JOIN applications ON applications.name = app_name
             WHERE cardinality(%(projects)s) > 0
               AND {IS_UNKNOWN}
               AND {SEEN}) AS unknown,
           (SELECT count(*) FROM integrations WHERE enabled AND failing_since IS NOT NULL) AS failing
      FROM (SELECT project_id,
                   {POTENTIALLY_STALE} AS is_old,
                   stale_since IS NOT NULL AND EXISTS (
                       SELECT FROM flag_sightings
                        WHERE flag_id = flags.id
                          AND last_at > greatest(stale_since, now() - interval '30 days')) AS is_asked
              FROM flags
              JOIN flag_types ON flag_types.id = flags.type
             WHERE archived_at IS NULL
               AND project_id = ANY(%(projects)s)) AS own
"""


def count(conn: Connection, projects: Sequence[str], viewer: int | None) -> DictRow:
    """Return old, asked (stale flags in use) and unknown, of projects that the user may change, and failing."""
    return one(conn, COUNT, {"projects": list(projects), "viewer": viewer}) or {}
