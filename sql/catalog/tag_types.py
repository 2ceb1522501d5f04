"""Tag types."""

from collections.abc import Mapping, Sequence
from typing import Any, LiteralString

from sql.database import Connection, as_json, rows, run, value

# The message of a unique violation.
TAKEN = {"tag_types_pkey": "name: a tag type with this name already exists"}

# The TagType record, which events contain too.
RECORD: LiteralString = "json_build_object('name', name, 'description', description, 'icon', icon)"

LIST: LiteralString = f"""
    SELECT json_build_object('version', 1, 'tagTypes',
               coalesce(json_agg({RECORD} ORDER BY name), '[]'))::text
      FROM tag_types
"""


def list_all(conn: Connection) -> str:
    """Return {"version": 1, "tagTypes": [...]} as JSON text, by name."""
    return value(conn, LIST)


GET: LiteralString = (
    f"SELECT json_build_object('version', 1, 'tagType', {RECORD})::text FROM tag_types WHERE name = %(name)s"
)


def get(conn: Connection, name: str) -> str | None:
    """Return {"version": 1, "tagType": {...}} as JSON text, or None if it does not exist."""
    return value(conn, GET, {"name": name})


LOCK: LiteralString = f"SELECT {RECORD} FROM tag_types WHERE name = %(name)s FOR UPDATE"


def lock(conn: Connection, name: str) -> dict[str, Any] | None:
    """Lock a tag type and return its record, or None if it does not exist."""
    return value(conn, LOCK, {"name": name})


INSERT: LiteralString = f"""
    INSERT INTO tag_types (name, description, icon)
    VALUES (%(name)s, %(description)s, %(icon)s)
    RETURNING {RECORD}
"""


def insert(conn: Connection, name: str, description: str = "", icon: str | None = None) -> dict[str, Any]:
    """Insert a tag type and return its record. Raises UniqueViolation of tag_types_pkey if the name is taken."""
    return value(conn, INSERT, {"name": name, "description": description, "icon": icon})


INSERT_MISSING: LiteralString = f"""
    INSERT INTO tag_types (name, description, icon)
    SELECT name, coalesce(description, ''), icon
      FROM json_to_recordset(%(types)s::json) AS new (name text, description text, icon text)
     ORDER BY name
    ON CONFLICT DO NOTHING
    RETURNING {RECORD} AS record
"""


def insert_missing(conn: Connection, types: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Insert those of these types that do not exist, and return their TagType records."""
    return [row["record"] for row in rows(conn, INSERT_MISSING, {"types": as_json(types)})]


UPDATE: LiteralString = f"""
    UPDATE tag_types
       SET description = coalesce(%(description)s::text, ''),
           icon = %(icon)s
     WHERE name = %(name)s
    RETURNING {RECORD}
"""


def update(conn: Connection, tag_type: Mapping[str, Any]) -> dict[str, Any]:
    """Set every column of a tag type from this record. Return the record."""
    return value(conn, UPDATE, tag_type)


DELETE = "DELETE FROM tag_types WHERE name = %(name)s"


def delete(conn: Connection, name: str) -> None:
    """Delete a tag type and its tags, from all flags too."""
    run(conn, DELETE, {"name": name})
