"""The personal dashboard: the projects and flags of a user, and whom to ask."""

from collections.abc import Sequence
from typing import LiteralString

from sql.database import Connection, value
from sql.events import READABLE, RECORD
from sql.people import roles, user_records
from sql.projects.health import FLAG_COUNTS, HEALTH
from sql.projects.list import OWNER, OWNERS_OF
from sql.projects.overview import OVERVIEW
from sql.projects.visibility import VISIBLE

# Our choice: the 100 newest flags, and the projects of GET /api/admin/user/profile.
GET: LiteralString = f"""
    WITH seen AS (
        SELECT * FROM projects WHERE archived_at IS NULL AND {VISIBLE}
    )
    SELECT json_build_object(
               'projects', (
                   SELECT coalesce(json_agg(json_build_object(
                              'id', id,
                              'name', name,
                              'health', {HEALTH},
                              'technicalDebt', 100 - {HEALTH},
                              'memberCount', (SELECT count(DISTINCT user_id) FROM user_roles WHERE project_id = id),
                              'featureCount', total) ORDER BY name, id), '[]')
                     FROM seen
                    CROSS JOIN LATERAL ({FLAG_COUNTS} AND project_id = seen.id) AS counts
                    WHERE %(is_admin)s OR id IN (SELECT project_id FROM user_roles WHERE user_id = %(user_id)s)),
               'flags', (
                   SELECT coalesce(json_agg(json_build_object('name', name, 'project', project_id, 'type', type)
                                            ORDER BY created_at DESC, name), '[]')
                     FROM (SELECT *
                             FROM flags
                            WHERE archived_at IS NULL
                              AND project_id IN (SELECT id FROM seen)
                              AND (created_by_user_id = %(user_id)s
                                   OR id IN (SELECT flag_id FROM flag_favorites WHERE user_id = %(user_id)s))
                            ORDER BY created_at DESC, name
                            LIMIT 100) AS own),
               'projectOwners', (
                   SELECT coalesce(json_agg({OWNER} ORDER BY id), '[]')
                     FROM users
                    WHERE id IN (SELECT user_id
                                   FROM project_user_roles
                                   JOIN seen ON seen.id = project_id
                                  WHERE role_id = %(owner)s)),
               'admins', (
                   SELECT coalesce(json_agg({user_records.BASE} ORDER BY id), '[]')
                     FROM users
                    WHERE deleted_at IS NULL
                      AND account_type = 'User'
                      AND root_role_id IN (SELECT role_id FROM role_permissions WHERE permission = 'ADMIN')))::text
"""


def get(conn: Connection, user_id: int, viewer: int | None, *, is_admin: bool) -> str:
    """Return the dashboard of a user as JSON text."""
    params = {"user_id": user_id, "viewer": viewer, "is_admin": is_admin, "owner": roles.OWNER}
    return value(conn, GET, params)


# Our choice: as many events as Unleash returns.
PROJECT: LiteralString = f"""{OVERVIEW},
    newest AS (
        SELECT *
          FROM events
         WHERE project = %(project)s
           AND {READABLE}
         ORDER BY created_at DESC, id DESC
         LIMIT 4
    )
    SELECT json_merge(overview.status, json_build_object(
               'latestEvents', (
                   SELECT coalesce(json_agg({RECORD} ORDER BY created_at DESC, id DESC), '[]') FROM newest),
               'owners', ({OWNERS_OF}),
               'roles', (
                   SELECT coalesce(json_agg(json_build_object('id', id, 'name', name, 'type', type) ORDER BY id), '[]')
                     FROM roles
                    WHERE id IN (SELECT role_id
                                   FROM user_roles
                                  WHERE user_id = %(user_id)s
                                    AND project_id = %(project)s)),
               'insights', json_build_object(
                   'avgHealthCurrentWindow', {HEALTH},
                   'avgHealthPastWindow', NULL,
                   'totalFlags', total,
                   'activeFlags', active,
                   'staleFlags', stale,
                   'potentiallyStaleFlags', total - active - stale,
                   'health', {HEALTH},
                   'technicalDebt', 100 - {HEALTH})))::text
      FROM overview, ({FLAG_COUNTS} AND project_id = %(project)s) AS counts
"""


def get_project(conn: Connection, project: str, user_id: int | None, readable: Sequence[str]) -> str:
    """Return what the dashboard says about a project as JSON text, with Event records.

    readable: the projects whose access list the user can read.
    """
    params = {"id": project, "project": project, "user_id": user_id}
    return value(conn, PROJECT, params | {"readable": list(readable), "owner": roles.OWNER})
