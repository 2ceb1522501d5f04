"""Groups of users: the record, and rows for changes."""

from collections.abc import Mapping, Sequence
from typing import Any, LiteralString

from sql.database import Connection, RecordText, record, rows, run, value
from sql.people import users

# The members of a row of groups, as a JSON array.
MEMBERS: LiteralString = f"""
    (SELECT coalesce(json_agg(json_build_object(
                'joinedAt', iso(group_users.created_at),
                'createdBy', group_users.created_by,
                'user', {users.RECORD})
                ORDER BY group_users.position, group_users.created_at, users.id), '[]')
       FROM group_users
       JOIN users ON users.id = group_users.user_id
      WHERE group_users.group_id = groups.id
        AND users.deleted_at IS NULL)
"""

RECORD: LiteralString = f"""
    json_build_object(
        'id', groups.id,
        'name', groups.name,
        'description', groups.description,
        'rootRole', groups.root_role_id,
        'mappingsSSO', groups.mappings_sso,
        'scimId', groups.scim_id,
        'createdBy', groups.created_by,
        'createdAt', iso(groups.created_at),
        'users', {MEMBERS},
        'projects', (
            SELECT coalesce(json_agg(DISTINCT project_id ORDER BY project_id), '[]')
              FROM project_group_roles
             WHERE project_group_roles.group_id = groups.id),
        'userCount', (
            SELECT count(*)
              FROM group_users
              JOIN users ON users.id = group_users.user_id
             WHERE group_users.group_id = groups.id
               AND users.deleted_at IS NULL))
"""

# The message of a unique violation.
TAKEN = {"groups_name_key": "name: a group with this name already exists"}

LIST: LiteralString = (
    f"SELECT json_build_object('groups', coalesce(json_agg({RECORD} ORDER BY groups.name), '[]'))::text FROM groups"
)


def list_all(conn: Connection) -> str:
    """Return {"groups": [...]} as JSON text: every group, by name."""
    return value(conn, LIST)


GET: LiteralString = f"SELECT ({RECORD})::text AS text, version FROM groups WHERE groups.id = %(id)s"


def get(conn: Connection, group_id: int) -> RecordText | None:
    """Return a group as JSON text, or None if it does not exist."""
    return record(conn, GET, {"id": group_id})


# The form of a group in events. It is a separate statement, which begins after the wait for the
# lock. A subquery of LOCK would see the members from before the wait.
LOGGED = """
    SELECT json_build_object(
               'id', id,
               'name', name,
               'description', description,
               'mappingsSSO', mappings_sso,
               'rootRole', root_role_id,
               'users', (
                    SELECT coalesce(json_agg(user_id ORDER BY user_id), '[]')
                      FROM group_users
                     WHERE group_id = groups.id)) AS logged
      FROM groups
     WHERE id = %(id)s
"""


def get_logged(conn: Connection, group_id: int) -> dict[str, Any]:
    """Return a group in the form of events. This transaction has locked or inserted it."""
    return value(conn, LOGGED, {"id": group_id})


LOCK = "SELECT id FROM groups WHERE id = %(id)s FOR UPDATE"


def lock(conn: Connection, group_id: int) -> dict[str, Any] | None:
    """Lock a group and return it in the form of events, or None if it does not exist."""
    return None if value(conn, LOCK, {"id": group_id}) is None else get_logged(conn, group_id)


INSERT = """
    INSERT INTO groups (name, description, root_role_id, mappings_sso, created_by)
    VALUES (%(name)s, %(description)s, %(root_role)s, %(mappings_sso)s, %(created_by)s)
    RETURNING id
"""


def insert(
    conn: Connection,
    name: str,
    *,
    description: str | None = None,
    root_role: int | None = None,
    mappings_sso: Sequence[str] = (),
    created_by: str | None = None,
) -> int:
    """Insert a group without members and return its id. Raise UniqueViolation if the name is taken."""
    params = {
        "name": name,
        "description": description,
        "root_role": root_role,
        "mappings_sso": list(mappings_sso),
        "created_by": created_by,
    }
    return value(conn, INSERT, params)


UPDATE = """
    UPDATE groups
       SET name = %(name)s,
           description = %(description)s,
           root_role_id = %(rootRole)s,
           mappings_sso = %(mappingsSSO)s
     WHERE id = %(id)s
"""


def update(conn: Connection, group: Mapping[str, Any]) -> None:
    """Set every field of a group but its members. Raises UniqueViolation of groups_name_key if the name is taken."""
    run(conn, UPDATE, group)


# Projects before the rows of their members, as in sql/people/past_users.py.
HOLD_PROJECTS = """
    SELECT
      FROM projects
     WHERE id IN (SELECT project_id FROM project_group_roles WHERE group_id = %(id)s)
     ORDER BY id
       FOR KEY SHARE
"""

DELETE = "DELETE FROM groups WHERE id = %(id)s"


def delete(conn: Connection, group_id: int) -> None:
    """Delete a group with its memberships and its roles in projects. Triggers keep their dates for insights."""
    rows(conn, HOLD_PROJECTS, {"id": group_id})
    run(conn, DELETE, {"id": group_id})


SET_USERS = """
    WITH ended AS (
        DELETE FROM group_users
         WHERE group_id = %(id)s
           AND user_id <> ALL(%(users)s::integer[])
    )
    INSERT INTO group_users (group_id, user_id, created_by, position)
    SELECT %(id)s, listed.user_id, %(created_by)s, listed.position
      FROM unnest(%(users)s::integer[]) WITH ORDINALITY AS listed (user_id, position)
    ON CONFLICT (group_id, user_id) DO UPDATE SET position = excluded.position
     WHERE group_users.position <> excluded.position
"""


def set_users(conn: Connection, group_id: int, user_ids: Sequence[int], *, created_by: str) -> None:
    """Replace the members of a group, in this order. Members who stay keep their date."""
    run(conn, SET_USERS, {"id": group_id, "users": list(user_ids), "created_by": created_by})
