"""Users as administrators see them.

Unset names are omitted: typed clients expect a text or nothing.
"""

from typing import LiteralString

from sql.database import Connection, as_json, value
from sql.people import root_roles

# Arguments of json_merge. They omit names that are null.
NAMES: LiteralString = """
    CASE WHEN users.name IS NOT NULL THEN json_build_object('name', users.name) END,
    CASE WHEN users.username IS NOT NULL THEN json_build_object('username', users.username) END,
    CASE WHEN users.email IS NOT NULL THEN json_build_object('email', users.email) END,
    CASE WHEN users.image_url IS NOT NULL THEN json_build_object('imageUrl', users.image_url) END
"""

# The other fields, also as arguments of json_merge. GET /api/admin/user omits the root role.
HEAD: LiteralString = "json_build_object('id', users.id, 'isAPI', false)"
ATTEMPTS: LiteralString = "json_build_object('loginAttempts', users.login_attempts)"
ROLE: LiteralString = "json_build_object('rootRole', users.root_role_id)"
TAIL: LiteralString = """
    json_build_object(
        'seenAt', iso(users.seen_at),
        'createdAt', iso(users.created_at),
        'accountType', users.account_type,
        'scimId', users.scim_id)
"""

FIELDS: LiteralString = f"{HEAD}, {NAMES}, {ATTEMPTS}, {ROLE}, {TAIL}"
RECORD: LiteralString = f"json_merge({FIELDS})"
WITHOUT_ROLE: LiteralString = f"json_merge({HEAD}, {NAMES}, {ATTEMPTS}, {TAIL})"

# Our choice: a list has no links, because only the digests of their tokens are stored.
NO_LINK: LiteralString = "json_build_object('inviteLink', '')"

LIST: LiteralString = f"""
    SELECT json_build_object(
               'users', (
                   SELECT coalesce(json_agg(json_merge({FIELDS}, {NO_LINK}) ORDER BY users.id), '[]')
                     FROM users
                    WHERE deleted_at IS NULL
                      AND account_type = 'User'),
               'rootRoles', {root_roles.RECORDS})::text"""


def list_all(conn: Connection) -> str:
    """Return every user except service accounts, oldest first, and the root roles, as JSON text."""
    return value(conn, LIST)


GET: LiteralString = (
    f"SELECT ({RECORD})::text FROM users WHERE id = %(id)s AND deleted_at IS NULL AND account_type = 'User'"
)


def get(conn: Connection, user_id: int) -> str | None:
    """Return a user as JSON text, or None if there is none with this id. Service accounts are not users here."""
    return value(conn, GET, {"id": user_id})


CREATED: LiteralString = f"""
    SELECT json_merge({FIELDS}, {NO_LINK}, json_build_object('emailSent', false))::text
      FROM users
     WHERE id = %(id)s
"""


def get_created(conn: Connection, user_id: int, invite_link: str) -> str:
    """Return a new user as JSON text, with the fields about an invitation."""
    body = value(conn, CREATED, {"id": user_id})
    # The token of the link is not sent to the database. Other values cannot match: their quotes are escaped.
    return body.replace('"inviteLink" : ""', f'"inviteLink" : {as_json(invite_link)}', 1)


BASE: LiteralString = f"""
    json_merge(json_build_object('id', users.id), {NAMES}, json_build_object('accountType', users.account_type))
"""

# Our choice: service accounts are listed too, because they can get roles in projects.
USERS_AND_GROUPS: LiteralString = f"""
    SELECT json_build_object(
               'users', (
                   SELECT coalesce(json_agg({BASE} ORDER BY users.id), '[]')
                     FROM users
                    WHERE deleted_at IS NULL),
               'groups', (
                   SELECT coalesce(json_agg(json_build_object(
                              'id', groups.id,
                              'name', groups.name,
                              'userCount', (
                                  SELECT count(*)
                                    FROM group_users
                                    JOIN users ON users.id = group_users.user_id
                                   WHERE group_users.group_id = groups.id
                                     AND users.deleted_at IS NULL),
                              'rootRole', groups.root_role_id) ORDER BY groups.name), '[]')
                     FROM groups))::text
"""


def list_users_and_groups(conn: Connection) -> str:
    """Return {"users": [...], "groups": [...]} as JSON text: everybody who can get a role in a project."""
    return value(conn, USERS_AND_GROUPS)


# Our choice: administrators are those of root_roles.lock_administrators(), by their own root role.
ADMIN_COUNT = """
    SELECT json_build_object(
               'password', count(*) FILTER (WHERE account_type = 'User' AND password_hash IS NOT NULL),
               'noPassword', count(*) FILTER (WHERE account_type = 'User' AND password_hash IS NULL),
               'service', count(*) FILTER (WHERE account_type = 'Service Account'))::text
      FROM users
     WHERE deleted_at IS NULL
       AND root_role_id IN (SELECT role_id FROM role_permissions WHERE permission = 'ADMIN')
"""


def count_admins(conn: Connection) -> str:
    """Return the numbers of administrators with a password, without one, and of service accounts, as JSON text."""
    return value(conn, ADMIN_COUNT)


# strpos, not LIKE: % and _ are ordinary characters.
SEARCH: LiteralString = f"""
    SELECT coalesce(json_agg({BASE} ORDER BY id), '[]')::text
      FROM users
     WHERE deleted_at IS NULL
       AND account_type = 'User'
       AND (strpos(lower(name), lower(%(text)s)) > 0
            OR strpos(lower(username), lower(%(text)s)) > 0
            OR strpos(email, lower(%(text)s)) > 0)
"""


def search(conn: Connection, text: str) -> str:
    """Return the users with this text in a name or the e-mail address, in upper or lower case, as JSON text."""
    return value(conn, SEARCH, {"text": text})
