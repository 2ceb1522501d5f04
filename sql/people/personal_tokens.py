"""Personal tokens, which act as their user. The database stores only their SHA-256."""

import secrets
from datetime import datetime
from typing import Any, LiteralString

from sql.access import digest
from sql.database import Connection, as_json, one, value

# The start of each token.
PREFIX = "user:"
# The message of a unique violation.
TAKEN = {"personal_tokens_description_key": "description: a token with this description already exists"}

RECORD: LiteralString = """
    json_build_object(
        'id', personal_tokens.id,
        'description', personal_tokens.description,
        'createdAt', iso(personal_tokens.created_at),
        'expiresAt', iso(personal_tokens.expires_at),
        'seenAt', iso(personal_tokens.seen_at),
        'userId', personal_tokens.user_id)
"""

# The tokens of a row of users, oldest first, as a JSON array.
RECORDS_OF_USER: LiteralString = f"""
    (SELECT coalesce(json_agg({RECORD} ORDER BY personal_tokens.created_at, personal_tokens.id), '[]')
       FROM personal_tokens
      WHERE personal_tokens.user_id = users.id)
"""

LIST: LiteralString = f"SELECT json_build_object('pats', {RECORDS_OF_USER})::text FROM users WHERE id = %(user_id)s"


def list_of_user(conn: Connection, user_id: int) -> str:
    """Return {"pats": [...]} as JSON text: the tokens of a user without their secrets, oldest first."""
    return value(conn, LIST, {"user_id": user_id})


# Requests that add a token wait for the lock on the owner's row. Otherwise two of them could both add the last token.
LOCK_OWNER = "SELECT id FROM users WHERE id = %(user_id)s AND deleted_at IS NULL FOR NO KEY UPDATE"

COUNT = "SELECT count(*) FROM personal_tokens WHERE user_id = %(user_id)s"


def count(conn: Connection, user_id: int) -> int | None:
    """Return the number of tokens, None for a deleted user. Others that count wait for this transaction."""
    if one(conn, LOCK_OWNER, {"user_id": user_id}) is None:
        return None
    return value(conn, COUNT, {"user_id": user_id})


INSERT = """
    INSERT INTO personal_tokens (user_id, description, digest, expires_at)
    VALUES (%(user_id)s, %(description)s, %(digest)s, %(expires_at)s)
    RETURNING id
"""


def insert(conn: Connection, user_id: int, description: str, expires_at: datetime) -> str:
    """Insert a token and return its secret. Raise UniqueViolation if the description is taken."""
    secret = f"{PREFIX}{secrets.token_hex(32)}"
    value(
        conn,
        INSERT,
        {"user_id": user_id, "description": description, "digest": digest(secret), "expires_at": expires_at},
    )
    return secret


# The form of a token in events.
LOGGED: LiteralString = """
    json_build_object('id', id, 'description', description, 'expiresAt', iso(expires_at), 'userId', user_id)
"""

GET: LiteralString = f"""
    SELECT {LOGGED} AS logged,
           json_merge({RECORD}, json_build_object('secret', NULL))::text AS record
      FROM personal_tokens
     WHERE digest = %(digest)s
"""


def get(conn: Connection, secret: str) -> tuple[dict[str, Any], str]:
    """Return a new token in the form of events, and the token as JSON text, with its secret."""
    token = one(conn, GET, {"digest": digest(secret)})
    assert token is not None
    # As in api_tokens.get(), the secret is not sent to the database. Other values cannot match: their quotes are
    # escaped.
    return token["logged"], token["record"].replace('"secret" : null', f'"secret" : {as_json(secret)}', 1)


DELETE: LiteralString = f"""
    DELETE FROM personal_tokens
     WHERE id = %(id)s
       AND user_id = %(user_id)s
    RETURNING {LOGGED}
"""


def delete(conn: Connection, token_id: int, user_id: int) -> dict[str, Any] | None:
    """Delete a token and return it in the form of events, or None if the user has no token with this id."""
    return value(conn, DELETE, {"id": token_id, "user_id": user_id})
