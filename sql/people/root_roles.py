"""Root roles, and the users whose own root role makes them administrators."""

from typing import LiteralString

from psycopg.rows import DictRow

from sql.database import Connection, one, rows, value
from sql.people import roles

# The Role records of all root roles, as a JSON array.
RECORDS: LiteralString = (
    f"(SELECT coalesce(json_agg({roles.RECORD} ORDER BY roles.id), '[]') FROM roles WHERE scope = 'root')"
)

# FOR KEY SHARE: the role cannot be deleted before a user has it.
HOLD = """
    SELECT id,
           EXISTS (SELECT FROM role_permissions WHERE role_id = roles.id AND permission = 'ADMIN') AS is_admin
      FROM roles
     WHERE scope = 'root'
       AND (id = %(id)s::numeric OR lower(name) = lower(%(name)s::text))
       FOR KEY SHARE
"""


def hold(conn: Connection, key: int | str) -> DictRow | None:
    """Return id and is_admin of the root role with this id or name, or None. Keep it from being deleted."""
    return one(conn, HOLD, {"id": key if isinstance(key, int) else None, "name": key if isinstance(key, str) else None})


FIND_ID = "SELECT id FROM roles WHERE scope = 'root' AND lower(name) = lower(%(name)s)"


def find_id(conn: Connection, name: str) -> int | None:
    """Return the id of the root role with this name, or None."""
    return value(conn, FIND_ID, {"name": name})


# Our choice: an administrator is a user whose own root role has ADMIN, with or without a password. Groups do not count,
# because they can change at any time. All rows are locked in one order: of two requests that remove administrators, the
# second waits here and then sees what the first has left.
LOCK_ADMINISTRATORS = """
    WITH administrator_roles AS (
        SELECT role_id FROM role_permissions WHERE permission = 'ADMIN'
    )
    SELECT id,
           root_role_id IN (SELECT role_id FROM administrator_roles) AS administers
      FROM users
     WHERE deleted_at IS NULL
       AND account_type = 'User'
       AND (root_role_id IN (SELECT role_id FROM administrator_roles) OR id = %(user_id)s)
     ORDER BY id
       FOR NO KEY UPDATE OF users
"""


def lock_administrators(conn: Connection, user_id: int) -> set[int]:
    """Lock a user and all administrators. Return the ids of the administrators."""
    return {row["id"] for row in rows(conn, LOCK_ADMINISTRATORS, {"user_id": user_id}) if row["administers"]}
