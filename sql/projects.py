"""Projects: who may see them, and their rows."""

from datetime import datetime
from typing import Any, LiteralString

from sql import Connection, as_json, run

# Our choice: a private project is hidden from all but its members and those who see all.
# Which projects a viewer may see, of rows of the table projects. A null viewer sees all; authenticate() has decided that.
VISIBLE: LiteralString = """
    (%(viewer)s::integer IS NULL
     OR projects.mode <> 'private'
     OR EXISTS (
            SELECT FROM project_user_roles
             WHERE project_user_roles.project_id = projects.id
               AND project_user_roles.user_id = %(viewer)s::integer)
     OR EXISTS (
            SELECT FROM project_group_roles
              JOIN group_users USING (group_id)
             WHERE project_group_roles.project_id = projects.id
               AND group_users.user_id = %(viewer)s::integer))
"""

# Of how many flags how many are active, as a whole number; a project without flags is healthy (decisions.md, 2).
HEALTH: LiteralString = "CASE WHEN total = 0 THEN 100 ELSE round(100.0 * active / total)::integer END"

# Our choice: also in the insights, where 0 means that there is none.
# A mean number of days with one decimal, never below 0.1 when there is one; 0: there is none.
MEAN_DAYS: LiteralString = "CASE WHEN days IS NULL THEN 0 ELSE trim_scale(greatest(0.1, round(days, 1))) END"

INSERT = """
    INSERT INTO projects (id, name, description, mode, default_stickiness, feature_limit,
                          naming_pattern, naming_example, naming_description, created_at, updated_at, archived_at)
    VALUES (%(id)s, %(name)s, %(description)s, %(mode)s, %(default_stickiness)s, %(feature_limit)s,
            %(naming_pattern)s, %(naming_example)s, %(naming_description)s,
            coalesce(%(created_at)s::timestamptz, now()), %(updated_at)s, %(archived_at)s)
"""


def insert(
    conn: Connection,
    project_id: str,
    name: str,
    *,
    description: str | None = None,
    mode: str = "open",
    default_stickiness: str = "default",
    feature_limit: int | None = None,
    naming_pattern: str | None = None,
    naming_example: str | None = None,
    naming_description: str | None = None,
    created_at: datetime | None = None,
    updated_at: datetime | None = None,
    archived_at: datetime | None = None,
) -> None:
    """Make a project, without environments. UniqueViolation of projects_pkey when the id is taken."""
    params: dict[str, Any] = {
        "id": project_id,
        "name": name,
        "description": description,
        "mode": mode,
        "default_stickiness": default_stickiness,
        "feature_limit": feature_limit,
        "naming_pattern": naming_pattern,
        "naming_example": naming_example,
        "naming_description": naming_description,
        "created_at": created_at,
        "updated_at": updated_at,
        "archived_at": archived_at,
    }
    run(conn, INSERT, params)


ADD_ENVIRONMENT = """
    INSERT INTO project_environments (project_id, environment, default_strategy, created_at)
    VALUES (%(project_id)s, %(environment)s, %(default_strategy)s::json, coalesce(%(created_at)s::timestamptz, now()))
"""


def add_environment(
    conn: Connection, project_id: str, environment: str, default_strategy: Any = None, created_at: datetime | None = None
) -> None:
    """Link an environment to a project, with the strategy that flags get there when they have none."""
    params: dict[str, Any] = {
        "project_id": project_id,
        "environment": environment,
        "default_strategy": None if default_strategy is None else as_json(default_strategy),
        "created_at": created_at,
    }
    run(conn, ADD_ENVIRONMENT, params)


ADD_FAVORITE = """
    INSERT INTO project_favorites (user_id, project_id, created_at)
    VALUES (%(user_id)s, %(project_id)s, coalesce(%(created_at)s::timestamptz, now()))
    ON CONFLICT DO NOTHING
"""


def add_favorite(conn: Connection, user_id: int, project_id: str, created_at: datetime | None = None) -> None:
    """Make a project one of a user's favourites."""
    run(conn, ADD_FAVORITE, {"user_id": user_id, "project_id": project_id, "created_at": created_at})
