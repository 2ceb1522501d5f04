"""Who has which roles in a project: the project access record of api.md, and the rows behind it."""

from typing import LiteralString

from sql.database import Connection, value
from sql.people import users

# asked: as in the project overview. roles is every role that the user or group has in the project; roleId and addedAt are those of the
# first assignment.
ACCESS: LiteralString = f"""
    WITH asked AS (
        SELECT %(id)s::text AS id
    ),
    user_roles AS (
        SELECT user_id,
               array_agg(role_id ORDER BY role_id) AS roles,
               (array_agg(role_id ORDER BY created_at, role_id))[1] AS first_role,
               min(created_at) AS added_at
          FROM project_user_roles
         WHERE project_id = (SELECT id FROM asked)
         GROUP BY user_id
    ),
    group_roles AS (
        SELECT group_id,
               array_agg(role_id ORDER BY role_id) AS roles,
               (array_agg(role_id ORDER BY created_at, role_id))[1] AS first_role,
               min(created_at) AS added_at
          FROM project_group_roles
         WHERE project_id = (SELECT id FROM asked)
         GROUP BY group_id
    ),
    user_entries AS (
        SELECT added_at,
               id,
               jsonb_build_object(
                   'isAPI', false,
                   'id', id,
                   'email', email,
                   'imageUrl', image_url,
                   'addedAt', iso(added_at),
                   'roleId', first_role,
                   'roles', roles)
               || jsonb_strip_nulls(jsonb_build_object('name', name)) AS entry
          FROM user_roles
          JOIN users ON users.id = user_id
         WHERE deleted_at IS NULL
    ),
    group_entries AS (
        SELECT added_at,
               id,
               jsonb_build_object(
                   'name', name,
                   'id', id,
                   'addedAt', iso(added_at),
                   'roleId', first_role,
                   'roles', roles,
                   'description', description,
                   'mappingsSSO', mappings_sso,
                   'rootRole', root_role_id,
                   'createdBy', created_by,
                   'createdAt', iso(created_at),
                   'users', (
                       SELECT coalesce(jsonb_agg(jsonb_build_object(
                                  'joinedAt', iso(group_users.created_at),
                                  'createdBy', group_users.created_by,
                                  'user', {users.RECORD}) ORDER BY group_users.created_at, users.id), '[]')
                         FROM group_users
                         JOIN users ON users.id = group_users.user_id
                        WHERE group_users.group_id = groups.id
                          AND users.deleted_at IS NULL),
                   'scimId', scim_id) AS entry
          FROM group_roles
          JOIN groups ON groups.id = group_id
    )
    SELECT jsonb_build_object(
        'groups', (SELECT coalesce(jsonb_agg(entry ORDER BY added_at, id), '[]') FROM group_entries),
        'users', (SELECT coalesce(jsonb_agg(entry ORDER BY added_at, id), '[]') FROM user_entries),
        'roles', (
            SELECT coalesce(jsonb_agg(jsonb_build_object(
                       'id', id, 'type', type, 'name', name, 'description', description, 'project', NULL) ORDER BY id), '[]')
              FROM roles
             WHERE scope = 'project'))::text
"""


def get(conn: Connection, project_id: str) -> str:
    """The project access record as JSON text. The roles are those that can be given in a project."""
    return value(conn, ACCESS, {"id": project_id})
