"""What constraints and strategies refer to: context fields with their legal values, segments, types of strategies."""

from collections.abc import Sequence

from sql.database import Connection, rows, value

FIELDS = """
    SELECT name, ARRAY(SELECT legal ->> 'value' FROM json_array_elements(legal_values) AS legal) AS legal_values
      FROM context_fields
     WHERE name = ANY(%(names)s::text[])
"""


def legal_values(conn: Connection, names: Sequence[str]) -> dict[str, set[str]]:
    """Return the legal values of each of these context fields that exists. An empty set: all values are legal."""
    return {row["name"]: set(row["legal_values"]) for row in rows(conn, FIELDS, {"names": list(names)})}


# Held until the end of the transaction: a segment that is being deleted or moved to another project is not given to a strategy meanwhile.
USABLE_SEGMENTS = """
    SELECT id
      FROM segments
     WHERE id = ANY(%(ids)s::bigint[])
       AND (project_id IS NULL OR project_id = %(project)s)
     ORDER BY id
       FOR SHARE
"""


def usable_segments(conn: Connection, ids: Sequence[int], project: str) -> set[int]:
    """Those of these segments that strategies of the project can use: they exist, and are of all projects or of this one."""
    return {row["id"] for row in rows(conn, USABLE_SEGMENTS, {"ids": list(ids), "project": project})}


# Held until the end of the transaction: a type that is being deleted is not given to a strategy meanwhile.
HOLD_TYPE = "SELECT name FROM strategy_types WHERE name = %(name)s FOR KEY SHARE"


def is_strategy_type(conn: Connection, name: str) -> bool:
    """Whether there is such a type of strategy."""
    return value(conn, HOLD_TYPE, {"name": name}) is not None
