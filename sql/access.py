"""The caller of a request and their permissions, in one statement."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, LiteralString

from psycopg.rows import DictRow

from sql import locks
from sql.database import Connection, one, rows, run
from sql.people import roles
from sql.projects.visibility import visible_to


def digest(secret: str | bytes) -> bytes:
    """Return the SHA-256 of a secret. Tokens and sessions are stored and looked up by it."""
    return hashlib.sha256(secret.encode() if isinstance(secret, str) else secret).digest()


def authentication(sees_project: LiteralString, protected: LiteralString, projects: LiteralString) -> LiteralString:
    """Return the statement of authenticate(). projects: the SQL of visible and readable.

    Unused parts cost time too, so they are left out. MATERIALIZED: the planner would repeat the expressions of a
    subquery wherever they are used.
    """
    # A user has their root role, the root roles of their groups, and the roles that they or their groups have in the
    # project of the request. Permissions add up. A row of role_permissions without a project or an environment applies
    # to all of them.
    return f"""
    WITH credential AS MATERIALIZED (
        SELECT 'session' AS via, user_id, NULL::integer AS token_id, NULL::timestamptz AS token_expires_at,
               true AS seen_recently, via AS session_via
          FROM sessions
         WHERE digest = %(session)s
           AND expires_at > now()
     UNION ALL
        SELECT 'personal-token', user_id, id, expires_at, seen_at > now() - interval '1 minute', NULL
          FROM personal_tokens
         WHERE digest = %(key)s
           AND expires_at > now()
         LIMIT 1
    ),
    held_roles AS MATERIALIZED (
        SELECT role_id, project_id
          FROM user_roles
         WHERE user_id = (SELECT user_id FROM credential)
           AND (project_id IS NULL OR project_id = %(project)s::text)
    ),
    known AS MATERIALIZED (
        SELECT credential.*,
               coalesce(users.email, users.username) AS name,
               users.username,
               users.email,
               ARRAY(
                    SELECT permission
                      FROM held_roles
                      JOIN role_permissions USING (role_id)
                     WHERE permission = ANY(array_append(%(permissions)s::text[], 'ADMIN'))
                       AND (role_permissions.project_id IS NULL OR role_permissions.project_id = %(project)s::text)
                       AND (environment IS NULL OR environment = %(environment)s::text)) AS held
          FROM credential
          JOIN users ON users.id = credential.user_id
         WHERE users.deleted_at IS NULL
    ),
    caller AS MATERIALIZED (
        SELECT *,
               CASE WHEN NOT is_admin
                     AND NOT EXISTS (
                            SELECT FROM held_roles
                              JOIN roles ON roles.id = held_roles.role_id
                             WHERE roles.id = %(editor)s OR roles.type = 'root-custom')
                    THEN user_id
               END AS viewer
          FROM (SELECT *, 'ADMIN' = ANY(held) AS is_admin FROM known) AS known
    )
    SELECT caller.*,
           NULL AS key_id, NULL AS key_kind,
           held <> '{{}}' AS is_permitted,
           viewer IS NULL AS sees_all,
           {sees_project} AS sees_project,
           {protected} AS protected,
           coalesce(seen_recently, false)
               AND EXISTS (
                   SELECT FROM user_seen_days
                    WHERE user_id = caller.user_id
                      AND day = (now() AT TIME ZONE 'UTC')::date)
               OR current_setting('transaction_read_only')::boolean AS is_marked_seen,
           {projects}
      FROM caller
      LEFT JOIN projects ON projects.id = %(project)s::text
    """


# place: a row of project_environments.
NEEDS_REQUEST = """
    required_approvals IS NOT NULL
    AND NOT EXISTS (
        SELECT FROM held_roles
          JOIN role_permissions AS allowed USING (role_id)
         WHERE allowed.permission IN ('SKIP_CHANGE_REQUEST', 'ADMIN')
           AND coalesce(held_roles.project_id, place.project_id) = place.project_id
           AND coalesce(allowed.project_id, place.project_id) = place.project_id
           AND coalesce(allowed.environment, place.environment) = place.environment)
