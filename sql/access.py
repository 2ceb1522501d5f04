"""Who is asking, and what he may: one statement for both, so that a request pays one round trip for its guard."""

import hashlib
from collections.abc import Sequence
from typing import Any

from psycopg.rows import DictRow

from sql.database import Connection, one, rows, run


def digest(secret: str | bytes) -> bytes:
    """The SHA-256 under which a key, personal token or session is kept."""
    return hashlib.sha256(secret.encode() if isinstance(secret, str) else secret).digest()


# Our choice: which roles see a private project (2 is Editor), and that rights add up.
# Rights come from the user's own root role, the root roles of his groups, and, in the project asked about, the roles that he or a group
# of his holds there. A row of role_permissions with a null project or environment holds in all of them.
AUTHENTICATE = """
    WITH credential AS (
        SELECT 'session' AS via, sessions.user_id, NULL::integer AS key_id, NULL::integer AS token_id,
               NULL::timestamptz AS token_expires_at, true AS seen_lately
          FROM sessions
         WHERE digest = %(session)s
           AND expires_at > now()
     UNION ALL
        SELECT 'personal-token', personal_tokens.user_id, NULL, id, expires_at, seen_at > now() - interval '1 minute'
          FROM personal_tokens
         WHERE digest = %(key)s
           AND expires_at > now()
     UNION ALL
        SELECT 'api-key', NULL, id, NULL, NULL, seen_at > now() - interval '1 minute'
          FROM api_keys
         WHERE digest = %(key)s
           AND (expires_at IS NULL OR expires_at > now())
    ),
    held_roles AS (
        SELECT users.root_role_id AS role_id, NULL AS project_id
          FROM credential
          JOIN users ON users.id = credential.user_id
     UNION ALL
        SELECT groups.root_role_id, NULL
          FROM credential
          JOIN group_users ON group_users.user_id = credential.user_id
          JOIN groups ON groups.id = group_users.group_id
         WHERE groups.root_role_id IS NOT NULL
     UNION ALL
        SELECT role_id, project_id
          FROM credential
          JOIN project_user_roles ON project_user_roles.user_id = credential.user_id
         WHERE project_id = %(project)s::text
     UNION ALL
        SELECT role_id, project_id
          FROM credential
          JOIN group_users ON group_users.user_id = credential.user_id
          JOIN project_group_roles ON project_group_roles.group_id = group_users.group_id
         WHERE project_id = %(project)s::text
    ),
    rights AS (
        SELECT role_permissions.permission
          FROM held_roles
          JOIN role_permissions ON role_permissions.role_id = held_roles.role_id
         WHERE role_permissions.permission = ANY(array_append(%(permissions)s::text[], 'ADMIN'))
           AND (role_permissions.project_id IS NULL OR role_permissions.project_id = %(project)s::text)
           AND (role_permissions.environment IS NULL OR role_permissions.environment = %(environment)s::text)
    ),
    caller AS (
        SELECT credential.*,
               coalesce(api_keys.kind = 'admin', false) OR EXISTS (SELECT FROM rights WHERE permission = 'ADMIN') AS is_admin,
               api_keys.kind AS key_kind,
               coalesce(users.email, users.username, api_keys.name) AS name
          FROM credential
          LEFT JOIN users ON users.id = credential.user_id
          LEFT JOIN api_keys ON api_keys.id = credential.key_id
         WHERE credential.key_id IS NOT NULL
            OR users.deleted_at IS NULL
    )
    SELECT caller.via,
           caller.user_id,
           caller.key_id,
           caller.token_id,
           caller.token_expires_at,
           caller.key_kind,
           caller.name,
           caller.is_admin,
           caller.is_admin OR EXISTS (SELECT FROM rights) AS is_permitted,
           ARRAY(SELECT permission FROM rights) AS held,
           caller.is_admin OR sees_all.yes AS sees_all,
           projects.id IS NOT NULL
               AND (projects.mode <> 'private'
                    OR caller.is_admin
                    OR sees_all.yes
                    OR EXISTS (SELECT FROM held_roles WHERE project_id IS NOT NULL)) AS sees_project,
           coalesce(caller.seen_lately, false)
               AND (caller.user_id IS NULL OR EXISTS (
                   SELECT FROM user_seen_days
                    WHERE user_id = caller.user_id
                      AND day = (now() AT TIME ZONE 'UTC')::date))
               OR current_setting('transaction_read_only')::boolean AS is_marked_seen,
           NULL::text[] AS visible,
           NULL::text[] AS readable
      FROM caller
     CROSS JOIN LATERAL (
        SELECT EXISTS (
            SELECT FROM held_roles
              JOIN roles ON roles.id = held_roles.role_id
             WHERE roles.id = 2 OR roles.type = 'root-custom') AS yes
      ) AS sees_all
      LEFT JOIN projects ON projects.id = %(project)s::text
"""

