"""Users: rows for changes, and the record."""

from collections.abc import Collection, Mapping
from typing import Any, LiteralString

from psycopg.rows import DictRow

from sql.database import Connection, one, rows, run, value

# The User record of a row of users, as an SQL expression. Optional fields are omitted.
# Our choice: these fields. imageUrl is a stored URL or omitted, so that no image service receives e-mail addresses.
RECORD: LiteralString = """
    json_merge(
        json_build_object(
            'id', users.id,
            'isAPI', false,
            'name', users.name,
            'username', users.username),
        CASE WHEN users.email IS NOT NULL THEN json_build_object('email', users.email) END,
        CASE WHEN users.image_url IS NOT NULL THEN json_build_object('imageUrl', users.image_url) END,
        json_build_object(
            'loginAttempts', users.login_attempts,
            'emailSent', false,
            'rootRole', users.root_role_id,
            'seenAt', iso(users.seen_at),
            'createdAt', iso(users.created_at),
            'accountType', users.account_type,
            'scimId', users.scim_id))
"""

# The messages of unique violations.
TAKEN = {
    "users_email_key": "email: a user with this email already exists",
    "users_username_key": "username: a user with this user name already exists",
}

GET: LiteralString = f"SELECT ({RECORD})::text FROM users WHERE id = %(id)s AND deleted_at IS NULL"


def get(conn: Connection, user_id: int) -> str | None:
    """Return a user as JSON text, or None for an unknown or deleted user."""
    return value(conn, GET, {"id": user_id})


FIND_FOR_LOGIN = """
    SELECT id, username, email, password_hash,
           EXISTS (SELECT FROM role_permissions WHERE role_id = root_role_id AND permission = 'ADMIN') AS is_admin
      FROM users
     WHERE deleted_at IS NULL
       AND account_type = 'User'
       AND (username = %(login)s::text OR email = %(email)s::text)
"""


ANY_EXISTS = "SELECT EXISTS (SELECT FROM users)"


def any_exists(conn: Connection) -> bool:
    """Return whether the database has a user."""
    return value(conn, ANY_EXISTS)


def find_for_login(conn: Connection, login: str) -> DictRow | None:
    """Return a user by user name (case-sensitive) or e-mail, or None. is_admin: by their own root role."""
    return one(conn, FIND_FOR_LOGIN, {"login": login, "email": login.lower()})


# A user in the form of events, except that event_data() omits nulls.
LOGGED: LiteralString = """
    json_build_object('id', id, 'name', name, 'username', username, 'email', email, 'rootRole', root_role_id)
"""


def event_data(user: Mapping[str, Any]) -> dict[str, Any]:
    """Return a user in the form of events: without the fields that are None."""
    return {key: text for key, text in user.items() if text is not None}


INSERT: LiteralString = f"""
    INSERT INTO users (name, username, email, password_hash, root_role_id, account_type)
    VALUES (%(name)s, %(username)s, %(email)s, %(password_hash)s, %(root_role)s, %(account_type)s)
    RETURNING {LOGGED}
"""


def insert(
    conn: Connection,
    *,
    name: str | None,
    username: str | None,
    email: str | None,
    password_hash: str | None,
    root_role: int,
    account_type: str = "User",
) -> dict[str, Any]:
    """Insert a user. Return id, name, username, email and rootRole. Raises UniqueViolation for a taken name."""
    params = {
        "name": name,
        "username": username,
        "email": email,
        "password_hash": password_hash,
        "root_role": root_role,
        "account_type": account_type,
    }
    return value(conn, INSERT, params)


# The hash must still be the compared one. After a change of the password, the password that was sent is wrong.
LOG_IN: LiteralString = f"""
    UPDATE users
       SET login_attempts = 0,
           password_hash = coalesce(%(new_hash)s, password_hash)
     WHERE id = %(id)s
       AND deleted_at IS NULL
       AND password_hash = %(compared_hash)s
    RETURNING ({RECORD})::text
"""


def log_in(conn: Connection, user_id: int, compared_hash: str, new_hash: str | None) -> str | None:
    """Forget failed logins. Return the user as JSON text, with the previous login as seenAt: a session sets the next.

    None if the user or the password was changed or deleted since. new_hash replaces the stored hash, unless it is None.
    """
    return value(conn, LOG_IN, {"id": user_id, "compared_hash": compared_hash, "new_hash": new_hash})


