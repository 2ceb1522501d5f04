"""The project that a flag is to be in."""

from psycopg.rows import DictRow

from sql.database import Connection, one, run, value

# FOR SHARE: whoever archives or deletes the project waits until the flag is in it.
HOLD = """
    SELECT id, feature_limit, naming_pattern
      FROM projects
     WHERE id = %(id)s
       AND archived_at IS NULL
       FOR SHARE
"""


def hold(conn: Connection, project: str) -> DictRow | None:
    """id, feature_limit (None: none) and naming_pattern (likewise) of a project, which stays as it is. None: unknown or archived."""
    return one(conn, HOLD, {"id": project})


HOLD_COUNT = "SELECT pg_advisory_xact_lock(hashtext('featureLimit'), hashtext(%(project)s))"

COUNT = "SELECT count(*) FROM flags WHERE project_id = %(project)s AND archived_at IS NULL"


def count(conn: Connection, project: str) -> int:
    """How many live flags a project has. Until the transaction ends, nobody else who counts them goes on."""
    run(conn, HOLD_COUNT, {"project": project})
    return value(conn, COUNT, {"project": project})
