"""Environments of the instance."""

from collections.abc import Mapping, Sequence
from typing import Any, LiteralString

from psycopg.rows import DictRow

from sql.database import Connection, one, rows, run, value

# What the service says when a unique index refuses an environment.
TAKEN = {"environments_pkey": "name: an environment with this name already exists"}

# The Environment record, as columns of a row: what the log says is the same.
RECORD: LiteralString = 'name, type, enabled, protected, sort_order AS "sortOrder"'

# Each count is made once for all environments, not once for each. Flags count that are live, and projects too.
# Our choice: hidden ones as well, for everybody.
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
    ),
    entries AS (
        SELECT {RECORD},
               coalesce(project_counts.number, 0) AS "projectCount",
               coalesce(key_counts.number, 0) AS "apiTokenCount",
               coalesce(flag_counts.number, 0) AS "enabledToggleCount"
          FROM environments
          LEFT JOIN project_counts ON project_counts.environment = name
          LEFT JOIN key_counts ON key_counts.environment = name
          LEFT JOIN flag_counts ON flag_counts.environment = name
    )
    SELECT json_build_object(
        'version', 1,
        'environments', coalesce(json_agg(entries ORDER BY "sortOrder", name), '[]'))::text
      FROM entries
"""


def read(conn: Connection) -> str:
    """{"version": 1, "environments": [...]} as JSON text: all of them with their counts, in their order."""
    return value(conn, LIST)


GET: LiteralString = f"SELECT row_to_json(entry)::text FROM (SELECT {RECORD} FROM environments WHERE name = %(name)s) AS entry"


def get(conn: Connection, name: str) -> str | None:
    """The Environment record as JSON text; None: unknown."""
    return value(conn, GET, {"name": name})


LOCK: LiteralString = f"SELECT {RECORD} FROM environments WHERE name = %(name)s FOR NO KEY UPDATE"


def lock(conn: Connection, name: str) -> DictRow | None:
    """name, type, enabled, protected and sortOrder of an environment that is to be changed; None: unknown."""
    return one(conn, LOCK, {"name": name})


LOCK_MANY: LiteralString = (
    f"""SELECT {RECORD} FROM environments WHERE name = ANY(%(names)s::text[]) ORDER BY name COLLATE "C" FOR NO KEY UPDATE"""
)


def lock_many(conn: Connection, names: Sequence[str]) -> list[DictRow]:
    """The same of those of these environments that exist, by name."""
    return rows(conn, LOCK_MANY, {"names": list(names)})


HOLD = "SELECT name FROM environments WHERE name = %(name)s FOR KEY SHARE"


def hold(conn: Connection, name: str) -> str | None:
    """The name of an environment, which is not deleted until the transaction ends; None: unknown."""
    return value(conn, HOLD, {"name": name})


INSERT: LiteralString = f"""
    INSERT INTO environments (name, type, enabled, sort_order)
    VALUES (%(name)s, %(type)s, %(enabled)s,
            coalesce(%(sort_order)s::integer, (SELECT least(coalesce(max(sort_order), 0), 2147483646) + 1 FROM environments)))
    RETURNING {RECORD}"""


def insert(
    conn: Connection,
    name: str,
    type: str,
    *,
    enabled: bool = True,
    sort_order: int | None = None,
) -> DictRow | None:
    """The new environment as lock() gives it, linked to no project; sort_order None: behind the last.

    UniqueViolation of environments_pkey: it is there.
    """
    return one(conn, INSERT, {"name": name, "type": type, "enabled": enabled, "sort_order": sort_order})


UPDATE: LiteralString = f"""
    UPDATE environments
       SET type = %(type)s,
           enabled = %(enabled)s,
           sort_order = %(sortOrder)s
     WHERE name = %(name)s
    RETURNING {RECORD}"""


def update(conn: Connection, environment: Mapping[str, Any]) -> DictRow | None:
    """Make an environment as lock() gave it, with some of it changed; so it is then."""
    return one(conn, UPDATE, environment)


SET_ORDER = """
    UPDATE environments
       SET sort_order = asked.sort_order
      FROM unnest(%(names)s::text[], %(orders)s::integer[]) AS asked (name, sort_order)
     WHERE environments.name = asked.name
"""


def set_order(conn: Connection, orders: Mapping[str, int]) -> None:
    """Give environments their positions, by name."""
    run(conn, SET_ORDER, {"names": list(orders), "orders": list(orders.values())})


# Who makes a flag, or moves one, holds its project; who changes one holds that. They are waited for, and whoever comes later finds that the
# project has one environment less.
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

LOCK_FOR_DELETION: LiteralString = f"SELECT {RECORD} FROM environments WHERE name = %(name)s FOR UPDATE"


def lock_for_deletion(conn: Connection, name: str) -> DictRow | None:
    """The same as lock(), and nobody refers to the environment anew until the transaction ends."""
    run(conn, LOCK_PROJECTS, {"name": name})
    run(conn, LOCK_FLAGS, {"name": name})
    return one(conn, LOCK_FOR_DELETION, {"name": name})


DELETE = "DELETE FROM environments WHERE name = %(name)s"


def delete(conn: Connection, name: str) -> None:
    """End an environment: what projects, flags, roles and API keys had there goes with it."""
    run(conn, DELETE, {"name": name})
