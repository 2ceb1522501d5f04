"""Banners, which all users see at the top of the pages."""

from collections.abc import Mapping
from typing import Any, LiteralString

from sql.database import Connection, value

RECORD: LiteralString = """
    json_build_object(
        'id', id,
        'message', message,
        'enabled', enabled,
        'variant', variant,
        'sticky', sticky,
        'icon', icon,
        'link', link,
        'linkText', link_text,
        'dialogTitle', dialog_title,
        'dialog', dialog,
        'createdAt', iso(created_at))
"""

LIST: LiteralString = f"""
    SELECT json_build_object('banners', coalesce(json_agg({RECORD} ORDER BY id DESC), '[]'))::text FROM banners
"""


def list_all(conn: Connection) -> str:
    """Return {"banners": [...]} as JSON text, newest first."""
    return value(conn, LIST)


LOCK: LiteralString = f"SELECT {RECORD} FROM banners WHERE id = %(id)s FOR UPDATE"


def lock(conn: Connection, banner_id: int) -> dict[str, Any] | None:
    """Lock a banner and return its record, or None if it does not exist."""
    return value(conn, LOCK, {"id": banner_id})


COLUMNS: LiteralString = "message, enabled, variant, sticky, icon, link, link_text, dialog_title, dialog"
VALUES: LiteralString = """
    %(message)s, %(enabled)s, %(variant)s, %(sticky)s, %(icon)s, %(link)s, %(linkText)s, %(dialogTitle)s, %(dialog)s
"""
INSERT: LiteralString = f"""
    INSERT INTO banners ({COLUMNS})
    SELECT {VALUES} WHERE (SELECT count(*) FROM banners) < %(most)s RETURNING {RECORD}
"""


def insert(conn: Connection, banner: Mapping[str, Any], most: int) -> dict[str, Any] | None:
    """Insert a banner and return its record, or None if there are most already."""
    return value(conn, INSERT, {**banner, "most": most})


UPDATE: LiteralString = f"UPDATE banners SET ({COLUMNS}) = ({VALUES}) WHERE id = %(id)s RETURNING {RECORD}"


def update(conn: Connection, banner: Mapping[str, Any]) -> dict[str, Any]:
    """Set every column of a banner from this record, and return it."""
    return value(conn, UPDATE, banner)


DELETE: LiteralString = f"DELETE FROM banners WHERE id = %(id)s RETURNING {RECORD}"


def delete(conn: Connection, banner_id: int) -> dict[str, Any] | None:
    """Delete a banner and return its record, or None if it does not exist."""
    return value(conn, DELETE, {"id": banner_id})
