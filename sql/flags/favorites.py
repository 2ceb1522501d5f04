"""The favorite flags of users."""

from sql.database import Connection, run

ADD = """
    INSERT INTO flag_favorites (user_id, flag_id)
    VALUES (%(user_id)s, %(flag_id)s)
    ON CONFLICT DO NOTHING
"""


def add(conn: Connection, user_id: int, flag_id: int) -> bool:
    """Add a flag to a user's favorites. False: it was one already."""
    return run(conn, ADD, {"user_id": user_id, "flag_id": flag_id}) == 1


REMOVE = "DELETE FROM flag_favorites WHERE user_id = %(user_id)s AND flag_id = %(flag_id)s"


def remove(conn: Connection, user_id: int, flag_id: int) -> bool:
    """Remove a flag from a user's favorites. False: it was not one."""
    return run(conn, REMOVE, {"user_id": user_id, "flag_id": flag_id}) == 1
