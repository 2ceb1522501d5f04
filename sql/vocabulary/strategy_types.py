"""Types of strategies, built in or of one's own."""

from collections.abc import Collection
from typing import Any, LiteralString

from sql.database import Connection, as_json, rows, run, value

# What the service says when the name of a type of strategies is taken.
TAKEN = {"strategy_types_pkey": "name: a strategy type with this name already exists"}

RECORD: LiteralString = """
    json_build_object(
        'name', name,
        'displayName', display_name,
        'title', title,
        'description', description,
        'editable', editable,
        'deprecated', deprecated,
        'parameters', parameters)
"""

LIST: LiteralString = f"""
    SELECT json_build_object('version', 1, 'strategies', coalesce(json_agg({RECORD} ORDER BY sort_order, name), '[]'))::text
      FROM strategy_types
"""


def read(conn: Connection) -> str:
    """{"version": 1, "strategies": [...]} as JSON text: the built-in ones, then one's own by name."""
    return value(conn, LIST)


GET: LiteralString = f"SELECT ({RECORD})::text FROM strategy_types WHERE name = %(name)s"


def get(conn: Connection, name: str) -> str | None:
    """The StrategyType record as JSON text; None: unknown."""
    return value(conn, GET, {"name": name})


LOCK: LiteralString = f"SELECT {RECORD} FROM strategy_types WHERE name = %(name)s FOR UPDATE"


def lock(conn: Connection, name: str) -> dict[str, Any] | None:
    """The record, and no strategy of this type is made until the transaction ends. None: unknown."""
    return value(conn, LOCK, {"name": name})


INSERT: LiteralString = f"""
    INSERT INTO strategy_types (name, title, description, parameters)
    VALUES (%(name)s, %(title)s, %(description)s, %(parameters)s::json)
    RETURNING {RECORD}"""


def insert(conn: Connection, name: str, *, title: str | None, description: str | None, parameters: list[Any]) -> dict[str, Any]:
    """The record of the new type. UniqueViolation of strategy_types_pkey when the name is taken."""
    return value(conn, INSERT, {"name": name, "title": title, "description": description, "parameters": as_json(parameters)})


UPDATE: LiteralString = f"""
    UPDATE strategy_types
       SET title = %(title)s,
           description = %(description)s,
           deprecated = %(deprecated)s,
           parameters = %(parameters)s::json
     WHERE name = %(name)s
    RETURNING {RECORD}"""


def update(conn: Connection, strategy_type: dict[str, Any]) -> dict[str, Any]:
    """The record of the type of strategies, made what this record says."""
    return value(conn, UPDATE, strategy_type | {"parameters": as_json(strategy_type["parameters"])})


COUNT_USES = "SELECT count(*) FROM strategies WHERE name = %(name)s"


def count_uses(conn: Connection, name: str) -> int:
    """How many strategies are of this type, those of archived flags included."""
    return value(conn, COUNT_USES, {"name": name})


DELETE = "DELETE FROM strategy_types WHERE name = %(name)s"


def delete(conn: Connection, name: str) -> None:
    """Remove a type that no strategy is of."""
    run(conn, DELETE, {"name": name})


# KEY SHARE: until the transaction ends, none of these types is deleted.
SHARE_TYPES = "SELECT name, editable FROM strategy_types WHERE name = ANY(%(names)s::text[]) ORDER BY name FOR KEY SHARE"


def share_types(conn: Connection, names: Collection[str]) -> dict[str, bool]:
    """Return those of these types of strategies that exist, with whether they are custom types."""
    return {row["name"]: row["editable"] for row in rows(conn, SHARE_TYPES, {"names": list(names)})}
