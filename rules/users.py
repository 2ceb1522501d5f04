"""Root roles of users: they exist, and the last administrator keeps theirs."""

from typing import Any

from flask import abort
from psycopg.rows import DictRow

from sql.database import Connection
from sql.people import root_roles


def share_role(conn: Connection, payload: int | str) -> DictRow:
    """Share-lock a root role by its id or name and return id and is_admin; raise 400 if it does not exist."""
    role = root_roles.share(conn, payload)
    if role is None:
        abort(400, "rootRole: must be the id or the name of a root role")
    return role


def refuse_last_administrator(administrators: set[int], user: dict[str, Any]) -> None:
    """Raise 409 if this user is the only administrator."""
    if administrators == {user["id"]}:
        abort(409, "This user is the last administrator. Make another user an administrator first.")
