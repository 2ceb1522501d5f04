"""The account of the caller and their permissions."""

from typing import LiteralString

from sql.database import Connection, value
from sql.people import roles, user_records

# A permission without a project applies to all projects, and one without an environment to all environments.
GET: LiteralString = f"""
    WITH rights AS (
        SELECT DISTINCT
               role_permissions.permission,
               coalesce(user_roles.project_id, role_permissions.project_id) AS project,
               role_permissions.environment
          FROM user_roles
          JOIN role_permissions ON role_permissions.role_id = user_roles.role_id
         WHERE user_roles.user_id = %(user_id)s
           AND (user_roles.project_id IS NULL
                OR role_permissions.project_id IS NULL
                OR role_permissions.project_id = user_roles.project_id)
    )
    SELECT json_build_object(
               'user', {user_records.WITHOUT_ROLE},
               'permissions', (
                   SELECT coalesce(json_agg(json_merge(
                              json_build_object('permission', permission),
                              CASE WHEN project IS NOT NULL THEN json_build_object('project', project) END,
                              CASE WHEN environment IS NOT NULL THEN json_build_object('environment', environment) END)
                              ORDER BY permission, project, environment), '[]')
                     FROM rights
                    WHERE permission = 'ADMIN'
                       OR NOT EXISTS (SELECT FROM rights WHERE permission = 'ADMIN')),
               'feedback', json_build_array(),
               'splash', json_build_object())::text
      FROM users
     WHERE id = %(user_id)s
"""


def get(conn: Connection, user_id: int | None) -> str | None:
    """Return the Me record of a user as JSON text. API tokens have Actor.account."""
    return value(conn, GET, {"user_id": user_id})


PROFILE: LiteralString = f"""
    SELECT json_build_object(
               'rootRole', {roles.RECORD},
               'projects', (
                   SELECT coalesce(json_agg(projects.id ORDER BY projects.id), '[]')
                     FROM projects
                    WHERE EXISTS (
                           SELECT FROM user_roles LEFT JOIN role_permissions USING (role_id)
                            WHERE user_id = users.id
                              AND (user_roles.project_id = projects.id
                                   OR permission = 'ADMIN' AND projects.archived_at IS NULL))),
               'features', json_build_array(),
               'subscriptions', json_build_array())::text
      FROM users
      JOIN roles ON roles.id = users.root_role_id
     WHERE users.id = %(user_id)s
"""


def get_profile(conn: Connection, user_id: int) -> str | None:
    """Return a user's root role and the ids of their projects as JSON text. Administrators have all."""
    return value(conn, PROFILE, {"user_id": user_id})


# Our choice: users have no roles in unknown and hidden projects, so the list contains only their root roles.
ROLES: LiteralString = f"""
    SELECT json_build_object('version', 1, 'roles', coalesce(json_agg(
               json_build_object({roles.PROPERTIES}, 'project', project_id) ORDER BY roles.id), '[]'))::text
      FROM roles
      JOIN (SELECT DISTINCT role_id, project_id
              FROM user_roles
             WHERE user_id = %(user_id)s
               AND (project_id IS NULL OR project_id = %(project)s)) AS held ON role_id = roles.id
"""


def list_roles(conn: Connection, user_id: int, project_id: str) -> str:
    """Return {"version": 1, "roles": [...]}: the root and project roles of a user and their groups, by id."""
    return value(conn, ROLES, {"user_id": user_id, "project": project_id})
