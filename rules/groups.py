"""Check the root role and the members of a group."""

from typing import Any

from flask import abort

from sql.database import Connection
from sql.people import root_roles, users


def check_role_and_users(conn: Connection, group: dict[str, Any]) -> None:
    """Lock the root role and the users of a group FOR SHARE. Raise 400 if one of them does not exist."""
    problems = []
    if group["rootRole"] is not None and root_roles.hold(conn, group["rootRole"]) is None:
        problems.append("rootRole: must be the id of a root role")
    unknown = set(group["users"]) - users.hold_many(conn, group["users"])
    if unknown:
        first = ", ".join(map(str, sorted(unknown)[:20]))
        problems.append(f"users: unknown users: {first}")
    if problems:
        abort(400, "; ".join(problems))
