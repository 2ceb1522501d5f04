"""Delete a project that the caller has locked with projects.lock()."""

from typing import Any, LiteralString

from sql.database import Connection, rows, run
from sql.tokens import api_tokens

# FOR NO KEY UPDATE: no flag is revived before the project is deleted. If another transaction is reviving a flag, the
# statement waits and returns the revived flag.
LOCK_FLAGS = """
    SELECT name, archived_at IS NULL AS is_live
      FROM flags
     WHERE project_id = %(id)s
       AND deleted_at IS NULL
     ORDER BY name
       FOR NO KEY UPDATE
"""


def list_live_flags(conn: Connection, project_id: str) -> list[str]:
    """Return the names of the live flags of a project, and lock all its flags."""
    return [row["name"] for row in rows(conn, LOCK_FLAGS, {"id": project_id}) if row["is_live"]]


# Each request that adds a token or a segment to the project has finished before, or waits and then finds no project.
LOCK = "SELECT FROM projects WHERE id = %(id)s FOR UPDATE"


def lock(conn: Connection, project_id: str) -> None:
    """Keep other transactions from adding references to a project."""
    rows(conn, LOCK, {"id": project_id})


# If two projects that share a token are deleted at once, the second transaction waits here for the first.
LOCK_API_TOKENS = """
    SELECT
      FROM api_keys
     WHERE id IN (SELECT api_key_id FROM api_key_projects WHERE project_id = %(id)s)
     ORDER BY id
       FOR UPDATE
"""

# A token without projects would be a token for all projects, so tokens for this project only are deleted.
READ_API_TOKENS: LiteralString = f"""
    SELECT id, {api_tokens.LOGGED} AS logged
      FROM api_keys
     WHERE EXISTS (SELECT FROM api_key_projects WHERE api_key_id = api_keys.id AND project_id = %(id)s)
       AND NOT EXISTS (SELECT FROM api_key_projects WHERE api_key_id = api_keys.id AND project_id <> %(id)s)
     ORDER BY api_keys.created_at, api_keys.id
"""

DELETE_API_TOKENS = "DELETE FROM api_keys WHERE id = ANY(%(ids)s)"

UNLINK_API_TOKENS = "DELETE FROM api_key_projects WHERE project_id = %(id)s"


def delete_api_tokens(conn: Connection, project_id: str) -> list[dict[str, Any]]:
    """Delete and return (as events do) the API tokens for this project only. Remove it from other tokens."""
    rows(conn, LOCK_API_TOKENS, {"id": project_id})
    tokens = rows(conn, READ_API_TOKENS, {"id": project_id})
    run(conn, DELETE_API_TOKENS, {"ids": [token["id"] for token in tokens]})
    run(conn, UNLINK_API_TOKENS, {"id": project_id})
    return [token["logged"] for token in tokens]


UNLINK_SEGMENTS = """
    DELETE FROM strategy_segments
     USING segments
     WHERE segments.id = segment_id
       AND segments.project_id = %(id)s
"""

# Foreign keys delete its environments, segments, roles, favorites, usage and history.
DELETE = "DELETE FROM projects WHERE id = %(id)s"


def delete(conn: Connection, project_id: str) -> None:
    """Delete a project. Its flags and tokens must already be deleted."""
    run(conn, UNLINK_SEGMENTS, {"id": project_id})
    run(conn, DELETE, {"id": project_id})
