"""The flags of an environment with all that an evaluation needs, and with the ids of their strategies."""

from collections.abc import Sequence
from typing import Any, LiteralString

from sql.client.features import LIVE_FLAGS
from sql.database import Connection, rows, value
from sql.flags import strategies
from sql.flags.records import VARIANT
from sql.projects.visibility import VISIBLE

# The parents of a flag belong to its project.
FLAGS: LiteralString = f"""
    WITH chosen AS (
        SELECT flags.*, coalesce(flag_environments.enabled, false) AS enabled
          {LIVE_FLAGS}
           AND {VISIBLE}
           AND (%(name)s::text IS NULL
                OR flags.name = %(name)s
                OR flags.id IN (SELECT parent_id
                                  FROM flag_dependencies
                                  JOIN flags AS children ON children.id = child_id
                                 WHERE children.name = %(name)s))
    )
    SELECT json_build_object(
               'name', flags.name,
               'type', flags.type,
               'project', flags.project_id,
               'enabled', flags.enabled,
               'stale', flags.stale_since IS NOT NULL,
               'impressionData', flags.impression_data,
               'strategies', (
                   SELECT coalesce(json_agg({strategies.RECORD}
                                            ORDER BY sort_order, strategies.created_at, strategies.id), '[]')
                     FROM strategies
                    WHERE strategies.flag_id = flags.id
                      AND strategies.environment = %(environment)s),
               'variants', (
                   SELECT coalesce(json_agg({VARIANT} ORDER BY position, variants.name), '[]')
                     FROM variants
                    WHERE variants.flag_id = flags.id
                      AND variants.environment = %(environment)s
                      AND strategy_id IS NULL),
               'dependencies', (
                   SELECT coalesce(json_agg(json_build_object('feature', parents.name,
                                                              'enabled', flag_dependencies.enabled,
                                                              'variants', flag_dependencies.variants)
                                            ORDER BY parents.name), '[]')
                     FROM flag_dependencies
                     JOIN flags AS parents ON parents.id = parent_id
                    WHERE child_id = flags.id)) AS flag
      FROM chosen AS flags
     ORDER BY flags.name COLLATE "C"
"""


def list_flags(
    conn: Connection, environment: str, projects: Sequence[str] | None, viewer: int | None, name: str | None = None
) -> list[dict[str, Any]]:
    """Return the live flags in an environment, of these projects (None: all) that the viewer sees, sorted by name.

    Each is a flag as applications get it. Its strategies are Strategy records, disabled ones included. name: only this
    flag and its parents.
    """
    params = {
        "environment": environment,
        "projects": None if projects is None else list(projects),
        "viewer": viewer,
        "name": name,
    }
    return [row["flag"] for row in rows(conn, FLAGS, params)]


SEGMENTS = """
    SELECT json_build_object('id', id, 'name', name, 'constraints', constraints) AS segment
      FROM segments
     WHERE id = ANY(%(ids)s::integer[])
"""


def list_segments(conn: Connection, ids: Sequence[int]) -> list[dict[str, Any]]:
    """Return id, name and constraints of segments."""
    return [row["segment"] for row in rows(conn, SEGMENTS, {"ids": list(ids)})]


UNKNOWN: LiteralString = f"""
    SELECT ARRAY(
               SELECT requested.id
                 FROM unnest(%(projects)s::text[]) WITH ORDINALITY AS requested (id, place)
                WHERE requested.id NOT IN (SELECT projects.id FROM projects WHERE {VISIBLE})
                ORDER BY place)
"""


def unknown_projects(conn: Connection, projects: Sequence[str], viewer: int | None) -> list[str]:
    """Return the ids that are no project, or a project that is hidden from the viewer."""
    return value(conn, UNKNOWN, {"projects": list(projects), "viewer": viewer})
