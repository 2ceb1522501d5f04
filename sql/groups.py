"""Groups of users."""

from collections.abc import Sequence
from datetime import datetime

from sql import Connection, run, value

INSERT = """
    INSERT INTO groups (name, description, root_role_id, mappings_sso, created_by, created_at)
    VALUES (%(name)s, %(description)s, %(root_role)s, %(mappings_sso)s, %(created_by)s, coalesce(%(created_at)s::timestamptz, now()))
    RETURNING id
"""


def insert(
    conn: Connection,
    name: str,
    *,
    description: str | None = None,
    root_role: int | None = None,
    mappings_sso: Sequence[str] = (),
    created_by: str | None = None,
    created_at: datetime | None = None,
) -> int:
    """The id of the new group, which is empty. UniqueViolation of groups_name_key when the name is taken."""
    params = {
        "name": name,
        "description": description,
        "root_role": root_role,
        "mappings_sso": list(mappings_sso),
        "created_by": created_by,
        "created_at": created_at,
    }
    return value(conn, INSERT, params)


ADD_USER = """
    INSERT INTO group_users (group_id, user_id, created_by, created_at)
    VALUES (%(group_id)s, %(user_id)s, %(created_by)s, coalesce(%(created_at)s::timestamptz, now()))
"""


def add_user(conn: Connection, group_id: int, user_id: int, *, created_by: str | None = None, created_at: datetime | None = None) -> None:
    """Make a user a member of a group."""
    run(conn, ADD_USER, {"group_id": group_id, "user_id": user_id, "created_by": created_by, "created_at": created_at})


ADD_PAST_USER = """
    INSERT INTO past_group_users (group_id, user_id, started_at, ended_at)
    VALUES (%(group_id)s, %(user_id)s, %(since)s, %(until)s)
"""


def add_past_user(conn: Connection, group_id: int, user_id: int, *, since: datetime, until: datetime) -> None:
    """Remember a membership that has ended."""
    run(conn, ADD_PAST_USER, {"group_id": group_id, "user_id": user_id, "since": since, "until": until})


REMOVE_USER = "DELETE FROM group_users WHERE group_id = %(group_id)s AND user_id = %(user_id)s"


def remove_user(conn: Connection, group_id: int, user_id: int) -> None:
    """End a membership; that it was there is kept."""
    run(conn, REMOVE_USER, {"group_id": group_id, "user_id": user_id})
