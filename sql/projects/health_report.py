"""GET /api/admin/projects/{project}/health-report, and the deprecated overview GET /api/admin/projects/{project}."""

from typing import LiteralString

from sql.database import Connection, RecordText, record, value
from sql.flags.records import IS_SMALL, ITEM
from sql.limits import PAGE_BYTES
from sql.projects.health import POTENTIALLY_STALE
from sql.projects.overview import OVERVIEW

# The live flags of the project, or no row if their texts exceed PAGE_BYTES.
ITEMS: LiteralString = f"""
    listed AS (
        SELECT *
          FROM flags
         WHERE project_id = (SELECT id FROM requested)
           AND archived_at IS NULL
    ),
    {IS_SMALL},
    items AS (
        SELECT coalesce(json_agg({ITEM} ORDER BY flags.name), '[]') AS list
          FROM listed AS flags
        HAVING (SELECT is_small FROM size)
    )
"""

REPORT: LiteralString = f"""{OVERVIEW},
    staleness AS (
        SELECT count(*) FILTER (WHERE stale_since IS NULL) AS fresh,
               count(*) FILTER (WHERE stale_since IS NOT NULL) AS stale,
               count(*) FILTER (WHERE {POTENTIALLY_STALE}) AS potentially_stale
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
    """Return the report with favorites of the user as JSON text, or None if the texts exceed PAGE_BYTES."""
    return value(conn, REPORT, {"id": project_id, "user_id": user_id, "max_bytes": PAGE_BYTES})


LEGACY: LiteralString = f"""{OVERVIEW},
    {ITEMS}
    SELECT json_merge(head, tail, json_build_object('features', items.list))::text AS text, version FROM overview, items
"""


def legacy_overview(conn: Connection, project_id: str, user_id: int | None) -> RecordText | None:
    """Return the deprecated overview as JSON text, as get() does."""
    return record(conn, LEGACY, {"id": project_id, "user_id": user_id, "max_bytes": PAGE_BYTES})
