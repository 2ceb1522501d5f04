"""Change the role and the password of a user, and delete users. An administrator must remain."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from flask import abort
from psycopg import Rollback
from psycopg.rows import DictRow

from sql import events, sessions
from sql.database import Connection
from sql.events import Author, Event
from sql.people import past_passwords, past_users, root_roles, users

Locked = TypeVar("Locked")
UNKNOWN_USER = "No user has that id."


def hold_role(conn: Connection, id_or_name: int | str) -> DictRow:
    """Lock a root role FOR SHARE, and return its id and is_admin. Raise 400 if it does not exist."""
    role = root_roles.hold(conn, id_or_name)
    if role is None:
        abort(400, "rootRole: must be the id or the name of a root role")
    return role


def refuse_last_administrator(administrators: set[int], user: dict[str, Any]) -> None:
    """Raise 409 if this user is the only administrator. administrators: ids of users."""
    if administrators == {user["id"]}:
        abort(409, "This user is the last administrator. Make another user an administrator first.")


def lock_user(conn: Connection, user_id: int) -> tuple[dict[str, Any], set[int]]:
    """Lock a user and all administrators. Return the user and the administrators' ids, or raise 404."""
    administrators = root_roles.lock_administrators(conn, user_id)
    return users.lock(conn, user_id) or abort(404, UNKNOWN_USER), administrators


def change_user(
    conn: Connection, author: Author, before: dict[str, Any], administrators: set[int], change: Mapping[str, Any]
) -> None:
    """Change a user from lock_user(). Raise 400 for an unknown role, and 409 for the last administrator."""
    role = hold_role(conn, change.get("rootRole", before["rootRole"]))
    if not role["is_admin"]:
        refuse_last_administrator(administrators, before)
    after = users.update(conn, before | dict(change) | {"rootRole": role["id"]})
    events.record_change(
        conn, Event("user-updated", author, data=users.event_data(after), pre_data=users.event_data(before))
    )


def replace_password(conn: Connection, author: Author, user: dict[str, Any], password_hash: str) -> dict[str, Any]:
    """Store a new password of a locked user, end their sessions, and return the user as events do."""
    past_passwords.replace(conn, user["id"], password_hash)
    sessions.delete_of_user(conn, user["id"])
    data = users.event_data(user)
    events.record(conn, Event("user-updated", author, data=data, pre_data=data))
    return data


def lock_with_groups(conn: Connection, user_id: int, lock: Callable[[], Locked]) -> Locked:
    """Lock the groups of a user, then the user with lock(), and return its result. Groups come before their members."""
    while True:
        with conn.transaction() as savepoint:
            locked_groups = past_users.lock_groups(conn, user_id)
            locked = lock()
            if past_users.list_groups(conn, user_id) <= locked_groups:
                return locked
            # A change of a group has added the user meanwhile. Release all locks, and begin again with this group.
            raise Rollback(savepoint)


def remove_user(conn: Connection, author: Author, user_id: int) -> None:
    """Delete a user, and record the event. Raise 404 for an unknown user, and 409 for the last administrator."""
    before, administrators = lock_with_groups(conn, user_id, lambda: lock_user(conn, user_id))
    refuse_last_administrator(administrators, before)
    past_users.delete(conn, before["id"])
    events.record(conn, Event("user-deleted", author, pre_data=users.event_data(before)))
