"""Find values of event filters that are probably mistyped, because nothing has them."""

from collections.abc import Sequence

from psycopg.rows import DictRow

from sql.database import Connection, one

# Deleted projects and flags still have events, and deleted users still have a row.
UNKNOWN = """
    SELECT ARRAY(SELECT given
                   FROM unnest(%(projects)s::text[]) AS given
                  WHERE NOT EXISTS (SELECT FROM projects WHERE projects.id = given)
                    AND NOT EXISTS (SELECT FROM events WHERE events.project = given)) AS projects,
           ARRAY(SELECT given
                   FROM unnest(%(flags)s::text[]) AS given
                  WHERE NOT EXISTS (SELECT FROM flags WHERE flags.name = given)
                    AND NOT EXISTS (SELECT FROM events WHERE events.feature_name = given)) AS flags,
           ARRAY(SELECT given
                   FROM unnest(%(users)s::bigint[]) AS given
                  WHERE NOT EXISTS (SELECT FROM users WHERE users.id = given)
                    AND NOT EXISTS (SELECT FROM events WHERE events.created_by_user_id = given)) AS users
"""


def unknown(conn: Connection, projects: Sequence[str], flags: Sequence[str], users: Sequence[int]) -> DictRow:
    """Return those of the projects, flags and users (by id) that do not exist and have no events."""
    row = one(conn, UNKNOWN, {"projects": list(projects), "flags": list(flags), "users": list(users)})
    assert row is not None
    return row
