"""Sessions, which logins create. The database stores only the SHA-256 of session ids."""

from sql.database import Connection, run, value

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
    ),
    seen AS (
        UPDATE users SET seen_at = now() WHERE id = %(user_id)s
    )
    INSERT INTO sessions (digest, user_id, expires_at, via, address, user_agent)
    VALUES (%(digest)s, %(user_id)s, now() + make_interval(hours => %(hours)s),
            %(via)s, nullif(%(address)s, ''), nullif(%(agent)s, ''))
"""


def insert(
    conn: Connection, digest: bytes, user_id: int, hours: int, via: str = "password", address: str = "", agent: str = ""
) -> None:
    """Insert a session, and delete some expired sessions of all users. The login is the last one of the user."""
    login = {"via": via, "address": address, "agent": agent}
    run(conn, INSERT, {"digest": digest, "user_id": user_id, "hours": hours, **login})


LIST = """
    SELECT json_build_object('sessions', coalesce(json_agg(json_merge(
               json_build_object('id', id, 'createdAt', iso(created_at), 'expiresAt', iso(expires_at), 'via', via),
               CASE WHEN address IS NOT NULL THEN json_build_object('address', address) END,
               CASE WHEN user_agent IS NOT NULL THEN json_build_object('userAgent', user_agent) END,
               json_build_object('current', digest = %(current)s)) ORDER BY created_at DESC, id DESC), '[]'))::text
      FROM sessions
     WHERE user_id = %(user_id)s
       AND expires_at > now()
"""


def list_of_user(conn: Connection, user_id: int, current: bytes | None) -> str:
    """Return {"sessions": [...]} of a user as JSON text, newest first. current: the digest of the reader's session."""
    return value(conn, LIST, {"user_id": user_id, "current": current or b""})


DELETE = "DELETE FROM sessions WHERE digest = %(digest)s"


def delete(conn: Connection, digest: bytes) -> None:
    """Delete a session, if it exists."""
    run(conn, DELETE, {"digest": digest})


DELETE_ONE = "DELETE FROM sessions WHERE id = %(id)s AND user_id = %(user_id)s"


def delete_one(conn: Connection, user_id: int, session_id: int) -> bool:
    """Delete a session of a user. Return whether it existed."""
    return run(conn, DELETE_ONE, {"id": session_id, "user_id": user_id}) == 1


DELETE_OF_USER = "DELETE FROM sessions WHERE user_id = %(user_id)s AND digest <> %(kept)s"


def delete_of_user(conn: Connection, user_id: int, kept: bytes | None = None) -> None:
    """Delete all sessions of a user, except the one with the digest kept."""
    run(conn, DELETE_OF_USER, {"user_id": user_id, "kept": kept or b""})
