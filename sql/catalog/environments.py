"""Environments of the instance."""

from collections.abc import Mapping, Sequence
from typing import Any, LiteralString

from sql.database import Connection, rows, run, value
from sql.projects import change_requests

# The message of a unique violation.
TAKEN = {"environments_pkey": "name: an environment with this name already exists"}

# As arguments of json_build_object.
FIELDS: LiteralString = """
    'name', name, 'type', type, 'enabled', enabled, 'protected', protected, 'sortOrder', sort_order
"""

# The Environment record, which events contain too.
RECORD: LiteralString = f"json_build_object({FIELDS})"

# Each count is one pass over all environments. Only live flags and live projects count.
# Our choice: the counts include projects that the caller does not see.
LIST: LiteralString = f"""
    WITH project_counts AS (
        SELECT environment, count(*) AS number
          FROM project_environments
          JOIN projects ON projects.id = project_id
         WHERE archived_at IS NULL
         GROUP BY environment
    ),
    key_counts AS (
        SELECT environment, count(*) AS number
          FROM api_keys
         GROUP BY environment
    ),
    flag_counts AS (
        SELECT flag_environments.environment, count(*) AS number
          FROM flag_environments
          JOIN flags ON flags.id = flag_id
          JOIN project_environments ON project_environments.project_id = flags.project_id
                                   AND project_environments.environment = flag_environments.environment
         WHERE enabled
           AND archived_at IS NULL
         GROUP BY flag_environments.environment
    )
    SELECT json_build_object(
               'version', 1,
               'environments', coalesce(json_agg(json_build_object({FIELDS},
                                                     'projectCount', coalesce(project_counts.number, 0),
                                                     'apiTokenCount', coalesce(key_counts.number, 0),
                                                     'enabledToggleCount', coalesce(flag_counts.number, 0))
                                                 ORDER BY sort_order, name), '[]'))::text
      FROM environments
      LEFT JOIN project_counts ON project_counts.environment = name
      LEFT JOIN key_counts ON key_counts.environment = name
      LEFT JOIN flag_counts ON flag_counts.environment = name
"""


def list_all(conn: Connection) -> str:
    """Return {"version": 1, "environments": [...]} as JSON text: every environment with its counts, in their order."""
    return value(conn, LIST)


GET: LiteralString = f"SELECT ({RECORD})::text FROM environments WHERE name = %(name)s"


def get(conn: Connection, name: str) -> str | None:
    """Return the Environment record as JSON text, or None if it does not exist."""
    return value(conn, GET, {"name": name})


LOCK: LiteralString = f"SELECT {RECORD} FROM environments WHERE name = %(name)s FOR NO KEY UPDATE"


def lock(conn: Connection, name: str) -> dict[str, Any] | None:
    """Lock an environment and return its record, or None if it does not exist."""
    return value(conn, LOCK, {"name": name})


LOCK_MANY: LiteralString = f"""
    SELECT {RECORD} AS record
      FROM environments
     WHERE name = ANY(%(names)s::text[])
     ORDER BY name COLLATE "C"
       FOR NO KEY UPDATE
"""


def lock_many(conn: Connection, names: Sequence[str]) -> list[dict[str, Any]]:
    """Lock environments and return the records of those that exist, by name."""
    return [row["record"] for row in rows(conn, LOCK_MANY, {"names": list(names)})]


HOLD = "SELECT name FROM environments WHERE name = %(name)s FOR KEY SHARE"


def hold(conn: Connection, name: str) -> bool:
    """Return whether an environment exists, and keep it from being deleted."""
    return value(conn, HOLD, {"name": name}) is not None


INSERT: LiteralString = f"""
    INSERT INTO environments (name, type, enabled, sort_order)
    VALUES (%(name)s, %(type)s, %(enabled)s,
            coalesce(%(sort_order)s::integer,
                     (SELECT least(coalesce(max(sort_order), 0), 2147483646) + 1 FROM environments)))
    RETURNING {RECORD}"""


def insert(
    conn: Connection,
    name: str,
    type: str,
    *,
    enabled: bool = True,
    sort_order: int | None = None,
) -> dict[str, Any]:
    """Insert an environment, by default as the last one. Return its record. Raises UniqueViolation for a taken name."""
    return value(conn, INSERT, {"name": name, "type": type, "enabled": enabled, "sort_order": sort_order})


UPDATE: LiteralString = f"""
    UPDATE environments
       SET type = %(type)s,
           enabled = %(enabled)s,
           sort_order = %(sortOrder)s
     WHERE name = %(name)s
    RETURNING {RECORD}"""


def update(conn: Connection, environment: Mapping[str, Any]) -> dict[str, Any]:
    """Set every field of an environment that can change. Return its record."""
    return value(conn, UPDATE, environment)


SET_ORDER = """
    UPDATE environments
       SET sort_order = requested.sort_order
      FROM unnest(%(names)s::text[], %(orders)s::integer[]) AS requested (name, sort_order)
     WHERE environments.name = requested.name
"""


def set_order(conn: Connection, orders: Mapping[str, int]) -> None:
    """Set the positions of environments, by name."""
    run(conn, SET_ORDER, {"names": list(orders), "orders": list(orders.values())})


# A request that adds or moves a flag has its project FOR SHARE, and one that changes a flag has locked it. A deletion
# or copy waits for them. Later requests wait for it, and then find the environments that the project has then.
LOCK_PROJECTS = """
    SELECT
      FROM projects
      JOIN project_environments ON project_id = projects.id
     WHERE environment = %(name)s
     ORDER BY projects.id
       FOR NO KEY UPDATE OF projects
"""

LOCK_FLAGS = """
    SELECT
      FROM flags
      JOIN project_environments USING (project_id)
     WHERE environment = %(name)s
       AND deleted_at IS NULL
     ORDER BY flags.name
       FOR NO KEY UPDATE OF flags
"""

LOCK_WITH_FLAGS: LiteralString = f"SELECT {RECORD} FROM environments WHERE name = %(name)s FOR UPDATE"


def lock_with_flags(conn: Connection, name: str) -> dict[str, Any] | None:
    """Do the same as lock(), also lock its projects, requests and flags, and keep others from referring to it."""
    run(conn, LOCK_PROJECTS, {"name": name})
    change_requests.lock_open(conn, None, name)
    run(conn, LOCK_FLAGS, {"name": name})
    return value(conn, LOCK_WITH_FLAGS, {"name": name})


DELETE = "DELETE FROM environments WHERE name = %(name)s"


def delete(conn: Connection, name: str) -> None:
    """Delete an environment, and what projects, flags, roles and API tokens had there."""
    run(conn, DELETE, {"name": name})
