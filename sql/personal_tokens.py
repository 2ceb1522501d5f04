"""Personal tokens: keys that act as their user. Only the SHA-256 is kept."""

import hashlib
import secrets
from datetime import datetime

from sql import Connection, value

INSERT = """
    INSERT INTO personal_tokens (user_id, description, digest, expires_at)
    VALUES (%(user_id)s, %(description)s, %(digest)s, %(expires_at)s)
    RETURNING id
"""


def insert(conn: Connection, user_id: int, description: str, expires_at: datetime) -> str:
    """A new token, user: and 64 hexadecimal characters; it is shown here and never again."""
    secret = f"user:{secrets.token_hex(32)}"
    digest = hashlib.sha256(secret.encode()).digest()
    value(conn, INSERT, {"user_id": user_id, "description": description, "digest": digest, "expires_at": expires_at})
    return secret
