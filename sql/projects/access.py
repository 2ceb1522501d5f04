"""The roles of users and groups in a project: the record of GET /api/admin/projects/{project}/access, and rows."""

from collections.abc import Collection
from typing import Literal, LiteralString, NamedTuple

from sql.database import Connection, rows, run, value
from sql.people import groups
from sql.people import roles as role_statements

# requested: as in the project overview. roles: every role that the user or group has in the project. roleId and addedAt
# are those of the first one.
ACCESS: LiteralString = f"""
    WITH requested AS (
        SELECT %(id)s::text AS id
    ),
    user_roles AS (
        SELECT user_id,
               array_agg(role_id ORDER BY role_id) AS roles,
               (array_agg(role_id ORDER BY created_at, role_id))[1] AS first_role,
               min(created_at) AS added_at
          FROM project_user_roles
         WHERE project_id = (SELECT id FROM requested)
         GROUP BY user_id
    ),
    group_roles AS (
        SELECT group_id,
               array_agg(role_id ORDER BY role_id) AS roles,
               (array_agg(role_id ORDER BY created_at, role_id))[1] AS first_role,
               min(created_at) AS added_at
          FROM project_group_roles
         WHERE project_id = (SELECT id FROM requested)
         GROUP BY group_id
    ),
    user_entries AS (
        SELECT added_at,
               id,
               json_merge(
                   json_build_object('isAPI', false),
                   CASE WHEN name IS NOT NULL THEN json_build_object('name', name) END,
                   json_build_object(
                       'email', email,
                       'id', id,
                       'imageUrl', image_url,
                       'addedAt', iso(added_at),
                       'roleId', first_role,
                       'roles', roles)) AS entry
          FROM user_roles
          JOIN users ON users.id = user_id
         WHERE deleted_at IS NULL
    ),
    group_entries AS (
        SELECT added_at,
               id,
               json_build_object(
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
                   'users', {groups.MEMBERS},
                   'scimId', scim_id) AS entry
          FROM group_roles
          JOIN groups ON groups.id = group_id
    )
    SELECT json_build_object(
        'groups', (SELECT coalesce(json_agg(entry ORDER BY added_at, id), '[]') FROM group_entries),
        'users', (SELECT coalesce(json_agg(entry ORDER BY added_at, id), '[]') FROM user_entries),
        'roles', (
            SELECT coalesce(json_agg({role_statements.RECORD} ORDER BY id), '[]')
              FROM roles
             WHERE scope = 'project'))::text
"""


def get(conn: Connection, project_id: str) -> str:
    """Return the project access record as JSON text, with the roles that can be given in a project."""
    return value(conn, ACCESS, {"id": project_id})


Holder = Literal["user", "group"]


class RoleGrant(NamedTuple):
    """A role that a user or a group has in a project."""

    role: int
    holder: Holder
    id: int


# Each change of roles takes this lock first. Otherwise two simultaneous changes could each remove one of the last two
# owners.
LOCK = "SELECT id FROM projects WHERE id = %(project)s FOR NO KEY UPDATE"

# Not part of LOCK: a statement that waited for the lock would not see the roles that the other transaction wrote.
READ = """
    SELECT role_id AS role, 'user' AS holder, user_id AS id
      FROM project_user_roles
      JOIN users ON users.id = user_id
     WHERE project_id = %(project)s
       AND deleted_at IS NULL
 UNION ALL
    SELECT role_id, 'group', group_id
      FROM project_group_roles
     WHERE project_id = %(project)s
"""


def lock_grants(conn: Connection, project: str) -> set[RoleGrant] | None:
    """Lock the roles in a project until the transaction ends, and return them. None: the project does not exist."""
    if value(conn, LOCK, {"project": project}) is None:
        return None
    return {RoleGrant(**row) for row in rows(conn, READ, {"project": project})}


HOLD_ROLES = "SELECT id FROM roles WHERE id = ANY(%(ids)s::bigint[]) AND scope = 'project' ORDER BY id FOR KEY SHARE"

