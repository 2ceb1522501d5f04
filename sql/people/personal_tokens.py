"""Personal tokens: keys that act as their user. Only the SHA-256 is kept."""

import secrets
from datetime import datetime
from typing import LiteralString

from psycopg.rows import DictRow

from sql.access import digest
from sql.database import Connection, as_json, one, value

# What the service says when a unique constraint refuses a token.
TAKEN = {"personal_tokens_description_key": "description: there is a token with this description already"}

RECORD: LiteralString = """
    jsonb_build_object(
        'id', personal_tokens.id,
        'description', personal_tokens.description,
        'createdAt', iso(personal_tokens.created_at),
        'expiresAt', iso(personal_tokens.expires_at),
        'seenAt', iso(personal_tokens.seen_at),
        'userId', personal_tokens.user_id)
"""

# Those of a row of the table users, oldest first, as a JSON array.
RECORDS_OF_USER: LiteralString = f"""(SELECT coalesce(jsonb_agg({RECORD} ORDER BY personal_tokens.created_at, personal_tokens.id), '[]')
       FROM personal_tokens
      WHERE personal_tokens.user_id = users.id)
"""

LIST: LiteralString = f"SELECT json_build_object('pats', {RECORDS_OF_USER})::text FROM users WHERE id = %(user_id)s"


def list_of_user(conn: Connection, user_id: int) -> str:
    """{"pats": [...]} as JSON text: his tokens without their secrets, oldest first."""
    return value(conn, LIST, {"user_id": user_id})


# The owner's row stands for the place that a new token takes: two at once cannot both take the last one.
LOCK_OWNER = "SELECT id FROM users WHERE id = %(user_id)s AND deleted_at IS NULL FOR NO KEY UPDATE"

COUNT = "SELECT count(*) FROM personal_tokens WHERE user_id = %(user_id)s"


def count(conn: Connection, user_id: int) -> int | None:
    """How many tokens a user has, expired ones included; None: he has been deleted. Until the end, nobody else who counts them goes on."""
    if one(conn, LOCK_OWNER, {"user_id": user_id}) is None:
        return None
    return value(conn, COUNT, {"user_id": user_id})


INSERT = """
    INSERT INTO personal_tokens (user_id, description, digest, expires_at)
    VALUES (%(user_id)s, %(description)s, %(digest)s, %(expires_at)s)
    RETURNING id
"""


def insert(conn: Connection, user_id: int, description: str, expires_at: datetime) -> str:
    """A new token, user: and 64 hexadecimal characters; it is shown here and never again.

    UniqueViolation of personal_tokens_description_key when the user has one of this description.
    """
    secret = f"user:{secrets.token_hex(32)}"
    value(conn, INSERT, {"user_id": user_id, "description": description, "digest": digest(secret), "expires_at": expires_at})
    return secret


GET: LiteralString = f"""
    SELECT id, description, iso(expires_at) AS "expiresAt", user_id AS "userId",
           ({RECORD} || jsonb_build_object('secret', NULL))::text AS record
      FROM personal_tokens
     WHERE digest = %(digest)s
"""


def get(conn: Connection, secret: str) -> tuple[DictRow, str]:
    """What the log says of a token, and its record as JSON text, which has the secret in it."""
    found = one(conn, GET, {"digest": digest(secret)})
    assert found is not None
    # As in api_keys.get(), the secret itself never goes to the database. Within a text, these quotes would be escaped.
    return found, found.pop("record").replace('"secret": null', f'"secret": {as_json(secret)}', 1)


DELETE = """
    DELETE FROM personal_tokens
     WHERE id = %(id)s
       AND user_id = %(user_id)s
    RETURNING id, description, iso(expires_at) AS "expiresAt", user_id AS "userId"
"""


def delete(conn: Connection, token_id: int, user_id: int) -> DictRow | None:
    """End a token: what the log says of it. None: this user has none of that id."""
    return one(conn, DELETE, {"id": token_id, "user_id": user_id})
