"""Users as administrators see them: what is unset is left out, so that typed clients find text or nothing (neighbours.md, EX1)."""

from typing import LiteralString

from sql.database import Connection, value
from sql.people import root_roles

RECORD: LiteralString = """
    jsonb_build_object(
        'id', users.id,
        'isAPI', false,
        'rootRole', users.root_role_id,
        'accountType', users.account_type,
        'loginAttempts', users.login_attempts,
        'seenAt', iso(users.seen_at),
        'createdAt', iso(users.created_at),
        'scimId', users.scim_id)
    || jsonb_strip_nulls(jsonb_build_object(
        'name', users.name,
        'username', users.username,
        'email', users.email,
        'imageUrl', users.image_url))
"""

# Our choice: a user who is made without a password gets one by an administrator; there is no link with which he sets it himself.
NO_LINK: LiteralString = """ || '{"inviteLink": ""}'::jsonb """

LIST: LiteralString = f"""
    SELECT json_build_object(
               'users', (
                   SELECT coalesce(json_agg({RECORD}{NO_LINK} ORDER BY users.id), '[]')
                     FROM users
                    WHERE deleted_at IS NULL
                      AND account_type = 'User'),
               'rootRoles', {root_roles.RECORDS})::text"""


def list_all(conn: Connection) -> str:
    """Every user, without service accounts, oldest first, and the roles that they can have, as JSON text."""
    return value(conn, LIST)


GET: LiteralString = f"SELECT ({RECORD})::text FROM users WHERE id = %(id)s AND deleted_at IS NULL AND account_type = 'User'"


def get(conn: Connection, user_id: int) -> str | None:
    """The record as JSON text; None for who is unknown, deleted, or a service account."""
    return value(conn, GET, {"id": user_id})


CREATED: LiteralString = f"""SELECT ({RECORD}{NO_LINK}|| '{{"emailSent": false}}'::jsonb)::text FROM users WHERE id = %(id)s"""


def get_created(conn: Connection, user_id: int) -> str:
    """The record of a user who has just been made, with what became of his invitation."""
    return value(conn, CREATED, {"id": user_id})


# strpos, not LIKE: % and _ are characters like others.
SEARCH = """
    SELECT coalesce(json_agg(hit ORDER BY id), '[]')::text
      FROM (SELECT id,
                   jsonb_build_object('id', id, 'accountType', account_type)
                   || jsonb_strip_nulls(jsonb_build_object(
                       'name', name, 'username', username, 'email', email, 'imageUrl', image_url)) AS hit
              FROM users
             WHERE deleted_at IS NULL
               AND account_type = 'User'
               AND (strpos(lower(name), lower(%(text)s)) > 0
                    OR strpos(lower(username), lower(%(text)s)) > 0
                    OR strpos(email, lower(%(text)s)) > 0)) AS hits
"""


def search(conn: Connection, text: str) -> str:
    """Who has this text in his name, user name or address, in any case of letters, as JSON text."""
    return value(conn, SEARCH, {"text": text})
