"""Create roles for tests, and read their permissions."""

from typing import Any

from sql.database import Connection, rows
from tests.support.world import Caller

PATH = "/api/admin/roles"
PREDEFINED = {1: "Admin", 2: "Editor", 3: "Viewer", 4: "Owner", 5: "Member"}


def make(caller: Caller, name: str = "Auditor", **fields: Any) -> int:
    answer = caller.post(PATH, json={"name": name} | fields)
    assert answer.status_code == 200, answer.text
    return answer.json["roles"]["id"]


def allowed(conn: Connection, role_id: int) -> list[tuple[str, str | None]]:
    """Return the stored permissions of a role: names and environments."""
    found = rows(
        conn, "SELECT * FROM role_permissions WHERE role_id = %(id)s ORDER BY permission, environment", {"id": role_id}
    )
    assert {row["project_id"] for row in found} <= {None}
    return [(row["permission"], row["environment"]) for row in found]
