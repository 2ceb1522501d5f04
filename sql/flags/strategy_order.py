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
    """The ids of the strategies in their order."""
    return [row["id"] for row in rows(conn, IDS, {"flag_id": flag_id, "environment": environment})]


# No number follows the largest, so the next strategy gets the same number.
ENDS = """
    SELECT flag_id, count(*) AS count, least(max(sort_order)::bigint + 1, 2147483647)::integer AS next
      FROM strategies
     WHERE flag_id = ANY(%(flag_ids)s::bigint[])
       AND environment = %(environment)s
     GROUP BY flag_id
"""


def ends(conn: Connection, flag_ids: Iterable[int], environment: str) -> dict[int, DictRow]:
    """Return, for each flag with strategies there: count, how many; next, the sort order behind the last."""
    return {row["flag_id"]: row for row in rows(conn, ENDS, {"flag_ids": list(flag_ids), "environment": environment})}


CHANGE = """
    UPDATE strategies
       SET sort_order = "sortOrder"
      FROM json_to_recordset(%(order)s::json) AS asked (id text, "sortOrder" integer)
     WHERE strategies.id = asked.id
       AND sort_order <> "sortOrder"
"""


def change(conn: Connection, order: Iterable[Mapping[str, Any]]) -> bool:
    """Give strategies their places, as [{"id", "sortOrder"}]; whether one of them was elsewhere."""
    return run(conn, CHANGE, {"order": as_json(list(order))}) > 0
