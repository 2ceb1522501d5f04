"""The list of projects."""

from typing import Any, LiteralString

from psycopg.rows import DictRow

from sql.database import Connection, rows, value
from sql.people import roles
from sql.projects.health import ACTIVE, HEALTH
from sql.projects.visibility import VISIBLE

# The record of a user who owns a project.
OWNER: LiteralString = """
    json_build_object('ownerType', 'user', 'name', coalesce(users.name, username, email), 'email', email,
                      'imageUrl', image_url)
"""

# The owners of each project that has some, the earliest first.
OWNERS: LiteralString = f"""
    SELECT project_id, json_agg(owner ORDER BY since, owner_type DESC, id) AS list
      FROM (SELECT project_id,
                   project_user_roles.created_at AS since,
                   'user' AS owner_type,
                   users.id,
                   {OWNER} AS owner
              FROM project_user_roles
              JOIN users ON users.id = user_id
             WHERE role_id = %(owner)s
         UNION ALL
            SELECT project_id, project_group_roles.created_at, 'group', groups.id,
                   json_build_object('ownerType', 'group', 'name', groups.name)
              FROM project_group_roles
              JOIN groups ON groups.id = group_id
             WHERE role_id = %(owner)s) AS each_owner
     GROUP BY project_id
"""

NO_OWNERS: LiteralString = '[{"ownerType" : "system"}]'

# The newest event and the newest usage of a project are one index probe each, whatever the size of the log.
# Our choice: usage of a project is usage of flags that was reported while they were in the project.
LIST: LiteralString = f"""
    WITH seen AS (
        SELECT *
          FROM projects
         WHERE (archived_at IS NOT NULL) = %(archived)s
           AND {VISIBLE}
    ),
    flag_counts AS (
        SELECT project_id, count(*) AS total, count(*) FILTER (WHERE {ACTIVE}) AS active
          FROM flags
          JOIN flag_types ON flag_types.id = flags.type
         WHERE archived_at IS NULL
         GROUP BY project_id
    ),
    members AS (
        SELECT project_id, count(DISTINCT user_id) AS number
          FROM (SELECT project_id, user_id FROM project_user_roles
             UNION ALL
                SELECT project_id, user_id FROM project_group_roles JOIN group_users USING (group_id)) AS roles
         GROUP BY project_id
    ),
    owners AS (
        {OWNERS}
    ),
    items AS (
        SELECT name,
               id,
               json_merge(
                   json_build_object('id', id, 'name', name),
                   -- Omitted if null: a client written in Go fails on null.
                   CASE WHEN description IS NOT NULL THEN json_build_object('description', description) END,
                   json_build_object(
                       'mode', mode,
                       'health', (
                           SELECT {HEALTH}
                             FROM (SELECT coalesce(flag_counts.total, 0) AS total, flag_counts.active) AS counted),
                       'featureCount', coalesce(flag_counts.total, 0),
                       'memberCount', coalesce(members.number, 0),
                       'createdAt', iso(created_at),
                       'archivedAt', iso(archived_at),
                       'lastUpdatedAt', iso(newest_event.at),
                       'lastReportedFlagUsage', iso(newest_usage.hour),
                       'favorite', EXISTS (
                           SELECT FROM project_favorites WHERE project_id = seen.id AND user_id = %(user_id)s::integer),
                       'owners', coalesce(owners.list, '{NO_OWNERS}'))) AS item
          FROM seen
          LEFT JOIN flag_counts ON flag_counts.project_id = seen.id
          LEFT JOIN members ON members.project_id = seen.id
          LEFT JOIN owners ON owners.project_id = seen.id
          LEFT JOIN LATERAL (
            SELECT events.created_at AS at
              FROM events
             WHERE project = seen.id
             ORDER BY events.created_at DESC, events.id DESC
             LIMIT 1) AS newest_event ON true
          LEFT JOIN LATERAL (
            SELECT hour
              FROM usage_metrics
             WHERE project_id = seen.id
             ORDER BY hour DESC
             LIMIT 1) AS newest_usage ON true
    )
    SELECT json_build_object('version', 1, 'projects', coalesce(json_agg(item ORDER BY name, id), '[]'))::text
      FROM items
"""


def list_all(conn: Connection, *, archived: bool, viewer: int | None, user_id: int | None) -> str:
    """Return the archived or the live projects that the viewer sees as JSON text, with the favorites of a user."""
    params = {"archived": archived, "viewer": viewer, "user_id": user_id, "owner": roles.OWNER}
    return value(conn, LIST, params)


NAMES: LiteralString = f"SELECT id, name FROM projects WHERE archived_at IS NULL AND {VISIBLE} ORDER BY name, id"


def list_names(conn: Connection, viewer: int | None) -> list[DictRow]:
    """Return id and name of each live project that the viewer sees, by name."""
    return rows(conn, NAMES, {"viewer": viewer})


def names_by_id(conn: Connection, viewer: int | None) -> dict[str, str]:
    """Return what list_names() returns as names by id."""
    return {row["id"]: row["name"] for row in list_names(conn, viewer)}


SIZES: LiteralString = f"""
    SELECT id,
           name,
           (SELECT count(*) FROM flags WHERE project_id = projects.id AND archived_at IS NULL) AS flags
      FROM projects
     WHERE archived_at IS NULL
       AND {VISIBLE}
     ORDER BY name, id
"""


def list_sizes(conn: Connection, viewer: int | None) -> list[DictRow]:
    """Return what list_names() returns, with the number of live flags of each project."""
    return rows(conn, SIZES, {"viewer": viewer})


OWNERS_OF: LiteralString = f"""
    SELECT coalesce((SELECT list FROM ({OWNERS}) AS owners WHERE project_id = %(project)s), '{NO_OWNERS}')
"""


def owners_of(conn: Connection, project: str) -> list[dict[str, Any]]:
    """Return the owners of a project as the list of projects has them."""
    return value(conn, OWNERS_OF, {"project": project, "owner": roles.OWNER})


LIST_ROWS = """
    SELECT id,
           name,
           mode,
           (SELECT count(*) FROM flags WHERE project_id = projects.id AND archived_at IS NULL) AS flags,
           iso(created_at) AS "createdAt"
      FROM projects
     WHERE archived_at IS NULL
     ORDER BY id COLLATE "C"
"""


def list_rows(conn: Connection) -> list[DictRow]:
    """Return every live project by id, for the command line."""
    return rows(conn, LIST_ROWS)
