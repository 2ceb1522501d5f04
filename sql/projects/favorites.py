"""The projects that users have made their favourites."""

from typing import Any

from sql.database import Connection, run

# FOR KEY SHARE: a project that is being deleted meanwhile is nobody's favourite.
ADD = """
    INSERT INTO project_favorites (user_id, project_id)
    SELECT %(user_id)s, id
      FROM projects
     WHERE id = %(project_id)s
       FOR KEY SHARE
    ON CONFLICT DO NOTHING
"""


def add(conn: Connection, user_id: int, project_id: str) -> bool:
    """Make a project one of a user's favourites. False: it is already, or there is none with that id."""
    params: dict[str, Any] = {"user_id": user_id, "project_id": project_id}
    return run(conn, ADD, params) == 1


REMOVE = "DELETE FROM project_favorites WHERE user_id = %(user_id)s AND project_id = %(project_id)s"


def remove(conn: Connection, user_id: int, project_id: str) -> bool:
    """Let a project be no favourite of a user's any more. False: it was none."""
    return run(conn, REMOVE, {"user_id": user_id, "project_id": project_id}) == 1
