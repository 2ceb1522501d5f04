"""What a user may do: every permission, and whether the user has it."""

from typing import LiteralString

from sql.database import Connection, value
from sql.people import permissions, roles, user_records

# The same permissions as in sql/access.py, for one user.
GET: LiteralString = f"""
    WITH held AS (
        SELECT permission
          FROM user_roles
          JOIN role_permissions ON role_permissions.role_id = user_roles.role_id
         WHERE user_id = %(user_id)s
           AND (user_roles.project_id IS NULL OR user_roles.project_id = %(project)s::text)
           AND (role_permissions.project_id IS NULL OR role_permissions.project_id = %(project)s::text)
           AND (role_permissions.environment IS NULL OR role_permissions.environment = %(environment)s::text)
    ),
    listed AS (
        SELECT permissions.type,
               json_agg(json_merge(
                   {permissions.RECORD},
                   CASE WHEN environments.name IS NOT NULL THEN json_build_object('environment', environments.name) END,
                   json_build_object('hasPermission', EXISTS (
                       SELECT FROM held WHERE permission IN ('ADMIN', permissions.name)))) ORDER BY id) AS list
          FROM permissions
          LEFT JOIN environments ON environments.name = %(environment)s::text AND permissions.type = 'environment'
         WHERE permissions.name <> ALL(%(hidden)s::text[])
           AND (permissions.type <> 'environment' OR environments.name IS NOT NULL)
         GROUP BY permissions.type
    )
    SELECT json_build_object(
               'overview', json_build_object(
                   'root', (SELECT list FROM listed WHERE type = 'root'),
                   'project', (SELECT list FROM listed WHERE type = 'project'),
                   -- The web UI of Unleash 8 crashes without this list.
                   'groups', '[]'::json,
                   'environment', coalesce((SELECT list FROM listed WHERE type = 'environment'), '[]')),
               'user', {user_records.RECORD},
               'rootRole', (SELECT {roles.RECORD} FROM roles WHERE id = users.root_role_id),
               'projectRoles', (
                   SELECT coalesce(json_agg({roles.WITH_PERMISSIONS} ORDER BY roles.id), '[]')
                     FROM roles
                    WHERE id IN (SELECT role_id
                                   FROM user_roles
                                  WHERE user_id = %(user_id)s
                                    AND project_id = %(project)s::text)))::text
      FROM users
     WHERE id = %(user_id)s
       AND deleted_at IS NULL
"""


def get(conn: Connection, user_id: int, project: str | None, environment: str | None) -> str | None:
    """Return the permissions of a user as JSON text, or None. Without project and environment, the general ones."""
    params = {"user_id": user_id, "project": project, "environment": environment}
    return value(conn, GET, params | {"hidden": list(permissions.WITHOUT_EFFECT)})
