"""Sessions: what a login creates. Only the SHA-256 of a session id is kept."""

from sql.database import Connection, run

# Some that have expired go meanwhile: a few at a time, and none that another login is clearing away, so nobody waits for anybody. ARRAY:
# what stands behind IN may be run once for each session, and passes over a hundred others each time.
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
    INSERT INTO sessions (digest, user_id, expires_at)
    VALUES (%(digest)s, %(user_id)s, now() + make_interval(hours => %(ttl_hours)s))
"""


def insert(conn: Connection, digest: bytes, user_id: int, ttl_hours: int) -> None:
    """Begin a session; some that have expired, anybody's, are cleared away."""
    run(conn, INSERT, {"digest": digest, "user_id": user_id, "ttl_hours": ttl_hours})


DELETE = "DELETE FROM sessions WHERE digest = %(digest)s"


def delete(conn: Connection, digest: bytes) -> None:
    """End one session, if there is such a one."""
    run(conn, DELETE, {"digest": digest})


DELETE_OF_USER = "DELETE FROM sessions WHERE user_id = %(user_id)s"


def delete_of_user(conn: Connection, user_id: int) -> None:
    """End all sessions of a user."""
    run(conn, DELETE_OF_USER, {"user_id": user_id})
