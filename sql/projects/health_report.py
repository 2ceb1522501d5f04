"""The health report of a project, and the deprecated overview: HealthReport, LegacyOverview of neighbours.md, 1.3."""

from typing import LiteralString

from sql.database import Connection, value
from sql.flags.records import ITEM
from sql.projects.core import ACTIVE
from sql.projects.overview import OVERVIEW

ITEMS: LiteralString = f"""
    items AS (
        SELECT coalesce(json_agg({ITEM} ORDER BY flags.name), '[]') AS list
          FROM flags
         WHERE project_id = (SELECT id FROM requested)
           AND archived_at IS NULL
    )
"""

REPORT: LiteralString = f"""{OVERVIEW},
    staleness AS (
        SELECT count(*) FILTER (WHERE stale_since IS NULL) AS fresh,
               count(*) FILTER (WHERE stale_since IS NOT NULL) AS stale,
               count(*) FILTER (WHERE stale_since IS NULL AND NOT ({ACTIVE})) AS potentially_stale
          FROM flags
          JOIN flag_types ON flag_types.id = flags.type
         WHERE project_id = (SELECT id FROM requested)
           AND archived_at IS NULL
    ),
    {ITEMS}
    SELECT json_merge(head, tail, json_build_object(
               'features', items.list,
               'activeCount', staleness.fresh,
               'staleCount', staleness.stale,
               'potentiallyStaleCount', staleness.potentially_stale))::text
      FROM overview, staleness, items
"""


def get(conn: Connection, project_id: str, user_id: int | None) -> str | None:
    """Return the health report as JSON text, with the favorites of this user (None: an API token), or None."""
    return value(conn, REPORT, {"id": project_id, "user_id": user_id})


LEGACY: LiteralString = f"""{OVERVIEW},
    {ITEMS}
    SELECT json_merge(head, tail, json_build_object('features', items.list))::text FROM overview, items
"""


def legacy_overview(conn: Connection, project_id: str, user_id: int | None) -> str | None:
    """Return the deprecated overview as JSON text, with the favorites of this user (None: an API token), or None."""
    return value(conn, LEGACY, {"id": project_id, "user_id": user_id})
