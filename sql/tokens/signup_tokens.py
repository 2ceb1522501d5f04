"""Public signup tokens: rows for decisions, and the record."""

import secrets
from collections.abc import Mapping
from typing import Any, LiteralString

from psycopg.rows import DictRow

from sql.access import digest
from sql.database import Connection, one, rows, run, value
from sql.people import roles, users

URL: LiteralString = "%(base_url)s::text || '/new-user?invite=' || signup_tokens.secret"

RECORD: LiteralString = f"""
    json_build_object(
        'secret', signup_tokens.secret,
        'url', {URL},
        'name', signup_tokens.name,
        'enabled', signup_tokens.enabled AND signup_tokens.expires_at > now(),
        'expiresAt', iso(signup_tokens.expires_at),
        'createdAt', iso(signup_tokens.created_at),
        'createdBy', signup_tokens.created_by,
        'users', (
            SELECT coalesce(json_agg({users.RECORD} ORDER BY signup_token_users.created_at, users.id), '[]')
              FROM signup_token_users
              JOIN users ON users.id = signup_token_users.user_id
             WHERE signup_token_users.token_id = signup_tokens.id
               AND users.deleted_at IS NULL),
        'role', (SELECT {roles.RECORD} FROM roles WHERE roles.id = signup_tokens.root_role_id))
"""

# A token in the form of events. enabled is the stored value, so it is true for an expired token that is not disabled.
LOGGED: LiteralString = "json_build_object('id', id, 'name', name, 'enabled', enabled, 'expiresAt', iso(expires_at))"

# Tokens are found by their digest. The time of a comparison of secrets would tell how much of them matches, and a
# database that logs its statements would log secrets.
HAS_DIGEST: LiteralString = r"sha256(decode(replace(signup_tokens.secret, '\', '\\'), 'escape')) = %(digest)s"

GET: LiteralString = f"SELECT ({RECORD})::text FROM signup_tokens WHERE {HAS_DIGEST}"


def get(conn: Connection, secret: str, base_url: str) -> str | None:
    """Return the token as JSON text, or None if no token has this secret. Its url begins with base_url."""
    return value(conn, GET, {"digest": digest(secret), "base_url": base_url})


LIST: LiteralString = f"""
    SELECT json_build_object('tokens', coalesce(
               json_agg({RECORD} ORDER BY signup_tokens.created_at DESC, signup_tokens.id DESC), '[]'))::text
      FROM signup_tokens
"""


def list_all(conn: Connection, base_url: str) -> str:
    """Return {"tokens": [...]} as JSON text: every token, newest first."""
    return value(conn, LIST, {"base_url": base_url})


LOCK: LiteralString = f"SELECT {LOGGED} FROM signup_tokens WHERE {HAS_DIGEST} FOR UPDATE"


def lock(conn: Connection, secret: str) -> dict[str, Any] | None:
    """Lock a token and return it in the form of events, or None if no token has this secret."""
    return value(conn, LOCK, {"digest": digest(secret)})


LOCK_BY_ID: LiteralString = f"SELECT {LOGGED} FROM signup_tokens WHERE id = %(id)s FOR UPDATE"


def lock_by_id(conn: Connection, token_id: int) -> dict[str, Any] | None:
    """Do the same as lock() for the token with this id."""
    return value(conn, LOCK_BY_ID, {"id": token_id})


UPDATE: LiteralString = f"""
    UPDATE signup_tokens
       SET enabled = %(enabled)s,
           expires_at = %(expiresAt)s
     WHERE id = %(id)s
    RETURNING {LOGGED}
"""


def update(conn: Connection, token: Mapping[str, Any]) -> dict[str, Any]:
    """Set every field of a token that can change. Return it in the form of events."""
    return value(conn, UPDATE, token)


ROW: LiteralString = f"""
    SELECT id, name, root_role_id, enabled AND expires_at > now() AS is_usable FROM signup_tokens WHERE {HAS_DIGEST}
"""


def get_row(conn: Connection, secret: str) -> DictRow | None:
    """Return id, name, root_role_id and is_usable (enabled and not expired), or None if no token has this secret."""
    return one(conn, ROW, {"digest": digest(secret)})


# FOR SHARE: several signups use a token at once, but a change of the token waits for them.
HOLD: LiteralString = f"{ROW} FOR SHARE"


def hold(conn: Connection, secret: str) -> DictRow | None:
    """Return the same as get_row(), and keep others from changing the token."""
    return one(conn, HOLD, {"digest": digest(secret)})


ADD_USER = """
    INSERT INTO signup_token_users (token_id, user_id)
    VALUES (%(token_id)s, %(user_id)s)
"""


def add_user(conn: Connection, token_id: int, user_id: int) -> None:
    """Record that a user signed up with a token."""
    run(conn, ADD_USER, {"token_id": token_id, "user_id": user_id})


def generate() -> str:
    """Return a new secret: 32 hexadecimal characters."""
    return secrets.token_hex(16)


INSERT: LiteralString = f"""
    INSERT INTO signup_tokens (secret, name, expires_at, created_by)
    VALUES (%(secret)s, %(name)s, %(expiresAt)s, %(created_by)s)
    RETURNING {LOGGED}
"""


def insert(conn: Connection, secret: str, token: Mapping[str, Any], *, created_by: str) -> dict[str, Any]:
    """Insert a token with these fields. Return it in the form of events."""
    return value(conn, INSERT, {**token, "secret": secret, "created_by": created_by})


LIST_ROWS: LiteralString = f"""
    SELECT id,
           name,
           CASE WHEN NOT enabled THEN 'disabled'
                WHEN expires_at <= now() THEN 'expired'
                ELSE 'enabled'
           END AS state,
           iso(expires_at) AS "expiresAt",
           iso(created_at) AS "createdAt",
           created_by AS "createdBy",
           (SELECT count(*) FROM signup_token_users WHERE token_id = signup_tokens.id) AS users,
           {URL} AS url
      FROM signup_tokens
     ORDER BY signup_tokens.created_at DESC, id DESC
"""


def list_rows(conn: Connection, base_url: str) -> list[DictRow]:
    """Return every token, newest first, for the command line."""
    return rows(conn, LIST_ROWS, {"base_url": base_url})
