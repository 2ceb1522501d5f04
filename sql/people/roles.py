"""Roles and their permissions."""

from collections.abc import Mapping, Sequence
from typing import Any, LiteralString

from sql.database import Connection, RecordText, one, record, run, value
from sql.people import permissions

# The record, and its properties without the project.
PROPERTIES: LiteralString = "'id', roles.id, 'type', roles.type, 'name', roles.name, 'description', roles.description"
RECORD: LiteralString = f"json_build_object({PROPERTIES}, 'project', NULL)"

# The ids of predefined roles, see schema.sql.
ADMIN, EDITOR, VIEWER, OWNER = 1, 2, 3, 4

# The message of a unique violation.
TAKEN = {"roles_name_key": "name: a role with this name already exists"}

LIST: LiteralString = f"""
    SELECT json_build_object('version', 1, 'roles', coalesce(json_agg({RECORD} ORDER BY roles.id), '[]'))::text
      FROM roles
"""


def list_all(conn: Connection) -> str:
    """Return {"version": 1, "roles": [...]} as JSON text: every role, by id."""
    return value(conn, LIST)


ENVIRONMENT: LiteralString = """
    CASE WHEN role_permissions.environment IS NOT NULL
         THEN json_build_object('environment', role_permissions.environment)
    END
"""

# Our choice: permissions in a single project, as Editor has in the project default, are not listed. A permission has no
# field for the project, and a client that copies the list would give them in every project.
WITH_PERMISSIONS: LiteralString = f"""
    json_merge({RECORD}, json_build_object('permissions', (
               SELECT coalesce(json_agg(json_merge({permissions.RECORD}, {ENVIRONMENT})
                                        ORDER BY permissions.id, role_permissions.environment NULLS FIRST), '[]')
                 FROM role_permissions
                 JOIN permissions ON permissions.name = role_permissions.permission
                WHERE role_permissions.role_id = roles.id
                  AND role_permissions.project_id IS NULL)))
"""

GET: LiteralString = f"SELECT ({WITH_PERMISSIONS})::text AS text, version FROM roles WHERE id = %(id)s"


def get(conn: Connection, role_id: int) -> RecordText | None:
    """Return a role with its permissions as JSON text, or None if it does not exist."""
    return record(conn, GET, {"id": role_id})


# A role that no user or group has in a project has no entries.
PROJECTS = """
    WITH held AS (
        SELECT project_id,
               count(*) FILTER (WHERE account_type = 'User') AS users,
               0 AS groups,
               count(*) FILTER (WHERE account_type = 'Service Account') AS service_accounts
          FROM project_user_roles
          JOIN users ON users.id = user_id
         WHERE role_id = %(id)s
           AND deleted_at IS NULL
         GROUP BY project_id
     UNION ALL
        SELECT project_id, 0, count(*), 0
          FROM project_group_roles
         WHERE role_id = %(id)s
         GROUP BY project_id
    ),
    projects AS (
        SELECT project_id, sum(users) AS users, sum(groups) AS groups, sum(service_accounts) AS service_accounts
          FROM held
         GROUP BY project_id
    )
    SELECT json_build_object('projects', (
               SELECT coalesce(json_agg(json_build_object(
                          'project', project_id,
                          'role', %(id)s::integer,
                          'userCount', users,
                          'groupCount', groups,
                          'serviceAccountCount', service_accounts) ORDER BY project_id), '[]')
                 FROM projects))::text
      FROM roles
     WHERE id = %(id)s
"""


def list_projects(conn: Connection, role_id: int) -> str | None:
    """Return {"projects": [...]} as JSON text: where users and groups have the role. None if it does not exist."""
    return value(conn, PROJECTS, {"id": role_id})


IS_TAKEN = "SELECT EXISTS (SELECT FROM roles WHERE lower(name) = lower(%(name)s::text))"


def is_taken(conn: Connection, name: str) -> bool:
    """Return whether a role has this name, in upper or lower case."""
    return value(conn, IS_TAKEN, {"name": name})


ANSWER: LiteralString = f"""
    SELECT json_build_object('version', 1, 'roles', {RECORD})::text AS text, version FROM roles WHERE id = %(id)s
"""


def answer(conn: Connection, role_id: int) -> RecordText | None:
    """Return {"version": 1, "roles": {...}} as JSON text: one role. Old clients expect it under the plural."""
    return record(conn, ANSWER, {"id": role_id})


