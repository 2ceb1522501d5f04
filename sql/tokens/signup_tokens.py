"""Public signup tokens: rows for decisions, and the public signup token record of api.md."""

import secrets
from datetime import datetime
from typing import Any, LiteralString

from psycopg.rows import DictRow

from sql.access import digest
from sql.database import Connection, one, rows, run, value
from sql.people import roles, users

URL: LiteralString = "%(base_url)s::text || '/new-user?invite=' || signup_tokens.secret"

RECORD: LiteralString = f"""
    jsonb_build_object(
        'secret', signup_tokens.secret,
        'url', {URL},
        'name', signup_tokens.name,
        'enabled', signup_tokens.enabled AND signup_tokens.expires_at > now(),
        'expiresAt', iso(signup_tokens.expires_at),
        'createdAt', iso(signup_tokens.created_at),
        'createdBy', signup_tokens.created_by,
        'users', (
            SELECT coalesce(jsonb_agg({users.RECORD} ORDER BY signup_token_users.created_at, users.id), '[]')
              FROM signup_token_users
              JOIN users ON users.id = signup_token_users.user_id
             WHERE signup_token_users.token_id = signup_tokens.id
               AND users.deleted_at IS NULL),
        'role', (SELECT {roles.RECORD} FROM roles WHERE roles.id = signup_tokens.root_role_id))
"""

# Not by the secret: that would be compared byte by byte, and a database that logs its statements would log guesses and secrets alike.
HAS_DIGEST: LiteralString = r"sha256(decode(replace(signup_tokens.secret, '\', '\\'), 'escape')) = %(digest)s"

GET: LiteralString = f"SELECT ({RECORD})::text FROM signup_tokens WHERE {HAS_DIGEST}"


def get(conn: Connection, secret: str, base_url: str) -> str | None:
    """The record as JSON text; its url begins with base_url. None: unknown."""
    return value(conn, GET, {"digest": digest(secret), "base_url": base_url})


READ: LiteralString = f"""
    SELECT json_build_object(
               'tokens', coalesce(json_agg({RECORD} ORDER BY signup_tokens.created_at DESC, signup_tokens.id DESC), '[]'))::text
      FROM signup_tokens
"""


def read(conn: Connection, base_url: str) -> str:
    """{"tokens": [...]} as JSON text: every token, newest first."""
    return value(conn, READ, {"base_url": base_url})


LOCK: LiteralString = f"""SELECT id, name, enabled, iso(expires_at) AS "expiresAt" FROM signup_tokens WHERE {HAS_DIGEST} FOR UPDATE"""


def lock(conn: Connection, secret: str) -> DictRow | None:
    """id, name, enabled and expiresAt as they are stored: what the log says of a token. None: unknown."""
    return one(conn, LOCK, {"digest": digest(secret)})


UPDATE: LiteralString = f"""
    UPDATE signup_tokens
       SET enabled = coalesce(%(enabled)s::boolean, enabled),
           expires_at = coalesce(%(expires_at)s::timestamptz, expires_at)
     WHERE id = %(id)s
    RETURNING id, name, enabled, iso(expires_at) AS "expiresAt", ({RECORD})::text AS body"""


def update(conn: Connection, token_id: int, base_url: str, *, enabled: bool | None, expires_at: datetime | None) -> tuple[DictRow, str]:
    """The same four of the changed token, and its record as JSON text, as get() gives it. None leaves a field as it is."""
    params = {"id": token_id, "base_url": base_url, "enabled": enabled, "expires_at": expires_at}
    changed = one(conn, UPDATE, params)
    assert changed is not None
    return changed, changed.pop("body")


FIND: LiteralString = f"SELECT id, name, root_role_id, enabled AND expires_at > now() AS is_usable FROM signup_tokens WHERE {HAS_DIGEST}"


def find(conn: Connection, secret: str) -> DictRow | None:
    """id, name, root_role_id, and is_usable: enabled and not expired. None: unknown."""
    return one(conn, FIND, {"digest": digest(secret)})


# FOR SHARE: a token that is being switched off is not used meanwhile; several signups do not wait for each other.
HOLD: LiteralString = f"{FIND} FOR SHARE"


def hold(conn: Connection, secret: str) -> DictRow | None:
    """The same, and the token stays as it is until the transaction ends."""
    return one(conn, HOLD, {"digest": digest(secret)})


ADD_USER = """
    INSERT INTO signup_token_users (token_id, user_id)
    VALUES (%(token_id)s, %(user_id)s)
"""


def add_user(conn: Connection, token_id: int, user_id: int) -> None:
    """Remember that the user signed up with the token."""
    run(conn, ADD_USER, {"token_id": token_id, "user_id": user_id})


INSERT = """
    INSERT INTO signup_tokens (secret, name, expires_at, created_by)
    VALUES (%(secret)s, %(name)s, %(expires_at)s, %(created_by)s)
    RETURNING id, secret, name, enabled, iso(expires_at) AS "expiresAt"
"""


def insert(
    conn: Connection,
    *,
    name: str,
    expires_at: datetime,
    created_by: str,
) -> DictRow:
    """The new token: what the log says of it, and its secret, 32 hexadecimal characters."""
    params: dict[str, Any] = {
        "secret": secrets.token_hex(16),
        "name": name,
        "expires_at": expires_at,
        "created_by": created_by,
    }
    created = one(conn, INSERT, params)
    assert created is not None
    return created


LIST: LiteralString = f"""
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


def list_all(conn: Connection, base_url: str) -> list[DictRow]:
    """Every token, newest first, for the command line; its url begins with base_url."""
    return rows(conn, LIST, {"base_url": base_url})
