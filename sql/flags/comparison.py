"""Flags as a move compares them with those of another instance."""

from collections.abc import Sequence
from typing import LiteralString

from psycopg.rows import DictRow

from sql.database import Connection, rows
from sql.flags import records as flag_records
from sql.flags import strategies

LIST_PROJECTS = "SELECT name, project_id FROM flags WHERE name = ANY(%(names)s::text[]) AND deleted_at IS NULL"


def list_projects(conn: Connection, names: Sequence[str]) -> dict[str, str]:
    """Return the projects of those of these flags that exist, live or archived, by name."""
    return {row["name"]: row["project_id"] for row in rows(conn, LIST_PROJECTS, {"names": list(names)})}


LIST: LiteralString = f"""
    SELECT name,
           type,
           description,
           stale_since IS NOT NULL AS stale,
           impression_data AS "impressionData",
           archived_at IS NOT NULL AS "isArchived",
           {flag_records.TAGS} AS tags,
           (SELECT coalesce(json_agg(json_build_object('feature', parents.name,
                                                       'enabled', enabled,
                                                       'variants', variants)), '[]')
              FROM flag_dependencies
              JOIN flags AS parents ON parents.id = parent_id
             WHERE child_id = flags.id) AS dependencies,
           (SELECT coalesce(json_object_agg(
                       environments.name,
                       json_build_object(
                           'enabled', coalesce(flag_environments.enabled, false),
                           'variants', (
                               SELECT coalesce(json_agg({flag_records.VARIANT} ORDER BY position, variants.name), '[]')
                                 FROM variants
                                WHERE flag_id = flags.id
                                  AND environment = environments.name
                                  AND strategy_id IS NULL),
                           'strategies', (
                               SELECT coalesce(json_agg({strategies.RECORD} ORDER BY sort_order, strategies.created_at,
                                                                                     strategies.id), '[]')
                                 FROM strategies
                                WHERE flag_id = flags.id
                                  AND environment = environments.name))), '{{}}')
              {flag_records.LINKED_ENVIRONMENTS}) AS environments
      FROM flags
     WHERE name = ANY(%(names)s::text[])
       AND deleted_at IS NULL
"""


def list_contents(conn: Connection, names: Sequence[str]) -> dict[str, DictRow]:
    """Return flags, live or archived, with everything that belongs to them, by name."""
    return {row["name"]: row for row in rows(conn, LIST, {"names": list(names)})}
