"""What users may do with the change requests of a project, in its environments."""

from collections.abc import Mapping, Sequence
from typing import LiteralString

from psycopg.rows import DictRow

from sql.database import Connection, rows

# Our choice: the token of a service account belongs to people, so a service account reviews nothing.
# environment: null for all environments of the project.
RIGHTS: LiteralString = """
    SELECT users.id AS user_id,
           place AS environment,
           coalesce(bool_or(permission = 'ADMIN'), false) AS is_admin,
           mode = 'open' OR bool_or(user_roles.project_id IS NOT NULL OR permission IS NOT DISTINCT FROM 'ADMIN')
               AS may_submit,
           account_type = 'User' AND coalesce(bool_or(permission IN ('ADMIN', 'APPROVE_CHANGE_REQUEST')), false)
               AS may_review,
           coalesce(bool_or(permission IN ('ADMIN', 'APPLY_CHANGE_REQUEST')), false) AS may_apply
      FROM users
      JOIN user_roles ON user_id = users.id AND coalesce(user_roles.project_id, %(project)s) = %(project)s
      JOIN projects ON projects.id = %(project)s
      JOIN (SELECT environment FROM project_environments WHERE project_id = %(project)s
             UNION SELECT %(environment)s) AS places (place) ON place = coalesce(%(environment)s, place)
      LEFT JOIN role_permissions ON role_permissions.role_id = user_roles.role_id
                                AND coalesce(role_permissions.project_id, %(project)s) = %(project)s
                                AND coalesce(role_permissions.environment, place) = place
     WHERE user_id = ANY(%(users)s)
       AND deleted_at IS NULL
     GROUP BY users.id, mode, place
"""
NO_RIGHTS: Mapping[str, bool] = dict.fromkeys(("is_admin", "may_submit", "may_review", "may_apply"), False)


def get_rights(conn: Connection, user_id: int, project: str, environment: str) -> Mapping[str, bool]:
    """Return what a user may do with change requests in an environment: nothing if the user is deleted."""
    found = list_rights(conn, [user_id], project, environment)
    return found[0] if found else NO_RIGHTS


def list_rights(conn: Connection, users: Sequence[int], project: str, environment: str) -> list[DictRow]:
    """Return what each of the users may do with change requests in an environment. Omits deleted users."""
    return rows(conn, RIGHTS, {"users": list(users), "project": project, "environment": environment})
