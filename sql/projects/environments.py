"""Environments of a project: which it has, and the strategy that its flags get there."""

from collections.abc import Mapping
from typing import Any, LiteralString

from psycopg.rows import DictRow

from sql.database import Connection, as_json, one, run, value
from sql.vocabulary import environments

# What the service says when a unique index refuses a link.
TAKEN = {"project_environments_pkey": "environment: the project already has this environment"}

# Our choice: keys of all projects work for this one too, so they count.
LIST: LiteralString = f"""
    WITH key_counts AS (
        SELECT environment, count(*) AS number
          FROM api_keys
         WHERE EXISTS (SELECT FROM api_key_projects WHERE api_key_id = api_keys.id AND project_id = %(project)s)
            OR NOT EXISTS (SELECT FROM api_key_projects WHERE api_key_id = api_keys.id)
         GROUP BY environment
    ),
    flag_counts AS (
        SELECT environment, count(*) AS number
          FROM flags
          JOIN flag_environments ON flag_id = flags.id
         WHERE project_id = %(project)s
           AND archived_at IS NULL
           AND enabled
         GROUP BY environment
    ),
    entries AS (
        SELECT sort_order,
               name,
               json_merge(
                   json_build_object({environments.FIELDS},
                       'projectApiTokenCount', coalesce(key_counts.number, 0),
                       'projectEnabledToggleCount', coalesce(flag_counts.number, 0)),
                   CASE WHEN default_strategy IS NOT NULL
                        THEN json_build_object('defaultStrategy', default_strategy)
                   END,
                   json_build_object('visible', true)) AS entry
          FROM project_environments
          JOIN environments ON environments.name = project_environments.environment
          LEFT JOIN key_counts ON key_counts.environment = environments.name
          LEFT JOIN flag_counts ON flag_counts.environment = environments.name
         WHERE project_id = %(project)s
    )
    SELECT json_build_object(
        'version', 1,
        'environments', coalesce(json_agg(entry ORDER BY sort_order, name), '[]'))::text
      FROM entries
"""


def read(conn: Connection, project: str) -> str:
    """{"version": 1, "environments": [...]} as JSON text: those that the project has, in their order, with its counts there."""
    return value(conn, LIST, {"project": project})


# Who makes a flag, or moves one, holds its project; who changes one holds that. Each has finished, or waits and then finds other
# environments.
LOCK_PROJECT = """
    SELECT id, archived_at IS NOT NULL AS is_archived
      FROM projects
     WHERE id = %(project)s
       FOR NO KEY UPDATE
"""

# The project before its flags, and those by name, as everywhere.
LOCK_FLAGS = """
    SELECT
      FROM flags
     WHERE project_id = %(project)s
       AND deleted_at IS NULL
     ORDER BY name
       FOR NO KEY UPDATE
"""


def lock(conn: Connection, project: str) -> DictRow | None:
    """id and is_archived of a project whose environments are to be changed: nobody else changes them or its flags; None: it is gone."""
    found = one(conn, LOCK_PROJECT, {"project": project})
    run(conn, LOCK_FLAGS, {"project": project})
    return found


# Our choice: archived flags too, so that they are as the others are when they are revived.
ADD = """
    WITH linked AS (
        INSERT INTO project_environments (project_id, environment)
        VALUES (%(project)s, %(environment)s)
    )
    INSERT INTO flag_environments (flag_id, environment)
    SELECT id, %(environment)s
      FROM flags
     WHERE project_id = %(project)s
       AND deleted_at IS NULL
    ON CONFLICT (flag_id, environment) DO UPDATE SET enabled = false
"""


def add(conn: Connection, project: str, environment: str) -> None:
    """Link an environment to a project: all its flags have it, switched off. UniqueViolation of project_environments_pkey: they have."""
    run(conn, ADD, {"project": project, "environment": environment})


LOCK_LINK = """
    SELECT default_strategy
      FROM project_environments
     WHERE project_id = %(project)s
       AND environment = %(environment)s
       FOR UPDATE
"""


def lock_link(conn: Connection, project: str, environment: str) -> DictRow | None:
    """default_strategy (None: none) of an environment that the project has; None: it has not."""
    return one(conn, LOCK_LINK, {"project": project, "environment": environment})


REMOVE = """
    WITH gone AS (
        DELETE FROM project_environments
         WHERE project_id = %(project)s
           AND environment = %(environment)s
        RETURNING environment
    )
    DELETE FROM flag_environments
     USING flags, gone
     WHERE flags.project_id = %(project)s
       AND flag_environments.flag_id = flags.id
       AND flag_environments.environment = gone.environment
"""


def remove(conn: Connection, project: str, environment: str) -> None:
    """Unlink an environment that is held by lock_link(), with the states and strategies that the project's flags have there.

    A statement of its own, begun when the link is held: it sees what those wrote who had it before.
    """
    run(conn, REMOVE, {"project": project, "environment": environment})


SET_DEFAULT_STRATEGY: LiteralString = """
    UPDATE project_environments
       SET default_strategy = %(strategy)s::json
     WHERE project_id = %(project)s
       AND environment = %(environment)s
"""


def set_default_strategy(conn: Connection, project: str, environment: str, strategy: Mapping[str, Any]) -> None:
    """Set the default strategy of a project in an environment."""
    run(conn, SET_DEFAULT_STRATEGY, {"project": project, "environment": environment, "strategy": as_json(dict(strategy))})