HOLD_GROUPS = "SELECT id FROM groups WHERE id = ANY(%(ids)s::bigint[]) ORDER BY id FOR KEY SHARE"


def hold_roles(conn: Connection, ids: Collection[int]) -> set[int]:
    """Return those of these roles that can be given in a project. They cannot be deleted until the transaction ends."""
    return {row["id"] for row in rows(conn, HOLD_ROLES, {"ids": list(ids)})}


def hold_groups(conn: Connection, ids: Collection[int]) -> set[int]:
    """Return those of these groups that exist. They cannot be deleted until the transaction ends."""
    return {row["id"] for row in rows(conn, HOLD_GROUPS, {"ids": list(ids)})}


# Owners of the project may give every role.
EXCESS_ROLES = """
    WITH held_roles AS (
        SELECT role_id
          FROM user_roles
         WHERE user_id = %(user_id)s
           AND (project_id IS NULL OR project_id = %(project)s)
    ),
    held AS (
        SELECT permission, environment
          FROM held_roles
          JOIN role_permissions USING (role_id)
         WHERE project_id IS NULL
            OR project_id = %(project)s
    )
    SELECT DISTINCT role_id AS id
      FROM role_permissions
     WHERE role_id = ANY(%(roles)s::integer[])
       AND (project_id IS NULL OR project_id = %(project)s)
       AND NOT EXISTS (SELECT FROM held_roles WHERE role_id = %(owner)s)
       AND NOT EXISTS (
            SELECT FROM held
             WHERE held.permission = role_permissions.permission
               AND (held.environment IS NULL OR held.environment = role_permissions.environment))
"""


def list_excess_roles(conn: Connection, project: str, user_id: int | None, roles: Collection[int]) -> set[int]:
    """Return those of the roles with a permission that the user, not an administrator, lacks in the project."""
    params = {"project": project, "user_id": user_id, "roles": list(roles), "owner": role_statements.OWNER}
    return {row["id"] for row in rows(conn, EXCESS_ROLES, params)}


REMOVE = """
    WITH removed AS (
        SELECT *
          FROM unnest(%(roles)s::integer[], %(holders)s::text[], %(ids)s::integer[]) AS removed (role_id, holder, id)
    ),
    users_removed AS (
        DELETE FROM project_user_roles
         USING removed
         WHERE project_id = %(project)s
           AND holder = 'user'
           AND user_id = removed.id
           AND project_user_roles.role_id = removed.role_id
    )
    DELETE FROM project_group_roles
     USING removed
     WHERE project_id = %(project)s
       AND holder = 'group'
       AND group_id = removed.id
       AND project_group_roles.role_id = removed.role_id
"""

ADD = """
    WITH added AS (
        SELECT *
          FROM unnest(%(roles)s::integer[], %(holders)s::text[], %(ids)s::integer[]) AS added (role_id, holder, id)
    ),
    users_added AS (
        INSERT INTO project_user_roles (project_id, user_id, role_id)
        SELECT %(project)s, id, role_id
          FROM added
         WHERE holder = 'user'
    )
    INSERT INTO project_group_roles (project_id, group_id, role_id)
    SELECT %(project)s, id, role_id
      FROM added
     WHERE holder = 'group'
"""


def replace_grants(conn: Connection, project: str, before: Collection[RoleGrant], after: Collection[RoleGrant]) -> None:
    """Delete the grants that are only in before, and insert those only in after. The others keep their dates."""
    removed, added = set(before) - set(after), set(after) - set(before)
    if removed:
        run(conn, REMOVE, columns(project, removed))
    if added:
        run(conn, ADD, columns(project, added))


def columns(project: str, grants: Collection[RoleGrant]) -> dict[str, object]:
    """Return grants in a project as parameters of REMOVE and ADD."""
    return {
        "project": project,
        "roles": [grant.role for grant in grants],
        "holders": [grant.holder for grant in grants],
        "ids": [grant.id for grant in grants],
    }