"""

PROTECTED: LiteralString = f"""
           ARRAY(
                SELECT environment
                  FROM project_environments AS place
                 WHERE project_id = projects.id
                   AND %(environment)s::text IN ('', environment)
                   AND NOT caller.is_admin
                   AND {NEEDS_REQUEST}
                 ORDER BY environment)
"""

PROJECTS: LiteralString = f"""
           CASE WHEN NOT caller.is_admin
                THEN ARRAY(SELECT projects.id FROM projects WHERE {visible_to("caller.viewer")})
           END AS visible,
           ARRAY(
                SELECT projects.id
                  FROM user_roles
                  JOIN role_permissions ON role_permissions.role_id = user_roles.role_id
                  JOIN projects ON (user_roles.project_id IS NULL OR user_roles.project_id = projects.id)
                               AND (role_permissions.project_id IS NULL OR role_permissions.project_id = projects.id)
                 WHERE user_id = caller.user_id
                   AND permission IN ('UPDATE_PROJECT', 'PROJECT_USER_ACCESS_READ')
                   AND environment IS NULL) AS readable
"""

# By whether there is a project, whether protected is wanted, and whether visible and readable are.
STATEMENTS: dict[tuple[bool, bool, bool], LiteralString] = {
    (scoped, protects, lists): authentication(
        f"projects.id IS NOT NULL AND {visible_to('viewer')}" if scoped else "false",
        PROTECTED if protects else "'{}'::text[]",
        PROJECTS if lists else "NULL::text[] AS visible, NULL::text[] AS readable",
    )
    for scoped in (False, True)
    for protects in (False, True)
    for lists in (False, True)
}

# An API token has no roles, so its statement is short. account: its Me record, which saves GET /api/admin/user a second
# statement. Our choice: the user in this record has only the fields that API tokens share with users.
OF_API_KEY = """
    WITH credential AS (
        SELECT *, kind = 'admin' AS is_admin
          FROM api_keys
         WHERE digest = %(key)s
           AND (expires_at IS NULL OR expires_at > now())
    )
    SELECT 'api-token' AS via,
           id AS key_id, kind AS key_kind, name, NULL AS user_id, NULL AS token_expires_at, NULL AS session_via,
           is_admin, is_admin AS is_permitted, is_admin AS sees_all,
           EXISTS (SELECT FROM projects WHERE projects.id = %(project)s) AS sees_project,
           '{}'::text[] AS protected,
           coalesce(seen_at > now() - interval '1 minute', false)
               OR current_setting('transaction_read_only')::boolean AS is_marked_seen,
           json_build_object(
               'user', json_build_object(
                   'id', -42,
                   'isAPI', true,
                   'username', name,
                   'loginAttempts', 0,
                   'seenAt', iso(now()), 'createdAt', iso(created_at),
                   'scimId', NULL),
               'permissions', json_build_array(json_build_object('permission', 'ADMIN')),
               'feedback', json_build_array(),
               'splash', json_build_object())::text AS account
      FROM credential
