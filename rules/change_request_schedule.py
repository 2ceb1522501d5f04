"""Apply scheduled change requests at their time, and suspend those with conflicts."""

from psycopg.rows import DictRow
from werkzeug.exceptions import Forbidden, HTTPException

from rules.access import SYSTEM, Actor
from rules.change_request_states import apply, conflict_of
from rules.change_requests import event
from sql import events
from sql.database import Connection, transaction_or_savepoint
from sql.projects import change_request_rights, change_requests


def keep_schedule(conn: Connection, project: str, request_id: int) -> None:
    """Apply a pending request if its time has come, or suspend it if it has conflicts."""
    request = change_requests.lock(conn, project, request_id, None)
    if request is None or request["schedule_status"] != "pending":
        return
    if request["is_due"]:
        apply_or_note(conn, request)
    elif reason := conflict_of(conn, request):
        note(conn, SYSTEM, request, "change-request-schedule-suspended", "suspended", reason)


def apply_or_note(conn: Connection, request: DictRow) -> None:
    """Apply a request as the user who scheduled it, or note why that is refused."""
    user_id = request["scheduled_by_user_id"]
    may = change_request_rights.get_rights(conn, user_id, request["project_id"], request["environment"])
    actor = Actor(request["scheduler"], user_id, may["is_admin"], may["is_admin"])
    try:
        with transaction_or_savepoint(conn):
            if not may["may_apply"]:
                raise Forbidden(f"{actor.name} may no longer apply change requests here.")
            apply(conn, actor, request, {})
            data = request["logged"] | {"state": "Applied", "scheduledAt": request["scheduled_for"]}
            success = event("change-request-scheduled-application-success", actor, request, data=data)
            events.record(conn, success)
    except HTTPException as refusal:
        type = "change-request-scheduled-application-failure"
        note(conn, actor, request, type, "failed", refusal.description or "")


def note(conn: Connection, actor: Actor, request: DictRow, type: str, status: str, reason: str) -> None:
    """Give the schedule of a request another status, and record the event."""
    change_requests.update(conn, request | {"schedule_status": status, "schedule_reason": reason})
    data = request["logged"] | {"scheduledAt": request["scheduled_for"], "reason": reason}
    events.record(conn, event(type, actor, request, data=data))
