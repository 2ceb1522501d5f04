"""Change requests: where changes need one, and what they consist of."""

from collections.abc import Mapping, Sequence
from typing import Any, LiteralString

from psycopg.rows import DictRow

from sql.database import Connection, as_json, one, rows, run, value
from sql.flags.records import TAGS

LIST_CONFIG = """
    SELECT coalesce(json_agg(json_build_object(
               'environment', name,
               'type', type,
               'changeRequestEnabled', required_approvals IS NOT NULL,
               'requiredApprovals', required_approvals) ORDER BY sort_order, name), '[]')::text
      FROM project_environments
      JOIN environments ON name = environment
     WHERE project_id = %(project)s
"""


def list_config(conn: Connection, project: str) -> str:
    """Return the environments of a project with their change request configuration as JSON text, in their order."""
    return value(conn, LIST_CONFIG, {"project": project})


CONFIGURE = """
    UPDATE project_environments
       SET required_approvals = %(approvals)s
     WHERE project_id = %(project)s
       AND environment = %(environment)s
"""


def configure(conn: Connection, project: str, environment: str, approvals: int | None) -> bool:
    """Set how many approvals a change request needs. None switches change requests off. False: no such environment."""
    return run(conn, CONFIGURE, {"project": project, "environment": environment, "approvals": approvals}) > 0


TITLE: LiteralString = "coalesce(nullif(title, ''), 'Change request ' || change_requests.id)"

CONFIGURED: LiteralString = """
    (SELECT required_approvals
       FROM project_environments
      WHERE project_environments.project_id = change_requests.project_id
        AND project_environments.environment = change_requests.environment)
"""
# A draft needs as many approvals as are configured now.
MIN_APPROVALS: LiteralString = f"""
    coalesce(CASE WHEN state <> 'Draft' THEN min_approvals END, {CONFIGURED}, min_approvals, 1)
"""
# Drafts are private.
NOT_HIDDEN: LiteralString = "(state <> 'Draft' OR created_by_user_id = %(user)s::integer)"
IS_OPEN: LiteralString = "state IN ('Draft', 'In review', 'Approved', 'Scheduled')"
# logged: the data of events. scheduler: the name of the user who scheduled the request. configured: how many approvals
# a request needs that is sent to review now, or null where change requests are off.
COLUMNS: LiteralString = f"""
    id, project_id, environment, state, title, min_approvals, revision, created_by_user_id, scheduled_at,
    scheduled_by_user_id, schedule_status, schedule_reason,
    iso(scheduled_at) AS scheduled_for,
    scheduled_at <= now() AS is_due,
    {CONFIGURED} AS configured,
    (SELECT coalesce(email, username) FROM users WHERE users.id = scheduled_by_user_id) AS scheduler,
    json_build_object('id', id, 'title', {TITLE}, 'state', state, 'minApprovals', {MIN_APPROVALS}) AS logged
"""

LOCK_DRAFT: LiteralString = f"""
    INSERT INTO change_requests (project_id, environment, title, created_by_user_id, state_times)
    SELECT project_id, environment, '', %(user)s, json_build_object('Draft', iso(now()))
      FROM project_environments
     WHERE project_id = %(project)s
       AND environment = %(environment)s
       AND required_approvals IS NOT NULL
        ON CONFLICT (project_id, environment, created_by_user_id) WHERE state = 'Draft'
        DO UPDATE SET revision = change_requests.revision + 1
    RETURNING {COLUMNS}
"""


def lock_draft(conn: Connection, project: str, environment: str, user_id: int) -> DictRow | None:
    """Return the locked draft of a user, a new one if there is none. None where change requests are off."""
    return one(conn, LOCK_DRAFT, {"project": project, "environment": environment, "user": user_id})


FIND: LiteralString = f"""
    SELECT {COLUMNS} FROM change_requests WHERE id = %(id)s AND project_id = %(project)s AND {NOT_HIDDEN}
"""
LOCK: LiteralString = f"{FIND} FOR UPDATE"


def find(conn: Connection, project: str, request_id: int, user_id: int | None) -> DictRow | None:
    """Return COLUMNS of a change request that the user can see."""
    return one(conn, FIND, {"id": request_id, "project": project, "user": user_id})


def lock(conn: Connection, project: str, request_id: int, user_id: int | None) -> DictRow | None:
    """Lock a change request that the user can see, and return COLUMNS."""
    return one(conn, LOCK, {"id": request_id, "project": project, "user": user_id})


LOCK_OPEN: LiteralString = f"""
    SELECT {COLUMNS}
      FROM change_requests
     WHERE (project_id = %(project)s OR environment = %(environment)s)
       AND {IS_OPEN}
     ORDER BY id
       FOR UPDATE
"""


def lock_open(conn: Connection, project: str | None, environment: str | None) -> list[DictRow]:
    """Lock all change requests of a project or an environment that can still be applied, and return COLUMNS."""
    return rows(conn, LOCK_OPEN, {"project": project, "environment": environment})


LIST_STOPPED = """
    SELECT id, project_id FROM change_requests WHERE schedule_status IN ('failed', 'suspended') ORDER BY id DESC
"""


def list_stopped(conn: Connection) -> list[DictRow]:
    """Return id and project_id of the change requests whose schedule failed or is suspended, newest first."""
    return rows(conn, LIST_STOPPED)


