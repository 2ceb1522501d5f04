"""Roles and what they allow."""

from datetime import datetime

from sql import Connection, run, value

INSERT = """
    INSERT INTO roles (name, type, description, created_at)
    VALUES (%(name)s, %(type)s, %(description)s, coalesce(%(created_at)s::timestamptz, now()))
    RETURNING id
"""


def insert(conn: Connection, name: str, *, type: str = "custom", description: str = "", created_at: datetime | None = None) -> int:
    """The id of the new role, which allows nothing yet. type: root-custom, or custom for a role in projects."""
    return value(conn, INSERT, {"name": name, "type": type, "description": description, "created_at": created_at})


ALLOW = """
    INSERT INTO role_permissions (role_id, permission, project_id, environment)
    VALUES (%(role_id)s, %(permission)s, %(project)s, %(environment)s)
"""


def allow(conn: Connection, role_id: int, permission: str, *, project: str | None = None, environment: str | None = None) -> None:
    """Let a role hold a permission; None: in all projects, in all environments."""
    run(conn, ALLOW, {"role_id": role_id, "permission": permission, "project": project, "environment": environment})


FIND_ROOT = "SELECT id FROM roles WHERE scope = 'root' AND lower(name) = lower(%(name)s)"


def find_root(conn: Connection, name: str) -> int | None:
    """The id of the root role with this name, in any case of letters."""
    return value(conn, FIND_ROOT, {"name": name})
