"""The order of a flag's strategies in an environment."""

from collections.abc import Iterable, Mapping
from typing import Any

from psycopg.rows import DictRow

from sql.database import Connection, as_json, rows, run

IDS = """
    SELECT id
      FROM strategies
     WHERE flag_id = %(flag_id)s
       AND environment = %(environment)s
     ORDER BY sort_order, created_at, id
"""


def ids(conn: Connection, flag_id: int, environment: str) -> list[str]:
    """Return the ids of the strategies in their order."""
    return [row["id"] for row in rows(conn, IDS, {"flag_id": flag_id, "environment": environment})]


# If the last strategy has the maximum sort order, a new one gets the same.
ENDS = """
    SELECT flag_id, count(*) AS count, least(max(sort_order)::bigint + 1, 2147483647)::integer AS next
      FROM strategies
     WHERE flag_id = ANY(%(flag_ids)s::bigint[])
       AND environment = %(environment)s
     GROUP BY flag_id
"""


def ends(conn: Connection, flag_ids: Iterable[int], environment: str) -> dict[int, DictRow]:
    """Return count and next of each flag with strategies. next: the sort order of a new last strategy."""
    return {row["flag_id"]: row for row in rows(conn, ENDS, {"flag_ids": list(flag_ids), "environment": environment})}


CHANGE = """
    UPDATE strategies
       SET sort_order = "sortOrder"
      FROM json_to_recordset(%(order)s::json) AS changed (id text, "sortOrder" integer)
     WHERE strategies.id = changed.id
       AND sort_order <> "sortOrder"
"""


def change(conn: Connection, order: Iterable[Mapping[str, Any]]) -> bool:
    """Set the sort orders, given as [{"id", "sortOrder"}]. Return whether one of them changed."""
    return run(conn, CHANGE, {"order": as_json(list(order))}) > 0
