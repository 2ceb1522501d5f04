"""Root roles: which there are to give to a user, and who administers."""

from typing import LiteralString

from psycopg.rows import DictRow

from sql.database import Connection, one, rows
from sql.people import roles

# The Role records of all of them, as a JSON array.
RECORDS: LiteralString = f"(SELECT coalesce(json_agg({roles.RECORD} ORDER BY roles.id), '[]') FROM roles WHERE scope = 'root')"

# KEY SHARE: a role that is being given to somebody is not deleted meanwhile.
SHARE = """
    SELECT id,
           EXISTS (SELECT FROM role_permissions WHERE role_id = roles.id AND permission = 'ADMIN') AS is_admin
      FROM roles
     WHERE scope = 'root'
       AND (id = %(id)s::numeric OR lower(name) = lower(%(name)s::text))
       FOR KEY SHARE
"""


def share(conn: Connection, asked: int | str) -> DictRow | None:
    """id and is_admin of the root role with this id or name, in any case of letters; None: there is none. It stays until the end."""
    return one(conn, SHARE, {"id": asked if isinstance(asked, int) else None, "name": asked if isinstance(asked, str) else None})


# Our choice: who administers by his own root role counts, with or without a password. A group can be changed at any time.
# All in one order, that user among them: two who take rights away wait for each other here, and the second sees what the first has left.
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
    """The ids of the users whose own root role is Admin. They and this user stay as they are until the transaction ends."""
    return {row["id"] for row in rows(conn, LOCK_ADMINISTRATORS, {"user_id": user_id}) if row["administers"]}
