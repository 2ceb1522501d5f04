"""Delete users."""

from sql.database import Connection, rows, run

# The deletion of a project locks the project first, then rows of its members. In the same order, the two cannot
# deadlock.
HOLD_PROJECTS = """
    SELECT
      FROM projects
     WHERE id IN (
            SELECT project_id FROM project_user_roles WHERE user_id = %(user_id)s
         UNION
            SELECT project_id FROM project_favorites WHERE user_id = %(user_id)s
         UNION
            SELECT project_id FROM flag_favorites JOIN flags ON flags.id = flag_id WHERE user_id = %(user_id)s)
     ORDER BY id
       FOR KEY SHARE
"""

# A change of a group locks the group first, then its members.
LOCK_GROUPS = """
    SELECT id
      FROM groups
     WHERE id IN (SELECT group_id FROM group_users WHERE user_id = %(user_id)s)
     ORDER BY id
       FOR NO KEY UPDATE
"""


def lock_groups(conn: Connection, user_id: int) -> set[int]:
    """Lock the groups of a user, whose members will change, and return their ids."""
    return {row["id"] for row in rows(conn, LOCK_GROUPS, {"user_id": user_id})}


GROUPS = "SELECT group_id FROM group_users WHERE user_id = %(user_id)s"


def list_groups(conn: Connection, user_id: int) -> set[int]:
    """Return the ids of the groups of a user."""
    return {row["group_id"] for row in rows(conn, GROUPS, {"user_id": user_id})}


# The row of the user stays for insights, and the past_ tables keep their memberships. SKIP LOCKED: a request with a
# token of the user may have locked the token and wait for this transaction. Such a token no longer authenticates, and
# the next deletion of a user deletes it.
DELETE = """
    WITH sessions AS (
        DELETE FROM sessions WHERE user_id = %(user_id)s
    ),
    tokens AS (
        DELETE FROM personal_tokens
         WHERE id IN (
                SELECT personal_tokens.id
                  FROM personal_tokens
                  JOIN users ON users.id = personal_tokens.user_id
                 WHERE users.id = %(user_id)s
                    OR users.deleted_at IS NOT NULL
                   FOR UPDATE OF personal_tokens SKIP LOCKED)
    ),
    links AS (
        DELETE FROM reset_tokens WHERE user_id = %(user_id)s
    ),
    identities AS (
        DELETE FROM user_identities WHERE user_id = %(user_id)s
    ),
    past_passwords AS (
        DELETE FROM past_passwords WHERE user_id = %(user_id)s
    ),
    project_roles AS (
        DELETE FROM project_user_roles WHERE user_id = %(user_id)s
    ),
    groups AS (
        DELETE FROM group_users WHERE user_id = %(user_id)s
    ),
    favorite_projects AS (
        DELETE FROM project_favorites WHERE user_id = %(user_id)s
    ),
    favorite_flags AS (
        DELETE FROM flag_favorites WHERE user_id = %(user_id)s
    ),
    signup AS (
        DELETE FROM signup_token_users WHERE user_id = %(user_id)s
    )
    UPDATE users
       SET deleted_at = now(), password_hash = NULL
     WHERE id = %(user_id)s
"""


def delete(conn: Connection, user_id: int) -> None:
    """Delete a user with their sessions, tokens, roles, memberships, favorites and link to a signup token."""
    rows(conn, HOLD_PROJECTS, {"user_id": user_id})
    run(conn, DELETE, {"user_id": user_id})