# Whatever was approved is another request after an edit, and after it was a draft again.
UPDATE: LiteralString = f"""
    WITH dropped AS (
        DELETE FROM change_request_reviews
         USING change_requests
         WHERE change_request_id = %(id)s
           AND id = change_request_id
           AND (revision <> %(revision)s OR %(state)s = 'Draft')
    )
    UPDATE change_requests
       SET state = %(state)s,
           title = %(title)s,
           min_approvals = %(min_approvals)s,
           revision = %(revision)s,
           scheduled_at = %(scheduled_at)s,
           scheduled_by_user_id = %(scheduled_by_user_id)s,
           schedule_status = %(schedule_status)s,
           schedule_reason = %(schedule_reason)s,
           state_times = CASE WHEN state = %(state)s THEN state_times
                              ELSE (state_times::jsonb || jsonb_build_object(%(state)s::text, iso(now())))::json
                         END
     WHERE id = %(id)s
    RETURNING {COLUMNS}
"""


def update(conn: Connection, request: Mapping[str, Any]) -> DictRow:
    """Set every column of a locked change request, and return COLUMNS. An edit drops approvals."""
    return rows(conn, UPDATE, request)[0]


DELETE = "DELETE FROM change_requests WHERE id = %(id)s"


def delete(conn: Connection, request_id: int) -> None:
    """Delete a change request with its changes."""
    run(conn, DELETE, {"id": request_id})


# A segment that was deleted, or moved to another project, has the name of the change, or its id.
SEGMENT_NAME: LiteralString = "coalesce(segments.name, payload ->> 'name', segment_id::text)"
JOIN_SEGMENTS: LiteralString = """
    LEFT JOIN segments ON segments.id = segment_id
                      AND coalesce(segments.project_id, change_requests.project_id) = change_requests.project_id
"""
LIST_CHANGES: LiteralString = f"""
    SELECT change_request_changes.*, {TAGS} AS tags,
           json_build_object('changeRequestId', change_request_id, 'id', change_request_changes.id,
                             'action', action, 'payload', payload,
                             CASE WHEN segment_id IS NULL THEN 'feature' ELSE 'segment' END,
                             coalesce(feature_name, {SEGMENT_NAME})) AS logged
      FROM change_request_changes
      JOIN change_requests ON change_requests.id = change_request_id
      LEFT JOIN flags ON flags.id = change_request_changes.flag_id
                     AND flags.project_id = change_requests.project_id
      {JOIN_SEGMENTS}
     WHERE change_request_id = %(id)s
     ORDER BY change_request_changes.id
"""


def list_changes(conn: Connection, request_id: int) -> list[DictRow]:
    """Return the changes of a change request in their order, with logged, the data of their events."""
    return rows(conn, LIST_CHANGES, {"id": request_id})


INSERT_CHANGES = """
    INSERT INTO change_request_changes (change_request_id, feature_name, flag_id, segment_id, action, payload, base)
    SELECT %(id)s, feature_name, flag_id, segment_id, action, payload, base
      FROM json_to_recordset(%(changes)s::json) AS (
           feature_name text, flag_id bigint, segment_id integer, action text, payload json, base json)
"""


def insert_changes(conn: Connection, request_id: int, changes: Sequence[Mapping[str, Any]]) -> None:
    """Add changes to a change request."""
    run(conn, INSERT_CHANGES, {"id": request_id, "changes": as_json(list(changes))})


UPDATE_CHANGE = """
    UPDATE change_request_changes
       SET (action, payload, base) = (
           SELECT action, payload, base FROM json_to_record(%(change)s::json) AS (action text, payload json, base json))
     WHERE id = %(id)s
"""


def update_change(conn: Connection, change_id: int, change: Mapping[str, Any]) -> None:
    """Replace the action, the payload and the base of a change."""
    run(conn, UPDATE_CHANGE, {"id": change_id, "change": as_json(dict(change))})


DELETE_CHANGE = "DELETE FROM change_request_changes WHERE id = %(id)s"


def delete_change(conn: Connection, change_id: int) -> None:
    """Delete a change."""
    run(conn, DELETE_CHANGE, {"id": change_id})


REVIEW = """
    INSERT INTO change_request_reviews (change_request_id, user_id, approved)
    VALUES (%(id)s, %(user)s, %(approved)s)
        ON CONFLICT ON CONSTRAINT change_request_reviews_pkey
        DO UPDATE SET approved = excluded.approved, created_at = now()
"""


def review(conn: Connection, request_id: int, user_id: int | None, *, approved: bool) -> None:
    """Note that a user approves or rejects a change request."""
    run(conn, REVIEW, {"id": request_id, "user": user_id, "approved": approved})


COMMENT = "INSERT INTO change_request_comments (change_request_id, user_id, text) VALUES (%(id)s, %(user)s, %(text)s)"


def comment(conn: Connection, request_id: int, user_id: int | None, text: str) -> None:
    """Add a comment to a change request."""
    run(conn, COMMENT, {"id": request_id, "user": user_id, "text": text})


LIST_APPROVALS = """
    SELECT user_id, coalesce(email, username) AS name
      FROM change_request_reviews
      JOIN users ON users.id = user_id
     WHERE change_request_id = %(id)s
       AND approved
     ORDER BY change_request_reviews.created_at, user_id
"""


def list_approvals(conn: Connection, request_id: int) -> list[DictRow]:
    """Return user_id and name of those who approved a change request."""
    return rows(conn, LIST_APPROVALS, {"id": request_id})
