"""What an import of flags finds here: the project, the flags of the names that it is about, and what these refer to."""

from collections.abc import Collection
from typing import LiteralString

from psycopg.rows import DictRow

from sql import locks
from sql.database import Connection, one, rows, run
from sql.flags import records as flag_records
from sql.flags import strategies

# One import into a project after the other, so that a second one of the same flags finds them.
HOLD: LiteralString = f"SELECT pg_advisory_xact_lock({locks.IMPORT}, {locks.of_text('%(project)s::text')})"

# By name, as all who lock several flags do it. Archived ones too: they are not to come back meanwhile.
LOCK = """
    SELECT id
      FROM flags
     WHERE name = ANY(%(names)s::text[])
       AND project_id = %(project)s
       AND deleted_at IS NULL
     ORDER BY name
       FOR NO KEY UPDATE
"""


def hold(conn: Connection, project: str, names: Collection[str]) -> None:
    """Let the project's flags of these names stay as they are until the transaction ends, and no other import go on."""
    run(conn, HOLD, {"project": project})
    rows(conn, LOCK, {"project": project, "names": list(names)})


# The project stays live and the environment linked to it while flags are made there.
HOME = """
    SELECT projects.id AS project,
           environment,
           feature_limit,
           naming_pattern,
           default_stickiness,
           default_strategy
      FROM projects
      JOIN project_environments ON project_id = projects.id
     WHERE projects.id = %(project)s
       AND archived_at IS NULL
       AND environment = %(environment)s
       FOR SHARE
"""


def home(conn: Connection, project: str, environment: str) -> DictRow | None:
    """What decides about flags that are to come there. None: the project is unknown or archived, or the environment not linked to it."""
    return one(conn, HOME, {"project": project, "environment": environment})


# What a flag is in an environment, as events tell it.
FLAGS: LiteralString = f"""
    SELECT flags.name,
           flags.project_id = %(project)s AS is_here,
           flags.archived_at IS NOT NULL AS is_archived,
           {flag_records.CORE} AS record,
           {flag_records.TAGS} AS tags,
           EXISTS (
               SELECT FROM flag_environments
                WHERE flag_id = flags.id
                  AND environment = %(environment)s
                  AND enabled) AS enabled,
           (SELECT coalesce(json_agg({strategies.RECORD} ORDER BY sort_order, strategies.created_at, strategies.id), '[]')
              FROM strategies
             WHERE flag_id = flags.id
               AND environment = %(environment)s) AS strategies,
           (SELECT coalesce(json_agg({flag_records.VARIANT} ORDER BY variants.name), '[]')
              FROM variants
             WHERE flag_id = flags.id
               AND environment = %(environment)s
               AND strategy_id IS NULL) AS variants,
           (SELECT coalesce(json_agg(json_build_object('feature', parents.name, 'enabled', enabled, 'variants', variants)
                                     ORDER BY parents.name), '[]')
              FROM flag_dependencies
              JOIN flags AS parents ON parents.id = parent_id
             WHERE child_id = flags.id) AS parents,
           EXISTS (SELECT FROM flag_dependencies WHERE parent_id = flags.id) AS has_children
      FROM flags
     WHERE flags.name = ANY(%(names)s::text[])
       AND flags.deleted_at IS NULL
"""


def read(conn: Connection, project: str, environment: str, names: Collection[str]) -> dict[str, DictRow]:
    """The flags of these names, by name.

    Each has is_here (it is of this project), is_archived, record (FlagCore), tags, enabled, strategies, variants, parents (all
    {feature, enabled, variants}) and has_children.
    """
    found = rows(conn, FLAGS, {"project": project, "environment": environment, "names": list(names)})
    return {row["name"]: row for row in found}


# SHARE, as in sql/vocabulary/constraints.py: nor is a segment moved to another project.
SEGMENTS = """
    SELECT id, name
      FROM segments
     WHERE name = ANY(%(names)s::text[])
       AND (project_id IS NULL OR project_id = %(project)s)
     ORDER BY id
       FOR SHARE
"""


def segments(conn: Connection, names: Collection[str], project: str) -> dict[str, int]:
    """The ids of those of these segments that strategies of the project can use."""
    return {row["name"]: row["id"] for row in rows(conn, SEGMENTS, {"names": list(names), "project": project})}
