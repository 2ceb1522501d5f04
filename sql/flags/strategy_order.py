"""The order of a flag's strategies in an environment."""

from collections.abc import Iterable, Mapping
from typing import Any

from psycopg.rows import DictRow

from sql.database import Connection, as_json, one, rows, run

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


# At the end of the numbers there is no place behind the last.
PLACE = """
    SELECT count(*) AS taken, least(coalesce(max(sort_order)::bigint + 1, 0), 2147483647)::integer AS next
      FROM strategies
     WHERE flag_id = %(flag_id)s
       AND environment = %(environment)s
"""


def place(conn: Connection, flag_id: int, environment: str) -> DictRow:
    """taken: how many strategies the flag has there; next: the sort order behind the last."""
    found = one(conn, PLACE, {"flag_id": flag_id, "environment": environment})
    assert found is not None
    return found


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
