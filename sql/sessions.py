"""Sessions, which logins create. The database stores only the SHA-256 of session ids."""

from sql.database import Connection, run

# Also deletes some expired sessions. SKIP LOCKED: logins do not wait for each other. ARRAY: the planner could run a
# subquery behind IN once for each session.
INSERT = """
    WITH cleared AS (
        DELETE FROM sessions
         WHERE digest = ANY(ARRAY(
                SELECT digest
                  FROM sessions
                 WHERE expires_at <= now()
                 LIMIT 100
                   FOR UPDATE SKIP LOCKED))
    )
    INSERT INTO sessions (digest, user_id, expires_at, via)
    VALUES (%(digest)s, %(user_id)s, now() + make_interval(hours => %(ttl_hours)s), %(via)s)
"""


def insert(conn: Connection, digest: bytes, user_id: int, ttl_hours: int, via: str = "password") -> None:
    """Insert a session, and delete some expired sessions of all users."""
    run(conn, INSERT, {"digest": digest, "user_id": user_id, "ttl_hours": ttl_hours, "via": via})


DELETE = "DELETE FROM sessions WHERE digest = %(digest)s"


def delete(conn: Connection, digest: bytes) -> None:
    """Delete a session, if it exists."""
    run(conn, DELETE, {"digest": digest})


DELETE_OF_USER = "DELETE FROM sessions WHERE user_id = %(user_id)s"


def delete_of_user(conn: Connection, user_id: int) -> None:
    """Delete all sessions of a user."""
    run(conn, DELETE_OF_USER, {"user_id": user_id})
