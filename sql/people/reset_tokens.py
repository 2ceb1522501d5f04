"""Links with which users set a password. The database has the SHA-256 of their tokens only."""

import secrets
from typing import LiteralString

from sql.access import digest
from sql.database import Connection, as_json, run, value
from sql.people import roles

# A new link replaces the older one of the user.
INSERT = """
    INSERT INTO reset_tokens (user_id, digest, created_by, expires_at)
    VALUES (%(user_id)s, %(digest)s, %(created_by)s, now() + interval '24 hours')
    ON CONFLICT (user_id) DO UPDATE
       SET (digest, created_by, expires_at) = (excluded.digest, excluded.created_by, excluded.expires_at)
"""


def insert(conn: Connection, user_id: int, created_by: str) -> str:
    """Insert the token of a new link and return it: 64 hexadecimal characters. Older links of the user stop working."""
    token = secrets.token_hex(32)
    run(conn, INSERT, {"user_id": user_id, "digest": digest(token), "created_by": created_by})
    return token


MAY_BE_SENT = """
    SELECT password_hash IS NOT NULL
           AND NOT EXISTS (
               SELECT FROM reset_tokens
                WHERE user_id = users.id
                  AND created_by = %(created_by)s
                  AND expires_at > now() + interval '23 hours 55 minutes')
      FROM users
     WHERE id = %(id)s
"""


def may_be_sent(conn: Connection, user_id: int, created_by: str) -> bool:
    """Return whether a link can be sent to a user: with a password, and no link of this author in 5 minutes."""
    return value(conn, MAY_BE_SENT, {"id": user_id, "created_by": created_by})


FIND = "SELECT user_id FROM reset_tokens WHERE digest = %(digest)s AND expires_at > now()"


def find_user(conn: Connection, token: str) -> int | None:
    """Return the id of the user of a token, or None if it is unknown, used or expired."""
    return value(conn, FIND, {"digest": digest(token)})


GET: LiteralString = f"""
    SELECT json_merge(
               json_build_object('id', users.id, 'email', users.email),
               CASE WHEN users.name IS NOT NULL THEN json_build_object('name', users.name) END,
               json_build_object(
                   'token', NULL,
                   'role', {roles.RECORD},
                   'createdBy', reset_tokens.created_by))::text
      FROM reset_tokens
      JOIN users ON users.id = reset_tokens.user_id
      JOIN roles ON roles.id = users.root_role_id
     WHERE reset_tokens.digest = %(digest)s
       AND reset_tokens.expires_at > now()
"""


def get(conn: Connection, token: str) -> str | None:
    """Return a token with its user as JSON text, or None if it is unknown, used or expired."""
    body = value(conn, GET, {"digest": digest(token)})
    # As in personal_tokens.get(), the token never goes to the database. A value cannot match: its quotes are escaped.
    return None if body is None else body.replace('"token" : null', f'"token" : {as_json(token)}', 1)


# SKIP LOCKED: deleting old rows must not wait for new links.
DELETE_EXPIRED = """
    DELETE FROM reset_tokens
     WHERE user_id = ANY(ARRAY(
            SELECT user_id
              FROM reset_tokens
             WHERE expires_at <= now()
             LIMIT 100
               FOR UPDATE SKIP LOCKED))
"""


def delete_expired(conn: Connection) -> None:
    """Delete some expired tokens of all users. Call it last in a transaction that inserts one, to avoid a deadlock."""
    run(conn, DELETE_EXPIRED)
