"""Read one change request, the lists of a project, and the search."""

from collections.abc import Mapping, Sequence
from typing import Any, LiteralString

from psycopg.rows import DictRow

from sql.database import Connection, as_json, rows, value
from sql.projects.change_request_records import RECORD, SCHEDULE, person, reviews
from sql.projects.change_request_rights import RIGHTS
from sql.projects.change_requests import IS_OPEN, JOIN_SEGMENTS, MIN_APPROVALS, NOT_HIDDEN, SEGMENT_NAME, TITLE
from sql.projects.visibility import VISIBLE

# The newest 300, as Unleash returns.
LIST: LiteralString = f"""
    SELECT coalesce(json_agg({RECORD} ORDER BY id DESC), '[]')::text
      FROM (SELECT *
              FROM change_requests
             WHERE project_id = %(project)s
               AND {NOT_HIDDEN}
               AND id BETWEEN %(first)s AND %(last)s
               AND ({IS_OPEN} OR NOT %(is_open)s)
               AND coalesce(%(author)s::integer, created_by_user_id) = created_by_user_id
               AND (%(feature)s::text IS NULL OR id IN (
                    SELECT change_request_id FROM change_request_changes WHERE feature_name = %(feature)s))
             ORDER BY id DESC
             LIMIT 300) AS change_requests
"""
ALL = {
    "first": 1,
    "last": 2**31 - 1,
    "is_open": False,
    "author": None,
    "feature": None,
    "conflicts": "{}",
    "defaults": "{}",
    "bases": "false",
}


def list_all(conn: Connection, project: str, user_id: int | None, **filters: Any) -> str:
    """Return the newest change requests of a project that the user can see as JSON text, those that fit the filters.

    is_open: those that can still be applied. author: those of this user. feature: those of this flag.
    """
    return value(conn, LIST, ALL | {"project": project, "user": user_id} | filters)


def get(conn: Connection, project: str, request_id: int, user_id: int | None, **more: Any) -> str | None:
    """Return a change request as JSON text, or None.

    bases: whether changes have theirs. conflicts: texts by the ids of changes. defaults: changes by the names of flags.
    """
    texts = {name: as_json(found) for name, found in more.items()}
    return list_all(conn, project, user_id, first=request_id, last=request_id, **texts)[1:-1] or None


LIST_DRAFTS = """
    SELECT id,
           environment,
           (SELECT count(*) FROM change_request_changes WHERE change_request_id = change_requests.id) AS changes
      FROM change_requests
     WHERE project_id = %(project)s
       AND created_by_user_id = %(user)s
       AND state = 'Draft'
     ORDER BY id DESC
"""


def list_drafts(conn: Connection, project: str, user_id: int) -> list[DictRow]:
    """Return id, environment and number of changes of the drafts of a user in a project."""
    return rows(conn, LIST_DRAFTS, {"project": project, "user": user_id})


COUNT = """
    SELECT json_build_object(
               'total', count(*),
               'applied', count(*) FILTER (WHERE state = 'Applied'),
               'rejected', count(*) FILTER (WHERE state = 'Rejected'),
               'reviewRequired', count(*) FILTER (WHERE state = 'In review'),
               'approved', count(*) FILTER (WHERE state = 'Approved'),
               'scheduled', count(*) FILTER (WHERE state = 'Scheduled'))::text
      FROM change_requests
     WHERE project_id = %(project)s
       AND state <> 'Draft'
"""


def count(conn: Connection, project: str) -> str:
    """Return the numbers of change requests of a project by state as JSON text, without drafts."""
    return value(conn, COUNT, {"project": project})


RIGHTS_THERE: LiteralString = RIGHTS.replace("%(project)s", "there.project_id").replace(
    "%(environment)s", "there.environment"
)
# Materialized: the rights in each place once, not for each request.
ACTIONABLE: LiteralString = f"""
    WITH rights AS MATERIALIZED (
        SELECT there.*, user_id, may_review, may_apply
          FROM (SELECT DISTINCT project_id, environment
                  FROM change_requests
                 WHERE project_id = ANY(%(projects)s)
                   AND state IN ('In review', 'Approved')) AS there
          LEFT JOIN LATERAL ({RIGHTS_THERE}) AS held ON true
    )
    SELECT project_id, array_agg(id) AS ids
      FROM rights
      JOIN change_requests USING (project_id, environment)
     WHERE state = 'Approved' AND coalesce(may_apply, %(is_admin)s)
        OR state = 'In review' AND may_review AND created_by_user_id <> user_id AND NOT EXISTS (
            SELECT FROM change_request_reviews
             WHERE change_request_id = change_requests.id
               AND change_request_reviews.user_id = rights.user_id)
     GROUP BY project_id
"""


def list_actionable(
    conn: Connection, projects: Sequence[str], user_id: int | None, *, is_admin: bool
) -> dict[str, list[int]]:
    """Return the ids of the change requests that wait for the caller, to review or to apply, by their projects."""
    found = rows(conn, ACTIONABLE, {"projects": list(projects), "users": [user_id], "is_admin": is_admin})
    return {row["project_id"]: row["ids"] for row in found}


