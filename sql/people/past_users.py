"""Delete users."""

from sql.database import Connection, rows, run

# Deleting a project holds the project first, then deletes rows of its members. Held in the same order here, the two cannot deadlock.
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

# What is his goes; his row stays for past insights, and the past_ tables remember where he was a member. A request with one of his tokens
# may hold that token's row and wait for this very transaction: such a token is passed over, opens nothing, and goes with the next deletion.
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
    """The user is deleted now: his sessions, tokens, roles, memberships, favourites and the link to his signup token go with him."""
    rows(conn, HOLD_PROJECTS, {"user_id": user_id})
    run(conn, DELETE, {"user_id": user_id})
