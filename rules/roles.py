"""Check changes of roles: which can change, and which permissions they can contain."""

from collections.abc import Sequence
from typing import Any

from flask import abort
from psycopg.rows import DictRow

from rules.refusals import quantity
from sql.database import Connection
from sql.people import permissions, roles

NO_ROLE = "No role has that id."


def lock_custom(conn: Connection, role_id: int, change: dict[str, Any] | None = None) -> dict[str, Any]:
    """Lock a role and return it as events do. Raise 404, 409 if it is predefined, or 400 for another type."""
    role = roles.lock(conn, role_id) or abort(404, NO_ROLE)
    if role["type"] in ("root", "project"):
        abort(409, "A predefined role cannot be changed or deleted.")
    if change and change.get("type", role["type"]) != role["type"]:
        abort(400, f"type: cannot change, and must be {role['type']}")
    return role


def refuse_assigned(holders: dict[str, int]) -> None:
    """Raise 409 if a user, group or signup token has the role. holders: how many of each have it, by their noun."""
    counts = [quantity(number, noun) for noun, number in holders.items() if number]
    if counts:
        text = " and ".join([", ".join(counts[:-1]), counts[-1]] if counts[1:] else counts)
        abort(409, f"The role is assigned to {text}.")


def resolve_permissions(conn: Connection, payload: Sequence[dict], type: str) -> list[tuple[str, str | None]]:
    """Return (name, environment) of each permission, or raise 400. type: the type of the role."""
    ids, names, environments = ([item.get(key) for item in payload] for key in ("id", "name", "environment"))
    resolved = permissions.resolve(conn, ids, names, environments)
    problems = [
        f"permissions.{position}: {problem}"
        for position, permission in enumerate(resolved)
        if (problem := permission_problem(permission, type))
    ]
    if problems:
        abort(400, "; ".join(problems[:20]))
    return [(permission["name"], permission["environment"]) for permission in resolved]


def permission_problem(permission: DictRow, type: str) -> str | None:
    """Return the reason why a role of this type cannot contain a permission, or None if it can."""
    if permission["name"] is None:
        return "must be an existing permission"
    if permission["name"] == "ADMIN":
        return "must not be ADMIN, which only the role Admin has"
    if permission["type"] == "root" and type == "custom":
        return "must not be a root permission in a project role"
    if permission["environment"] is not None and permission["type"] != "environment":
        return "must not name an environment, because the permission does not depend on one"
    return None if permission["has_environment"] else "must be an existing environment"
