"""A flag in an environment of its project: whether it is on there, and who holds it while it is changed."""

from collections.abc import Sequence
from typing import Any, LiteralString

from psycopg.rows import DictRow

from sql.database import Connection, rows, run, value
from sql.flags import records as flag_records

# By name, so that two requests never wait for each other. The link is held too: meanwhile the environment does not leave the project.
LOCK = """
    SELECT flags.id
      FROM flags
      JOIN project_environments USING (project_id)
     WHERE flags.name = ANY(%(flags)s::text[])
       AND project_id = %(project)s
       AND archived_at IS NULL
       AND project_environments.environment = %(environment)s
     ORDER BY flags.name
       FOR NO KEY UPDATE OF flags
       FOR KEY SHARE OF project_environments
"""

# A statement of its own, begun when the locks are held. The flag gets its row of an environment that was linked after it was made.
READ: LiteralString = f"""
    WITH made AS (
        INSERT INTO flag_environments (flag_id, environment)
        SELECT unnest(%(ids)s::bigint[]), %(environment)s
        ON CONFLICT DO NOTHING
    )
    SELECT flags.id AS flag_id,
           flags.name AS flag,
           flags.project_id AS project,
           project_environments.environment,
           coalesce(flag_environments.enabled, false) AS enabled,
           projects.default_stickiness,
           project_environments.default_strategy,
           json_build_object(
               'project', flags.project_id,
               'environment', project_environments.environment,
               'feature', flags.name,
               'tags', {flag_records.TAGS}) AS about
      FROM flags
      JOIN projects ON projects.id = flags.project_id
      JOIN project_environments ON project_environments.project_id = flags.project_id AND project_environments.environment = %(environment)s
      LEFT JOIN flag_environments ON flag_environments.flag_id = flags.id AND flag_environments.environment = %(environment)s
     WHERE flags.id = ANY(%(ids)s::bigint[])
"""


def lock(conn: Connection, project: str, flag: str, environment: str) -> DictRow | None:
    """flag_id, flag, project, environment, enabled, default_stickiness, default_strategy, about (for events) of a live flag, locked.

    None: not of this project, archived, or the environment is not linked to the project.
    """
    return next(iter(lock_many(conn, project, [flag], environment)), None)


def lock_many(conn: Connection, project: str, flags: Sequence[str], environment: str) -> list[DictRow]:
    """The same of several flags, in the order of their names here; those for which it would be None are left out."""
    params: dict[str, Any] = {"project": project, "flags": list(flags), "environment": environment}
    params["ids"] = [row["id"] for row in rows(conn, LOCK, params)]
    found = {row["flag"]: row for row in rows(conn, READ, params)}
    return [found[flag] for flag in dict.fromkeys(flags) if flag in found]


IS_LINKED = """
    SELECT EXISTS (SELECT FROM project_environments WHERE project_id = %(project)s AND environment = %(environment)s)
"""


def is_linked(conn: Connection, project: str, environment: str) -> bool:
    """Whether flags of the project can be switched in the environment."""
    return value(conn, IS_LINKED, {"project": project, "environment": environment})


# Our choice: the name in this record is that of the flag.
GET: LiteralString = f"""
    SELECT (SELECT json_build_object('name', flags.name, {flag_records.ENVIRONMENT_FIELDS}, {flag_records.DETAIL_FIELDS})
            {flag_records.PLACES} AND environments.name = %(environment)s)::text
      FROM flags
     WHERE flags.name = %(flag)s
       AND project_id = %(project)s
       AND archived_at IS NULL
"""


def get(conn: Connection, project: str, flag: str, environment: str) -> str | None:
    """The FlagEnvironment record as JSON text. None: as for lock()."""
    return value(conn, GET, {"project": project, "flag": flag, "environment": environment})


# Insights need the first time in production; later ones do not count.
ENABLE = """
    WITH first_time AS (
        UPDATE flags
           SET first_in_production_at = now()
          FROM environments
         WHERE flags.id = %(flag_id)s
           AND first_in_production_at IS NULL
           AND environments.name = %(environment)s
           AND environments.type = 'production'
    )
    UPDATE flag_environments
       SET enabled = true
     WHERE flag_id = %(flag_id)s
       AND environment = %(environment)s
"""

DISABLE = """
    UPDATE flag_environments
       SET enabled = false
     WHERE flag_id = %(flag_id)s
       AND environment = %(environment)s
"""


def enable(conn: Connection, flag_id: int, environment: str) -> None:
    """Switch a flag on that has a row in the environment."""
    run(conn, ENABLE, {"flag_id": flag_id, "environment": environment})


def disable(conn: Connection, flag_id: int, environment: str) -> None:
    """Switch a flag off."""
    run(conn, DISABLE, {"flag_id": flag_id, "environment": environment})
