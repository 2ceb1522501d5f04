"""Check changes of the root roles of users: the role must exist, and an administrator must remain."""

from typing import Any

from flask import abort
from psycopg.rows import DictRow

from sql.database import Connection
from sql.people import root_roles


def share_role(conn: Connection, id_or_name: int | str) -> DictRow:
    """Share-lock a root role, and return its id and is_admin. Raise 400 if it does not exist."""
    role = root_roles.share(conn, id_or_name)
    if role is None:
        abort(400, "rootRole: must be the id or the name of a root role")
    return role


def refuse_last_administrator(administrators: set[int], user: dict[str, Any]) -> None:
    """Raise 409 if this user is the only administrator. administrators: ids of users."""
    if administrators == {user["id"]}:
        abort(409, "This user is the last administrator. Make another user an administrator first.")
