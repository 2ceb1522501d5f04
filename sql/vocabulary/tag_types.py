"""Types of tags."""

from collections.abc import Mapping, Sequence
from typing import Any, LiteralString

from sql.database import Connection, as_json, rows, run, value

# What the service says when the name of a type of tags is taken.
TAKEN = {"tag_types_pkey": "name: a tag type with this name already exists"}

RECORD: LiteralString = "json_build_object('name', name, 'description', description, 'icon', icon)"

LIST: LiteralString = (
    f"SELECT json_build_object('version', 1, 'tagTypes', (SELECT coalesce(json_agg({RECORD} ORDER BY name), '[]') FROM tag_types))::text"
)


def read(conn: Connection) -> str:
    """{"version": 1, "tagTypes": [...]} as JSON text, by name."""
    return value(conn, LIST)


GET: LiteralString = f"SELECT json_build_object('version', 1, 'tagType', {RECORD})::text FROM tag_types WHERE name = %(name)s"


def get(conn: Connection, name: str) -> str | None:
    """{"version": 1, "tagType": {...}} as JSON text; None: unknown."""
    return value(conn, GET, {"name": name})


LOCK: LiteralString = f"SELECT {RECORD} FROM tag_types WHERE name = %(name)s FOR UPDATE"


def lock(conn: Connection, name: str) -> dict[str, Any] | None:
    """The TagType record, and the type stays as it is until the transaction ends. None: unknown."""
    return value(conn, LOCK, {"name": name})


INSERT: LiteralString = f"""
    INSERT INTO tag_types (name, description, icon)
    VALUES (%(name)s, %(description)s, %(icon)s)
    RETURNING {RECORD}"""


def insert(conn: Connection, name: str, description: str = "", icon: str | None = None) -> dict[str, Any]:
    """The TagType record of the new type. UniqueViolation of tag_types_pkey when there is one of that name."""
    return value(conn, INSERT, {"name": name, "description": description, "icon": icon})


INSERT_MISSING: LiteralString = f"""
    INSERT INTO tag_types (name, description, icon)
    SELECT name, coalesce(description, ''), icon
      FROM json_to_recordset(%(types)s::json) AS new (name text, description text, icon text)
     ORDER BY name
    ON CONFLICT DO NOTHING
    RETURNING {RECORD} AS record"""


def insert_missing(conn: Connection, types: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Insert those of these types that do not exist, and return their TagType records."""
    return [row["record"] for row in rows(conn, INSERT_MISSING, {"types": as_json(types)})]


UPDATE: LiteralString = f"UPDATE tag_types SET description = %(description)s, icon = %(icon)s WHERE name = %(name)s RETURNING {RECORD}"


def update(conn: Connection, tag_type: dict[str, Any]) -> dict[str, Any]:
    """The record of the type of tags, made what this record says."""
    return value(conn, UPDATE, tag_type)


DELETE = "DELETE FROM tag_types WHERE name = %(name)s"


def delete(conn: Connection, name: str) -> None:
    """Remove a type with its tags and their uses."""
    run(conn, DELETE, {"name": name})
