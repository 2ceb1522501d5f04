"""Favorite projects of users."""

from sql.database import Connection, run

# FOR KEY SHARE: a project that another transaction deletes is unknown.
ADD = """
    INSERT INTO project_favorites (user_id, project_id)
    SELECT %(user_id)s, id
      FROM projects
     WHERE id = %(project_id)s
       FOR KEY SHARE
    ON CONFLICT DO NOTHING
"""


def add(conn: Connection, user_id: int, project_id: str) -> bool:
    """Add a project to a user's favorites. Return False if it was one before, or does not exist."""
    return run(conn, ADD, {"user_id": user_id, "project_id": project_id}) == 1


REMOVE = "DELETE FROM project_favorites WHERE user_id = %(user_id)s AND project_id = %(project_id)s"


def remove(conn: Connection, user_id: int, project_id: str) -> bool:
    """Remove a project from a user's favorites. Return False if it was none."""
    return run(conn, REMOVE, {"user_id": user_id, "project_id": project_id}) == 1
