"""The end of a project: its flags, its API keys, and then itself. The caller has locked the project, by projects.lock()."""

from typing import Any, LiteralString

from sql.database import Connection, rows, run
from sql.tokens import api_tokens

# Held, by name as elsewhere, so that none comes back from the archive before the project is gone. A row that was waited for is seen as it
# is by then.
HOLD_FLAGS = """
    SELECT archived_at IS NULL AS is_live
      FROM flags
     WHERE project_id = %(id)s
       AND deleted_at IS NULL
     ORDER BY name
       FOR NO KEY UPDATE
"""


def has_live_flags(conn: Connection, project_id: str) -> bool:
    """Whether the project has flags that are not archived. Until the transaction ends, none is archived or revived."""
    return any(row["is_live"] for row in rows(conn, HOLD_FLAGS, {"id": project_id}))


# When its flags are held: who makes a key or a segment of it has finished, or waits and finds it gone.
HOLD = "SELECT FROM projects WHERE id = %(id)s FOR UPDATE"


def hold(conn: Connection, project_id: str) -> None:
    """Let nothing refer to the project anew until the transaction ends."""
    rows(conn, HOLD, {"id": project_id})


# Of two projects that share a key and are deleted at once, the second sees here what the first has left.
LOCK_KEYS = """
    SELECT
      FROM api_keys
     WHERE id IN (SELECT api_key_id FROM api_key_projects WHERE project_id = %(id)s)
     ORDER BY id
       FOR UPDATE
"""

# A key without projects would be one for all of them.
READ_KEYS: LiteralString = f"""
    SELECT id, {api_tokens.LOGGED} AS logged
      FROM api_keys
     WHERE EXISTS (SELECT FROM api_key_projects WHERE api_key_id = api_keys.id AND project_id = %(id)s)
       AND NOT EXISTS (SELECT FROM api_key_projects WHERE api_key_id = api_keys.id AND project_id <> %(id)s)
     ORDER BY api_keys.created_at, api_keys.id
"""

DELETE_KEYS = "DELETE FROM api_keys WHERE id = ANY(%(ids)s)"

LEAVE_KEYS = "DELETE FROM api_key_projects WHERE project_id = %(id)s"


def delete_keys(conn: Connection, project_id: str) -> list[dict[str, Any]]:
    """Delete the API tokens that are for this project only, and remove it from tokens for several projects.

    Return what the log shows of the deleted tokens.
    """
    rows(conn, LOCK_KEYS, {"id": project_id})
    tokens = rows(conn, READ_KEYS, {"id": project_id})
    run(conn, DELETE_KEYS, {"ids": [token["id"] for token in tokens]})
    run(conn, LEAVE_KEYS, {"id": project_id})
    return [token["logged"] for token in tokens]


LEAVE_SEGMENTS = """
    DELETE FROM strategy_segments
     USING segments
     WHERE segments.id = segment_id
       AND segments.project_id = %(id)s
"""

# Its environments, segments, roles, favourites, usage and past go with it, by their foreign keys.
DELETE = "DELETE FROM projects WHERE id = %(id)s"


def delete(conn: Connection, project_id: str) -> None:
    """Delete a project whose flags and keys are gone."""
    run(conn, LEAVE_SEGMENTS, {"id": project_id})
    run(conn, DELETE, {"id": project_id})