COUNT_FAILURE = "UPDATE users SET login_attempts = login_attempts + 1 WHERE id = %(id)s"


def count_failed_login(conn: Connection, user_id: int) -> None:
    """Count a failed login."""
    run(conn, COUNT_FAILURE, {"id": user_id})


LIST_ROWS = """
    SELECT users.id,
           username,
           email,
           users.name,
           roles.name AS role,
           iso(seen_at) AS "seenAt",
           login_attempts AS "loginAttempts",
           iso(users.created_at) AS "createdAt"
      FROM users
      JOIN roles ON roles.id = users.root_role_id
     WHERE deleted_at IS NULL
       AND account_type = 'User'
     ORDER BY users.id
"""


def list_rows(conn: Connection) -> list[DictRow]:
    """Return every user except service accounts, oldest first, for the command line."""
    return rows(conn, LIST_ROWS)


LOCK_BY_LOGIN: LiteralString = f"""
    SELECT {LOGGED}
      FROM users
     WHERE deleted_at IS NULL
       AND account_type = %(account_type)s
       AND (username = %(login)s::text OR email = %(email)s::text)
       FOR UPDATE
"""


def lock_by_login(conn: Connection, login: str, account_type: str = "User") -> dict[str, Any] | None:
    """Lock a user by user name (case-sensitive) or e-mail. Return the same as insert(), or None."""
    return value(conn, LOCK_BY_LOGIN, {"login": login, "email": login.lower(), "account_type": account_type})


LOCK: LiteralString = f"""
    SELECT {LOGGED}
      FROM users
     WHERE id = %(id)s
       AND deleted_at IS NULL
       AND account_type = %(account_type)s
       FOR NO KEY UPDATE
"""


def lock(conn: Connection, user_id: int, account_type: str = "User") -> dict[str, Any] | None:
    """Lock a user, or a service account. Return the same as insert(), or None."""
    return value(conn, LOCK, {"id": user_id, "account_type": account_type})


# FOR SHARE: a user who is being deleted gets no membership and no role. ORDER BY: two requests cannot deadlock.
HOLD_MANY = "SELECT id FROM users WHERE id = ANY(%(ids)s::bigint[]) AND deleted_at IS NULL ORDER BY id FOR SHARE"


def hold_many(conn: Connection, ids: Collection[int]) -> set[int]:
    """Return which of these users and service accounts exist, and keep them from being deleted."""
    return {row["id"] for row in rows(conn, HOLD_MANY, {"ids": list(ids)})}


UPDATE: LiteralString = f"""
    UPDATE users
       SET name = %(name)s,
           email = %(email)s,
           root_role_id = %(rootRole)s
     WHERE id = %(id)s
    RETURNING {LOGGED}
"""


def update(conn: Connection, user: Mapping[str, Any]) -> dict[str, Any]:
    """Set name, email and rootRole. Return the same as insert(). Raises UniqueViolation for a taken email."""
    return value(conn, UPDATE, user)


FORGET_FAILURES = "UPDATE users SET login_attempts = 0 WHERE id = %(id)s"


def forget_failed_logins(conn: Connection, user_id: int) -> None:
    """Set the number of failed logins to 0."""
    run(conn, FORGET_FAILURES, {"id": user_id})


COUNT_ADMINS_WHO_CAN_LOG_IN = """
    SELECT count(*)
      FROM users
     WHERE deleted_at IS NULL
       AND account_type = 'User'
       AND (%(by_proxy)s
            OR EXISTS (SELECT FROM user_identities WHERE user_id = users.id AND issuer = %(issuer)s)
            OR password_hash IS NOT NULL
               AND (%(password_login)s = 'on'
                    OR %(password_login)s = 'admins'
                       AND root_role_id IN (SELECT role_id FROM role_permissions WHERE permission = 'ADMIN')))
       AND id IN (
            SELECT user_id
              FROM user_roles
              JOIN role_permissions ON role_permissions.role_id = user_roles.role_id
             WHERE permission = 'ADMIN')
"""


def count_admins_who_can_log_in(conn: Connection, password_login: str, issuer: str | None, *, by_proxy: bool) -> int:
    """Return the number of users with ADMIN, by their own root role or a group, for whom a way to log in is open."""
    params = {"password_login": password_login, "issuer": issuer or "", "by_proxy": by_proxy}
    return value(conn, COUNT_ADMINS_WHO_CAN_LOG_IN, params)
