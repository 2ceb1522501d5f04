"""Former passwords of users, which they cannot use again."""

from psycopg.rows import DictRow

from sql.database import Connection, one, run

# The number of passwords that a user cannot use again, including the present one.
REMEMBERED = 5

FIND = """
    SELECT id, name, username, email, password_hash,
           array_remove(ARRAY[password_hash] || ARRAY(
               SELECT password_hash
                 FROM past_passwords
                WHERE user_id = users.id
                ORDER BY replaced_at DESC
                LIMIT %(past)s), NULL) AS last_hashes
      FROM users
     WHERE id = %(user_id)s
       AND deleted_at IS NULL
"""


def find(conn: Connection, user_id: int) -> DictRow | None:
    """Return id, name, username, email, password_hash and last_hashes (refused passwords) of a user, or None."""
    return one(conn, FIND, {"user_id": user_id, "past": REMEMBERED - 1})


# clock_timestamp(), so that several changes in one transaction have an order too. Passwords that are older than the
# refused ones are deleted.
REPLACE = """
    WITH present AS (
        SELECT id, password_hash
          FROM users
         WHERE id = %(user_id)s
           FOR NO KEY UPDATE
    ),
    remembered AS (
        INSERT INTO past_passwords (user_id, password_hash, replaced_at)
        SELECT id, password_hash, clock_timestamp()
          FROM present
         WHERE password_hash IS NOT NULL
    ),
    forgotten AS (
        DELETE FROM past_passwords
         WHERE user_id = %(user_id)s
           AND replaced_at < (
                SELECT replaced_at
                  FROM past_passwords
                 WHERE user_id = %(user_id)s
                 ORDER BY replaced_at DESC
                OFFSET %(past)s - 2
                 LIMIT 1)
    ),
    voided AS (
        DELETE FROM reset_tokens WHERE user_id = %(user_id)s
    )
    UPDATE users
       SET password_hash = %(password_hash)s
      FROM present
     WHERE users.id = present.id
"""


def replace(conn: Connection, user_id: int, password_hash: str) -> None:
    """Set the password of a user, and remember the former one. The user's link to set a password stops working."""
    run(conn, REPLACE, {"user_id": user_id, "password_hash": password_hash, "past": REMEMBERED - 1})
