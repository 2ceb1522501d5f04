"""The health report of a project: HealthReport of neighbours.md, 1.3."""

from typing import LiteralString

from sql import Connection, value
from sql.flag_records import ITEM
from sql.project_overview import OVERVIEW

REPORT: LiteralString = (
    OVERVIEW
    + """,
    counts AS (
        SELECT count(*) FILTER (WHERE NOT is_stale) AS active,
               count(*) FILTER (WHERE is_stale) AS stale,
               count(*) FILTER (WHERE NOT is_stale AND NOT is_active) AS potentially_stale
          FROM live_flags
    ),
    items AS (
        SELECT coalesce(json_agg("""
    + ITEM
    + """ ORDER BY flags.name), '[]') AS list
          FROM flags
         WHERE project_id = %(id)s
           AND archived_at IS NULL
    )
    SELECT (record - 'onboardingStatus' - 'featureTypeCounts'
            || jsonb_build_object(
                'features', items.list,
                'activeCount', counts.active,
                'staleCount', counts.stale,
                'potentiallyStaleCount', counts.potentially_stale))::text
      FROM overview, counts, items
"""
)


def get(conn: Connection, project_id: str, user_id: int | None) -> str | None:
    """The health report as JSON text, favorite as this user (None: a key) has it. None: no such project."""
    return value(conn, REPORT, {"id": project_id, "user_id": user_id})
