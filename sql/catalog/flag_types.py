"""Flag types and their lifetimes."""

from collections.abc import Mapping
from typing import Any, LiteralString

from sql.database import Connection, value

RECORD: LiteralString = (
    "json_build_object('id', id, 'name', name, 'description', description, 'lifetimeDays', lifetime_days)"
)

LIST: LiteralString = f"""
    SELECT json_build_object('version', 1, 'types', json_agg({RECORD} ORDER BY array_position(
               ARRAY['release', 'experiment', 'operational', 'kill-switch', 'permission', 'sunset'], id)))::text
      FROM flag_types
"""


def list_all(conn: Connection) -> str:
    """Return {"version": 1, "types": [...]} as JSON text, in the order of the documented interface."""
    return value(conn, LIST)


LOCK: LiteralString = f"SELECT {RECORD} FROM flag_types WHERE id = %(id)s FOR UPDATE"


def lock(conn: Connection, type_id: str) -> dict[str, Any] | None:
    """Lock a flag type and return its record, or None if it does not exist."""
    return value(conn, LOCK, {"id": type_id})


UPDATE: LiteralString = f"UPDATE flag_types SET lifetime_days = %(lifetimeDays)s WHERE id = %(id)s RETURNING {RECORD}"


def update(conn: Connection, flag_type: Mapping[str, Any]) -> dict[str, Any]:
    """Set the lifetime of a flag type in days, None for no limit. Return its record."""
    return value(conn, UPDATE, flag_type)