AUTHENTICATE_AND_LIST = AUTHENTICATE.replace(
    "NULL::text[] AS visible,\n           NULL::text[] AS readable",
    """
           CASE WHEN NOT caller.is_admin THEN ARRAY(
                SELECT id
                  FROM projects
                 WHERE mode <> 'private'
                    OR sees_all.yes
                    OR id IN (SELECT project_id FROM user_roles WHERE user_id = caller.user_id))
           END AS visible,
           ARRAY(
                SELECT projects.id
                  FROM user_roles
                  JOIN role_permissions ON role_permissions.role_id = user_roles.role_id
                  JOIN projects ON (user_roles.project_id IS NULL OR user_roles.project_id = projects.id)
                               AND (role_permissions.project_id IS NULL OR role_permissions.project_id = projects.id)
                 WHERE user_id = caller.user_id
                   AND permission IN ('UPDATE_PROJECT', 'PROJECT_USER_ACCESS_READ')
                   AND environment IS NULL) AS readable""",
)


def authenticate(
    conn: Connection,
    *,
    key: bytes | None,
    session: bytes | None,
    permissions: Sequence[str],
    project: str | None,
    environment: str | None,
    listing: bool = False,
) -> DictRow | None:
    """The caller whose key or session has this SHA-256, with what he may do here; None when it is unknown, expired or his user deleted.

    is_permitted: he holds one of the permissions (or ADMIN) there; held: which, and ADMIN if he does. sees_project: false as well when
    there is no such project. visible, readable: with listing, the projects that a caller who is no administrator may see,
    and those whose access list they may read.
    """
    # Never NULL, nor a switch within the statement: PostgreSQL would leave parts out, believe that planning for these very values pays, and
    # plan each time, which takes three times as long as all else.
    params: dict[str, Any] = {
        "key": key or b"",
        "session": session or b"",
        "permissions": list(permissions),
        "project": project or "",
        "environment": environment or "",
    }
    return one(conn, AUTHENTICATE_AND_LIST if listing else AUTHENTICATE, params)


# Rights as in AUTHENTICATE, of one user and one permission, in every project there is.
PERMITTING = """
    SELECT projects.id
      FROM projects
     WHERE EXISTS (
            SELECT FROM user_roles
              JOIN role_permissions ON role_permissions.role_id = user_roles.role_id
             WHERE user_roles.user_id = %(user_id)s
               AND (user_roles.project_id IS NULL OR user_roles.project_id = projects.id)
               AND role_permissions.permission = %(permission)s
               AND (role_permissions.project_id IS NULL OR role_permissions.project_id = projects.id)
               AND role_permissions.environment IS NULL)
"""


def projects_permitting(conn: Connection, user_id: int, permission: str) -> set[str]:
    """The projects in which a user who does not administer holds a permission of projects."""
    return {row["id"] for row in rows(conn, PERMITTING, {"user_id": user_id, "permission": permission})}


# Another request of the same user, token or key may be remembering it, for as long as its change takes: nobody waits for that either.
MARK_USER_SEEN = """
    WITH marked AS (
        UPDATE personal_tokens
           SET seen_at = now()
         WHERE id = (SELECT id FROM personal_tokens WHERE id = %(token_id)s::integer FOR UPDATE SKIP LOCKED)
    )
    INSERT INTO user_seen_days (user_id, day)
    SELECT %(user_id)s, (now() AT TIME ZONE 'UTC')::date
     WHERE pg_try_advisory_xact_lock(hashtext('seen'), %(user_id)s::integer)
    ON CONFLICT DO NOTHING
"""

MARK_KEY_SEEN = """
    UPDATE api_keys
       SET seen_at = now()
     WHERE id = (SELECT id FROM api_keys WHERE id = %(key_id)s FOR UPDATE SKIP LOCKED)
"""


def mark_user_seen(conn: Connection, user_id: int, token_id: int | None = None) -> None:
    """Remember that the user was here today (UTC), and his token at this instant, unless another request is at it."""
    run(conn, MARK_USER_SEEN, {"user_id": user_id, "token_id": token_id})


def mark_seen(conn: Connection, caller: DictRow) -> None:
    """Remember when the caller of authenticate() was here: a user by the day, a key or personal token by the instant."""
    if caller["user_id"] is not None:
        mark_user_seen(conn, caller["user_id"], caller["token_id"])
    if caller["key_id"] is not None:
        run(conn, MARK_KEY_SEEN, {"key_id": caller["key_id"]})
