"""Types of flags, and how long flags of each are expected to live."""

from typing import Any, LiteralString

from sql.database import Connection, value

RECORD: LiteralString = "json_build_object('id', id, 'name', name, 'description', description, 'lifetimeDays', lifetime_days)"

LIST: LiteralString = (
    f"SELECT json_build_object('version', 1, 'types', coalesce(json_agg({RECORD} ORDER BY id), '[]'))::text FROM flag_types"
)


def read(conn: Connection) -> str:
    """{"version": 1, "types": [...]} as JSON text, by id."""
    return value(conn, LIST)


LOCK: LiteralString = f"SELECT {RECORD} FROM flag_types WHERE id = %(id)s FOR UPDATE"


def lock(conn: Connection, type_id: str) -> dict[str, Any] | None:
    """The FlagType record, and the type stays as it is until the transaction ends. None: unknown."""
    return value(conn, LOCK, {"id": type_id})


UPDATE: LiteralString = f"UPDATE flag_types SET lifetime_days = %(lifetime)s WHERE id = %(id)s RETURNING {RECORD}"


def set_lifetime(conn: Connection, type_id: str, lifetime: int | None) -> dict[str, Any]:
    """The record of the type with its new lifetime, in days; None: for ever."""
    return value(conn, UPDATE, {"id": type_id, "lifetime": lifetime})
