"""Accounts at an identity provider that belong to users, and what a login with one changes."""

from collections.abc import Collection
from typing import Any, LiteralString

from psycopg.rows import DictRow

from sql.database import Connection, one, rows, run, value
from sql.people import users

# The user of the identity comes before the user with the e-mail address.
FIND: LiteralString = f"""
    SELECT {users.LOGGED} AS "user", subject = %(subject)s::text AS is_linked
      FROM users
      LEFT JOIN user_identities ON user_id = id AND issuer = %(issuer)s::text
     WHERE deleted_at IS NULL
       AND account_type = 'User'
       AND (subject = %(subject)s::text OR email = %(email)s::text OR username = %(username)s::text)
     ORDER BY is_linked DESC NULLS LAST
     LIMIT 1
"""


def find(conn: Connection, issuer: str, subject: str, email: str | None, username: str | None) -> DictRow | None:
    """Return the user of an identity or with one of these names, as events do, and whether the identity is linked."""
    return one(conn, FIND, {"issuer": issuer, "subject": subject, "email": email, "username": username})


# The messages of unique violations.
TAKEN = {
    "user_identities_pkey": "subject: a user has this identity already",
    "user_identities_user_key": "user: has an identity of this issuer already; unlink it first",
}

INSERT = "INSERT INTO user_identities (user_id, issuer, subject) VALUES (%(user_id)s, %(issuer)s, %(subject)s)"


def insert(conn: Connection, user_id: int, issuer: str, subject: str) -> None:
    """Link a user to an identity. Raises UniqueViolation if one of them is linked already."""
    run(conn, INSERT, {"user_id": user_id, "issuer": issuer, "subject": subject})


DELETE_OF_USER = "DELETE FROM user_identities WHERE user_id = %(user_id)s RETURNING issuer"


def delete_of_user(conn: Connection, user_id: int) -> list[str]:
    """Delete all identities of a user, and return their issuers."""
    return [row["issuer"] for row in rows(conn, DELETE_OF_USER, {"user_id": user_id})]


# A change of a group locks the group first, then its members. ORDER BY: two logins cannot deadlock. ON CONFLICT: others
# may make the same change during the wait for a lock.
SET_MEMBERSHIPS = """
    WITH changed AS MATERIALIZED (
        SELECT id, name, mappings_sso && %(claimed)s::text[] AS joins
          FROM groups
         WHERE mappings_sso <> '{}'
           AND (mappings_sso && %(claimed)s::text[]) <> EXISTS (
                SELECT FROM group_users WHERE group_id = groups.id AND user_id = %(user_id)s)
         ORDER BY id
           FOR NO KEY UPDATE
    ),
    joined AS (
        INSERT INTO group_users (group_id, user_id, created_by)
        SELECT id, %(user_id)s, 'system' FROM changed WHERE joins
        ON CONFLICT DO NOTHING
        RETURNING group_id
    ),
    left_groups AS (
        DELETE FROM group_users
         USING changed
         WHERE group_id = id
           AND user_id = %(user_id)s
           AND NOT joins
        RETURNING group_id
    )
    SELECT id, name, joins
      FROM changed
     WHERE id IN (SELECT group_id FROM joined UNION ALL SELECT group_id FROM left_groups)
     ORDER BY id
"""


def set_memberships(conn: Connection, user_id: int, claimed: Collection[str]) -> list[DictRow]:
    """Make a user a member of exactly the groups with mappings to these external groups.

    Groups without mappings do not change. Return id, name and joins of the groups that the user joins or leaves. Call
    this before the user is locked.
    """
    return rows(conn, SET_MEMBERSHIPS, {"user_id": user_id, "claimed": list(claimed)})


LOG_IN: LiteralString = f"""
    UPDATE users
       SET login_attempts = 0,
           name = coalesce(%(name)s, name)
     WHERE id = %(id)s
       AND deleted_at IS NULL
    RETURNING {users.LOGGED}
"""


def log_in(conn: Connection, user_id: int, name: str | None) -> dict[str, Any] | None:
    """Forget failed logins, and set the name unless it is None. Return the user as events do, or None if deleted."""
    return value(conn, LOG_IN, {"id": user_id, "name": name})
