"""Strategy types, built in or custom."""

from collections.abc import Collection, Mapping
from typing import Any, LiteralString

from psycopg.rows import DictRow

from sql.catalog import strategy_uses
from sql.database import Connection, as_json, rows, run, value

# The message of a unique violation.
TAKEN = {"strategy_types_pkey": "name: a strategy type with this name already exists"}

# The StrategyType record, which events contain too.
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
    SELECT json_build_object('version', 1, 'strategies',
               coalesce(json_agg({RECORD} ORDER BY sort_order, name), '[]'))::text
      FROM strategy_types
"""


def list_all(conn: Connection) -> str:
    """Return {"version": 1, "strategies": [...]} as JSON text: built-in types, then custom types by name."""
    return value(conn, LIST)


GET: LiteralString = f"SELECT ({RECORD})::text FROM strategy_types WHERE name = %(name)s"


def get(conn: Connection, name: str) -> str | None:
    """Return a strategy type as JSON text, or None if it does not exist."""
    return value(conn, GET, {"name": name})


LOCK: LiteralString = f"SELECT {RECORD} FROM strategy_types WHERE name = %(name)s FOR UPDATE"


def lock(conn: Connection, name: str) -> dict[str, Any] | None:
    """Lock a strategy type, so that no strategy of it is added. Return its record, or None if it does not exist."""
    return value(conn, LOCK, {"name": name})


INSERT: LiteralString = f"""
    INSERT INTO strategy_types (name, title, description, deprecated, parameters)
    VALUES (%(name)s, %(title)s, %(description)s, %(deprecated)s, %(parameters)s::json)
    RETURNING {RECORD}
"""


def insert(conn: Connection, strategy_type: Mapping[str, Any]) -> dict[str, Any]:
    """Insert a strategy type and return its record. Raises UniqueViolation if the name is taken."""
    return value(conn, INSERT, {**strategy_type, "parameters": as_json(strategy_type["parameters"])})


UPDATE: LiteralString = f"""
    UPDATE strategy_types
       SET title = %(title)s,
           description = %(description)s,
           deprecated = %(deprecated)s,
           parameters = %(parameters)s::json
     WHERE name = %(name)s
    RETURNING {RECORD}
"""


def update(conn: Connection, strategy_type: Mapping[str, Any]) -> dict[str, Any]:
    """Set every column of a strategy type from this record. Return the record."""
    return value(conn, UPDATE, {**strategy_type, "parameters": as_json(strategy_type["parameters"])})


PLACES: LiteralString = strategy_uses.places(f"""
    SELECT project_id, {strategy_uses.PLACE} AS place
      FROM strategies
      JOIN flags ON flags.id = flag_id
     WHERE strategies.name = %(name)s
""")


def list_places(conn: Connection, name: str, viewer: int | None) -> list[str | None]:
    """Return the flags with strategies of a type, archived ones too, None for those that the viewer does not see."""
    return [row["place"] for row in rows(conn, PLACES, {"name": name, "viewer": viewer})]


DELETE = "DELETE FROM strategy_types WHERE name = %(name)s"


def delete(conn: Connection, name: str) -> None:
    """Delete a strategy type that no strategy uses."""
    run(conn, DELETE, {"name": name})


# KEY SHARE: until the transaction ends, none of these types is deleted.
HOLD_STRATEGY_TYPES = """
    SELECT name, editable, parameters
      FROM strategy_types
     WHERE name = ANY(%(names)s::text[])
     ORDER BY name
       FOR KEY SHARE
"""


def hold_strategy_types(conn: Connection, names: Collection[str]) -> dict[str, DictRow]:
    """Return those of these strategy types that exist, by name, each with editable (it is custom) and parameters."""
    return {row["name"]: row for row in rows(conn, HOLD_STRATEGY_TYPES, {"names": list(names)})}
