"""Roles for tests: creates them, and reads their permissions."""

from typing import Any

from sql.database import Connection, rows
from tests.support.world import Caller

PATH = "/api/admin/roles"
PREDEFINED = {1: "Admin", 2: "Editor", 3: "Viewer", 4: "Owner", 5: "Member"}


def make(caller: Caller, name: str = "Auditor", **fields: Any) -> int:
    """The id of a role made over HTTP."""
    answer = caller.post(PATH, json={"name": name} | fields)
    assert answer.status_code == 200, answer.text
    return answer.json["roles"]["id"]


def allowed(conn: Connection, role_id: int) -> list[tuple[str, str | None]]:
    """What the table says that a role allows: names and environments."""
    found = rows(
        conn, "SELECT * FROM role_permissions WHERE role_id = %(id)s ORDER BY permission, environment", {"id": role_id}
    )
    assert {row["project_id"] for row in found} <= {None}
    return [(row["permission"], row["environment"]) for row in found]