# The form of a role in events. It is a separate statement, which begins after the wait for the
# lock. A subquery of LOCK would see the permissions from before the wait.
LOGGED: LiteralString = f"""
    SELECT json_merge({RECORD}, json_build_object('permissions', (
               SELECT coalesce(json_agg(json_merge(json_build_object('name', permissions.name), {ENVIRONMENT})
                                        ORDER BY permissions.id, role_permissions.environment NULLS FIRST), '[]')
                 FROM role_permissions
                 JOIN permissions ON permissions.name = role_permissions.permission
                WHERE role_permissions.role_id = roles.id))) AS logged
      FROM roles
     WHERE roles.id = %(id)s
"""


def get_logged(conn: Connection, role_id: int) -> dict[str, Any]:
    """Return a role in the form of events. This transaction has locked or inserted it."""
    return value(conn, LOGGED, {"id": role_id})


LOCK = "SELECT id FROM roles WHERE id = %(id)s FOR UPDATE"


def lock(conn: Connection, role_id: int) -> dict[str, Any] | None:
    """Lock a role and return it in the form of events, or None if it does not exist. No other request can give it."""
    return None if value(conn, LOCK, {"id": role_id}) is None else get_logged(conn, role_id)


INSERT = """
    INSERT INTO roles (name, type, description)
    VALUES (%(name)s, %(type)s, %(description)s)
    RETURNING id
"""


def insert(conn: Connection, name: str, *, type: str = "custom", description: str = "") -> int:
    """Insert a role without permissions and return its id. type: root-custom, or custom for a role in projects."""
    return value(conn, INSERT, {"name": name, "type": type, "description": description})


UPDATE = """
    UPDATE roles
       SET name = %(name)s,
           description = %(description)s
     WHERE id = %(id)s
"""


def update(conn: Connection, role: Mapping[str, Any]) -> None:
    """Set name and description of a role. Raises UniqueViolation of roles_name_key if the name is taken."""
    run(conn, UPDATE, role)


SET_PERMISSIONS = """
    WITH requested AS (
        SELECT DISTINCT permission, environment
          FROM unnest(%(permissions)s::text[], %(environments)s::text[]) AS requested (permission, environment)
    ),
    ended AS (
        DELETE FROM role_permissions
         WHERE role_id = %(id)s
           AND NOT EXISTS (
                SELECT FROM requested
                 WHERE requested.permission = role_permissions.permission
                   AND requested.environment IS NOT DISTINCT FROM role_permissions.environment)
    )
    INSERT INTO role_permissions (role_id, permission, environment)
    SELECT %(id)s, permission, environment
      FROM requested
    ON CONFLICT DO NOTHING
"""


def set_permissions(conn: Connection, role_id: int, allowed: Sequence[tuple[str, str | None]]) -> None:
    """Replace the permissions of a role, given as name and environment. None: in all environments."""
    params = {
        "id": role_id,
        "permissions": [name for name, _ in allowed],
        "environments": [place for _, place in allowed],
    }
    run(conn, SET_PERMISSIONS, params)


HOLDERS = """
    SELECT (SELECT count(*) FROM users WHERE root_role_id = %(id)s AND deleted_at IS NULL)
               + (SELECT count(DISTINCT user_id) FROM project_user_roles WHERE role_id = %(id)s) AS user,
           (SELECT count(*) FROM groups WHERE root_role_id = %(id)s)
               + (SELECT count(DISTINCT group_id) FROM project_group_roles WHERE role_id = %(id)s) AS group,
           (SELECT count(*) FROM signup_tokens WHERE root_role_id = %(id)s) AS "signup token"
"""


def holders(conn: Connection, role_id: int) -> dict[str, int]:
    """Return the numbers of users, groups and signup tokens with a role. After lock(), they cannot grow."""
    return one(conn, HOLDERS, {"id": role_id}) or {}


# Rows of deleted users stay and refer to a role.
DELETE = """
    WITH updated AS (
        UPDATE users
           SET root_role_id = %(viewer)s
         WHERE root_role_id = %(id)s
           AND deleted_at IS NOT NULL
    )
    DELETE FROM roles WHERE id = %(id)s
"""


def delete(conn: Connection, role_id: int) -> None:
    """Delete a role that no user, group or signup token has."""
    run(conn, DELETE, {"id": role_id, "viewer": VIEWER})