"""


def authenticate(
    conn: Connection,
    *,
    key: bytes | None,
    session: bytes | None,
    permissions: Sequence[str],
    project: str | None,
    environment: str | None,
    protects: bool = False,
    list_projects: bool = False,
    is_personal: bool = True,
) -> DictRow | None:
    """Return the caller whose token or session has this SHA-256. None: unknown, expired, or of a deleted user.

    is_personal: whether the token can be a personal token. The token is looked up as one first.
    Some columns: is_permitted: whether the caller has one of the permissions, or ADMIN, in the project and environment.
    held: which of the permissions the caller has. sees_project: false also if the project does not exist. protected,
    with protects: in which environments of the project, or whether in this one, the caller needs change requests.
    visible and readable, with list_projects, and None for administrators: the projects that the caller sees, and those
    whose access list the caller can read.
    """
    # Parameters are never NULL, and protects and list_projects are none. Otherwise the planner would simplify the
    # statement for these values, estimate that a custom plan is cheaper, and plan it at each request. That takes three
    # times as long as the rest.
    params: dict[str, Any] = {
        "key": key or b"",
        "session": session or b"",
        "permissions": list(permissions),
        "project": project or "",
        "environment": environment or "",
        "editor": roles.EDITOR,
    }
    found = None
    if session is not None or is_personal:
        found = one(conn, STATEMENTS[project is not None, protects, list_projects], params)
    if found is None and key is not None:
        found = one(conn, OF_API_KEY, params)
    return found


# The same permissions as in authentication(), for one user and one permission, in every project.
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
    """Return the projects in which a user who is not an administrator has a project permission."""
    return {row["id"] for row in rows(conn, PERMITTING, {"user_id": user_id, "permission": permission})}


LIST_PROTECTED: LiteralString = f"""
    WITH held_roles AS (SELECT role_id, project_id FROM user_roles WHERE user_id = %(user_id)s),
    used AS (
        SELECT project_id, environment
          FROM strategy_segments
          JOIN strategies ON strategies.id = strategy_id
          JOIN flags ON flags.id = flag_id
         WHERE segment_id = %(segment)s
    )
    SELECT project_id, environment
      FROM project_environments AS place
     WHERE (project_id = ANY(%(projects)s) OR (project_id, environment) IN (SELECT project_id, environment FROM used))
       AND (%(include_unprotected)s OR {NEEDS_REQUEST})
     ORDER BY project_id, environment
"""


def list_protected(
    conn: Connection,
    user_id: int | None,
    *,
    projects: Iterable[str] = (),
    segment: int | None = None,
    include_unprotected: bool = False,
) -> list[tuple[str, str]]:
    """Return the project and environment of each place of projects, or a segment, with change requests for a user.

    The places of a segment are those with strategies that have it. include_unprotected: also those without them.
    """
    params = {"user_id": user_id, "projects": list(projects), "segment": segment}
    found = rows(conn, LIST_PROTECTED, {**params, "include_unprotected": include_unprotected})
    return [(row["project_id"], row["environment"]) for row in found]


# SKIP LOCKED and pg_try_advisory_xact_lock: if another request of the same user or token is writing the same row, this
# request does not wait for its commit.
MARK_USER_SEEN: LiteralString = f"""
    WITH marked AS (
        UPDATE personal_tokens
           SET seen_at = now()
         WHERE id = (SELECT id FROM personal_tokens WHERE id = %(token_id)s::integer FOR UPDATE SKIP LOCKED)
    )
    INSERT INTO user_seen_days (user_id, day)
    SELECT %(user_id)s, (now() AT TIME ZONE 'UTC')::date
     WHERE pg_try_advisory_xact_lock({locks.USER_SEEN}, %(user_id)s::integer)
    ON CONFLICT DO NOTHING
"""

MARK_KEY_SEEN = """
    UPDATE api_keys
       SET seen_at = now()
     WHERE id = (SELECT id FROM api_keys WHERE id = %(key_id)s FOR UPDATE SKIP LOCKED)
"""


def mark_user_seen(conn: Connection, user_id: int, token_id: int | None = None) -> None:
    """Record that a user was seen today (UTC), and their token now, unless another request is doing so."""
    run(conn, MARK_USER_SEEN, {"user_id": user_id, "token_id": token_id})


def mark_seen(conn: Connection, caller: DictRow) -> None:
    """Record that a caller from authenticate() was seen now: the day for a user, the time for a token."""
    if caller["user_id"] is not None:
        mark_user_seen(conn, caller["user_id"], caller["token_id"])
    if caller["key_id"] is not None:
        run(conn, MARK_KEY_SEEN, {"key_id": caller["key_id"]})
