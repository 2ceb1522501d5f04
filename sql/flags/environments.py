"""Flags in an environment: lock them, read them, and switch them on and off."""

from collections.abc import Sequence
from typing import LiteralString

from psycopg.rows import DictRow

from sql.database import Connection, rows, run, value
from sql.flags import records as flag_records

# Sorted by name, so that two requests cannot deadlock. The lock on the link keeps the environment in the project.
LOCK = """
    SELECT flags.id
      FROM flags
      JOIN project_environments USING (project_id)
     WHERE flags.name = ANY(%(names)s::text[])
       AND project_id = %(project)s
       AND archived_at IS NULL
       AND project_environments.environment = %(environment)s
     ORDER BY flags.name
       FOR NO KEY UPDATE OF flags
       FOR KEY SHARE OF project_environments
"""

# A separate statement, which begins after the wait for the locks. If an environment was linked after the flag was
# created, this inserts the flag's missing row.
GET_OR_INSERT: LiteralString = f"""
    WITH added AS (
        INSERT INTO flag_environments (flag_id, environment)
        SELECT unnest(%(ids)s::bigint[]), %(environment)s
        ON CONFLICT DO NOTHING
    )
    SELECT flags.id,
           flags.name,
           flags.project_id,
           project_environments.environment,
           coalesce(flag_environments.enabled, false) AS enabled,
           projects.default_stickiness,
           project_environments.default_strategy,
           {flag_records.TAGS} AS tags,
           clock_timestamp() AS locked_at
      FROM flags
      JOIN projects ON projects.id = flags.project_id
      JOIN project_environments ON project_environments.project_id = flags.project_id
                               AND project_environments.environment = %(environment)s
      LEFT JOIN flag_environments ON flag_environments.flag_id = flags.id
                                 AND flag_environments.environment = %(environment)s
     WHERE flags.id = ANY(%(ids)s::bigint[])
"""


def lock(conn: Connection, project: str, names: Sequence[str], environment: str) -> list[DictRow]:
    """Lock live flags, and return each once, in the order of the names.

    Each row has id, name, project_id, environment, enabled, default_stickiness, default_strategy, tags and locked_at,
    the time. Flags of other projects and archived flags are omitted, and all flags if the environment is not linked.
    """
    locked = rows(conn, LOCK, {"project": project, "names": list(names), "environment": environment})
    by_name = {row["name"]: row for row in get_or_insert(conn, [row["id"] for row in locked], environment)}
    return [by_name[name] for name in dict.fromkeys(names) if name in by_name]


def get_or_insert(conn: Connection, ids: Sequence[int], environment: str) -> list[DictRow]:
    """Return locked flags as lock() does, in any order. Insert the missing states of the flags in the environment."""
    return rows(conn, GET_OR_INSERT, {"ids": list(ids), "environment": environment})


IS_LINKED = """
    SELECT EXISTS (SELECT FROM project_environments WHERE project_id = %(project)s AND environment = %(environment)s)
"""


def is_linked(conn: Connection, project: str, environment: str) -> bool:
    """Return whether the environment is linked to the project."""
    return value(conn, IS_LINKED, {"project": project, "environment": environment})


LIST_LINKED = """
    SELECT environment
      FROM project_environments
      JOIN environments ON environments.name = environment
     WHERE project_id = %(project)s
     ORDER BY sort_order, environment
"""


def list_linked(conn: Connection, project: str) -> list[str]:
    """Return the names of the environments of a project, in their order."""
    return [row["environment"] for row in rows(conn, LIST_LINKED, {"project": project})]


# Our choice: the name in this record is the name of the flag.
GET: LiteralString = f"""
    SELECT (SELECT json_build_object('name', flags.name,
                                     {flag_records.ENVIRONMENT_FIELDS}, {flag_records.DETAIL_FIELDS})
            {flag_records.LINKED_ENVIRONMENTS} AND environments.name = %(environment)s)::text
      FROM flags
     WHERE flags.name = %(flag)s
       AND project_id = %(project)s
       AND archived_at IS NULL
"""


def get(conn: Connection, project: str, flag: str, environment: str) -> str | None:
    """Return the FlagEnvironment record as JSON text, or None where lock() omits the flag."""
    return value(conn, GET, {"project": project, "flag": flag, "environment": environment})


# Insights need the time at which a flag was first on in production. Later times do not change it.
SWITCH = """
    WITH first_time AS (
        UPDATE flags
           SET first_in_production_at = CASE WHEN %(since_creation)s THEN flags.created_at ELSE now() END
          FROM environments
         WHERE %(enabled)s
           AND flags.id = ANY(%(ids)s::bigint[])
           AND first_in_production_at IS NULL
           AND environments.name = %(environment)s
           AND environments.type = 'production'
    )
    UPDATE flag_environments
       SET enabled = %(enabled)s
     WHERE flag_id = ANY(%(ids)s::bigint[])
       AND environment = %(environment)s
"""


def switch(
    conn: Connection, ids: Sequence[int], environment: str, *, enabled: bool, since_creation: bool = False
) -> None:
    """Switch flags from lock() on or off. since_creation: count them as on in production since their creation."""
    params = {"ids": list(ids), "environment": environment, "enabled": enabled, "since_creation": since_creation}
    run(conn, SWITCH, params)


LIST_ROWS = """
    SELECT flags.name,
           project_id AS project,
           type,
           ARRAY(SELECT environment
                   FROM flag_environments
                  WHERE flag_id = flags.id
                    AND enabled
                  ORDER BY environment COLLATE "C") AS "enabledIn",
           iso(created_at) AS "createdAt"
      FROM flags
     WHERE archived_at IS NULL
       AND (%(project)s::text IS NULL OR project_id = %(project)s)
     ORDER BY flags.name COLLATE "C"
"""


def list_rows(conn: Connection, project: str | None) -> list[DictRow]:
    """Return the live flags of a project, or of all projects, by name, for the command line."""
    return rows(conn, LIST_ROWS, {"project": project})
