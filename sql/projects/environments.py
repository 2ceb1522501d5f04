"""Environments of a project, and their default strategies."""

from collections.abc import Mapping
from typing import Any, LiteralString

from psycopg.rows import DictRow

from sql.catalog import environments
from sql.database import Connection, as_json, one, run, value
from sql.tokens.api_tokens import OF_PROJECT

# The message of a unique violation.
TAKEN = {"project_environments_pkey": "environment: the project already has this environment"}

# Our choice: API tokens for all projects count too.
LIST: LiteralString = f"""
    WITH key_counts AS (
        SELECT environment, count(*) AS number
          FROM api_keys
         WHERE {OF_PROJECT}
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


def list_all(conn: Connection, project: str) -> str:
    """Return {"version": 1, "environments": [...]} as JSON text: the environments of a project, in their order."""
    return value(conn, LIST, {"project": project})


# Requests that add or move a flag lock its project FOR SHARE, and requests that change a flag lock the flag. Each of
# them has finished before, or waits and then finds the new list of environments.
LOCK_PROJECT = """
    SELECT id, archived_at IS NOT NULL AS is_archived
      FROM projects
     WHERE id = %(project)s
       FOR NO KEY UPDATE
"""

# The project before its flags, and flags by name: the same order as everywhere, so requests cannot deadlock.
LOCK_FLAGS = """
    SELECT
      FROM flags
     WHERE project_id = %(project)s
       AND deleted_at IS NULL
     ORDER BY name
       FOR NO KEY UPDATE
"""


def lock(conn: Connection, project: str) -> DictRow | None:
    """Lock a project and its flags. Return its id and is_archived, or None if it does not exist."""
    row = one(conn, LOCK_PROJECT, {"project": project})
    run(conn, LOCK_FLAGS, {"project": project})
    return row


# Our choice: archived flags get the environment too, so they have it when they are revived.
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
    """Link an environment to a project and its flags, disabled. Raise UniqueViolation if it has it."""
    run(conn, ADD, {"project": project, "environment": environment})


LOCK_LINK = """
    SELECT default_strategy, required_approvals
      FROM project_environments
     WHERE project_id = %(project)s
       AND environment = %(environment)s
       FOR UPDATE
"""


def lock_link(conn: Connection, project: str, environment: str) -> DictRow | None:
    """Lock the link of an environment to a project. Return its default_strategy and required_approvals, or None."""
    return one(conn, LOCK_LINK, {"project": project, "environment": environment})


REMOVE = """
    WITH removed AS (
        DELETE FROM project_environments
         WHERE project_id = %(project)s
           AND environment = %(environment)s
        RETURNING environment
    )
    DELETE FROM flag_environments
     USING flags, removed
     WHERE flags.project_id = %(project)s
       AND flag_environments.flag_id = flags.id
       AND flag_environments.environment = removed.environment
"""


def remove(conn: Connection, project: str, environment: str) -> None:
    """Unlink an environment, and delete the states and strategies of the project's flags there.

    Call lock_link() first, so that this statement sees what other transactions committed before the link was locked.
    """
    run(conn, REMOVE, {"project": project, "environment": environment})


SET_DEFAULT_STRATEGY = """
    UPDATE project_environments
       SET default_strategy = %(strategy)s::json
     WHERE project_id = %(project)s
       AND environment = %(environment)s
"""


def set_default_strategy(conn: Connection, project: str, environment: str, strategy: Mapping[str, Any] | None) -> None:
    """Set the default strategy of an environment, or remove it."""
    text = None if strategy is None else as_json(dict(strategy))
    run(conn, SET_DEFAULT_STRATEGY, {"project": project, "environment": environment, "strategy": text})