LIST_OF_FLAG: LiteralString = f"""
    SELECT id, environment, state, {TITLE} AS title, count(*) OVER () AS total
      FROM change_requests
     WHERE project_id = %(project)s
       AND state IN ('In review', 'Approved', 'Scheduled')
       AND id IN (
            SELECT change_request_id
              FROM change_request_changes
              JOIN flags ON flags.id = flag_id
             WHERE feature_name = %(feature)s
               AND deleted_at IS NULL)
     ORDER BY state = 'In review', id
     LIMIT 5
"""


def list_of_flag(conn: Connection, project: str, feature: str) -> list[DictRow]:
    """Return id, environment, state, title and total of the first five sent requests that will change a flag."""
    return rows(conn, LIST_OF_FLAG, {"project": project, "feature": feature})


LIST_SCHEDULED: LiteralString = f"""
    SELECT coalesce(json_agg(json_build_object(
               'id', id, 'environment', environment, 'title', {TITLE}) ORDER BY id), '[]')::text
      FROM change_requests
     WHERE project_id = %(project)s
       AND state = 'Scheduled'
       AND id IN (
            SELECT change_request_id
              FROM change_request_changes
             WHERE feature_name = ANY(%(feature)s)
                OR payload ->> 'id' = ANY(%(strategyId)s) AND feature_name IS NOT NULL
                OR feature_name = ANY(%(variantForFlag)s) AND action = 'patchVariant')
"""


def list_scheduled(conn: Connection, project: str, **wanted: Sequence[str]) -> str:
    """Return the scheduled change requests that change what is wanted, as ScheduledQuery loads it, as JSON text."""
    return value(conn, LIST_SCHEDULED, {"project": project, **wanted})


# The clock asks every 30 s, or a minute after an error. Everything that causes a conflict records an event. What is
# missed while the service is down is found when the request is applied.
LIST_PENDING = """
    WITH recent AS MATERIALIZED (
        SELECT DISTINCT project, feature_name, type LIKE 'segment-%%' AS is_of_segment
          FROM events
         WHERE created_at > now() - interval '2 minutes'
           AND type NOT LIKE 'change-%%'
           AND type NOT LIKE '%%favorited'
    )
    SELECT id, project_id
      FROM change_requests
     WHERE schedule_status = 'pending'
       AND (scheduled_at <= now()) = %(due)s
       AND (%(due)s OR EXISTS (
            SELECT FROM recent
             WHERE recent.feature_name IS NULL AND (is_of_segment OR project = project_id)
                OR EXISTS (
                   SELECT FROM change_request_changes AS changes
                    WHERE change_request_id = change_requests.id AND changes.feature_name = recent.feature_name)))
     ORDER BY scheduled_at, id
"""


def list_pending(conn: Connection, *, due: bool) -> list[DictRow]:
    """Return id and project_id of the scheduled requests whose time has come, or of others with recent changes."""
    return rows(conn, LIST_PENDING, {"due": due})


SEARCH: LiteralString = f"""
    WITH found AS MATERIALIZED (
        SELECT change_requests.*
          FROM change_requests
          JOIN projects ON projects.id = project_id
         WHERE {VISIBLE}
           AND {NOT_HIDDEN}
           AND coalesce(%(project)s::text, project_id) = project_id
           AND (%(feature)s = '' OR change_requests.id IN (
                SELECT change_request_id FROM change_request_changes WHERE feature_name = %(feature)s))
           AND (%(createdBy)s::bigint[] IS NULL OR created_by_user_id = ANY(%(createdBy)s))
           AND coalesce(%(state)s::text = 'IS:open', {IS_OPEN}) = ({IS_OPEN})
    )
    SELECT json_build_object(
               'changeRequests', coalesce(json_agg(json_merge(
                   json_build_object(
                       'id', id,
                       'title', {TITLE},
                       'project', project_id,
                       'environment', environment,
                       'createdBy', {person("created_by_user_id")},
                       'createdAt', iso(created_at),
                       'features', features,
                       'segments', segments,
                       'state', state),
                   CASE WHEN %(project)s::text IS NOT NULL
                        THEN json_build_object('minApprovals', {MIN_APPROVALS}, 'approvals', {reviews("approved")})
                   END,
                   {SCHEDULE}) ORDER BY id DESC), '[]'),
               'total', (SELECT count(*) FROM found))::text
      FROM (SELECT * FROM found ORDER BY id DESC LIMIT %(limit)s OFFSET %(offset)s) AS change_requests
     CROSS JOIN LATERAL (
        SELECT coalesce(json_agg(DISTINCT feature_name) FILTER (WHERE flag_id IS NOT NULL), '[]') AS features,
               coalesce(json_agg(DISTINCT {SEGMENT_NAME}) FILTER (WHERE segment_id IS NOT NULL), '[]') AS segments
          FROM change_request_changes
          {JOIN_SEGMENTS}
         WHERE change_request_id = change_requests.id) AS names
"""


def search(conn: Connection, viewer: int | None, user_id: int | None, query: Mapping[str, Any]) -> str:
    """Return {"changeRequests": [...], "total": n} of the projects that the caller sees as JSON text, newest first.

    query: as ChangeRequestSearch loads it. With a project, these are its requests, with minApprovals and approvals.
    feature: only those that change this flag.
    """
    everything = {"project": None, "feature": "", "createdBy": None}
    return value(conn, SEARCH, everything | {"viewer": viewer, "user": user_id, **query})
