"""The states of change requests: the table of transitions, and what each does."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from psycopg.errors import UniqueViolation
from psycopg.rows import DictRow
from werkzeug.exceptions import BadRequest, Conflict, Forbidden

from rules.access import SYSTEM, Actor
from rules.change_request_actions import apply_changes, conflicts, refuse_unpermitted
from rules.change_requests import EMPTY, OFF, OPEN, change_event, enter, event, require_part, review_again, was_sent
from rules.refusals import quantity
from sql import events
from sql.database import Connection
from sql.projects import change_request_lists, change_request_rights, change_requests
from validators.catalog.constraints import utc_text

Body = Mapping[str, Any]
# Of one author in one project. Each costs time as long as it is open: on the pages of its flags, and when they change.
MOST_OPEN = 100


class Transition(NamedTuple):
    """How a request gets into a state. part: who can do it, of PARTS. sources: in which states, of source_of()."""

    part: str
    sources: tuple[str, ...]
    act: Callable[[Connection, Actor, DictRow, Body], object]


def source_of(request: DictRow) -> str:
    """Return the state of a request, or Stopped for a schedule that was suspended or has failed."""
    return "Stopped" if request["schedule_status"] in ("suspended", "failed") else request["state"]


def change_state(conn: Connection, actor: Actor, request: DictRow, body: Body) -> None:
    """Bring a locked request into the state of the body. Raise 400, 403 or 409."""
    transition = TRANSITIONS[body["state"]]
    require_part(conn, actor, request, transition.part)
    if actor.user_id is None and {"comment", "scheduledAt"} & body.keys():
        raise Forbidden("API tokens can neither comment nor schedule. Use a session or a personal access token.")
    if source_of(request) not in transition.sources:
        raise Conflict(f"A change request in state {request['state']} cannot become {body['state']}.")
    if body.get("revision", request["revision"]) != request["revision"]:
        raise Conflict("The change request was edited. Read it again.")
    if "comment" in body:
        change_requests.comment(conn, request["id"], actor.user_id, body["comment"])
    transition.act(conn, actor, request, body)


def send(conn: Connection, actor: Actor, draft: DictRow, _: Body) -> None:
    """Send a draft to review. The configuration of now decides how many approvals it needs."""
    changes = change_requests.list_changes(conn, draft["id"])
    if not changes:
        raise Conflict(EMPTY)
    if draft["configured"] is None:
        raise Conflict(OFF.format(draft["environment"]))
    if not was_sent(draft):
        events.record(conn, event("change-request-created", actor, draft, data=draft["logged"]))
        events.record(conn, *[change_event("change-added", actor, draft, one, one["logged"]) for one in changes])
    others = {"project": draft["project_id"], "createdBy": [actor.user_id], "state": "IS:open", "limit": 0, "offset": 0}
    if json.loads(change_request_lists.search(conn, None, actor.user_id, others))["total"] > MOST_OPEN:
        raise Conflict(f"You have {MOST_OPEN} other open change requests in this project. Cancel some.")
    review_again(conn, actor, draft, min_approvals=draft["configured"])


def withdraw(conn: Connection, actor: Actor, request: DictRow, _: Body) -> None:
    """Make a request a draft again. Approvals are dropped."""
    try:
        enter(conn, actor, request, "Draft", "")
    except UniqueViolation:
        raise Conflict("You have another draft in this environment. Send or delete it first.") from None


def approve(conn: Connection, actor: Actor, request: DictRow, _: Body) -> None:
    """Add an approval. The last one that is needed approves the request."""
    approvals = change_requests.list_approvals(conn, request["id"])
    if actor.user_id in [approval["user_id"] for approval in approvals]:
        raise Conflict("You have already approved this change request.")
    change_requests.review(conn, request["id"], actor.user_id, approved=True)
    data = request["logged"] | {"approvals": len(approvals) + 1}
    events.record(conn, event("change-request-approval-added", actor, request, data=data))
    if request["state"] == "In review" and data["approvals"] >= request["min_approvals"]:
        enter(conn, actor, request, "Approved", "change-request-approved")


def reject(conn: Connection, actor: Actor, request: DictRow, body: Body) -> None:
    """Reject a request for good."""
    change_requests.review(conn, request["id"], actor.user_id, approved=False)
    comment = {"comment": body["comment"]} if "comment" in body else {}
    enter(conn, actor, request, "Rejected", "change-request-rejected", comment)


def cancel(conn: Connection, actor: Actor, request: DictRow, _: Body) -> None:
    """Cancel a request for good."""
    enter(conn, actor, request, "Cancelled", "change-request-cancelled")


def apply(conn: Connection, actor: Actor, request: DictRow, _: Body) -> None:
    """Apply all changes of a request. Raise 409 without enough approvals, and for conflicts."""
    refuse_unapproved(conn, request)
    changes = change_requests.list_changes(conn, request["id"])
    author = replace(actor, change_request_id=request["id"])
    enter(conn, author, request, "Applied", "change-request-applied", {"changes": len(changes)})
    apply_changes(conn, author, request["project_id"], request["environment"], changes)


def refuse_unapproved(conn: Connection, request: DictRow) -> None:
    """Raise 409 unless enough of those who approved a request may still do so."""
    approvals = change_requests.list_approvals(conn, request["id"])
    # Our choice: a number that was raised after the request was sent counts, a lower one does not.
    needed = max(request["min_approvals"], request["configured"] or 0)
    users = [approval["user_id"] for approval in approvals]
    found = change_request_rights.list_rights(conn, users, request["project_id"], request["environment"])
    valid = [may["user_id"] for may in found if may["may_review"]]
    if len(valid) < needed:
        lost = ", ".join(approval["name"] for approval in approvals if approval["user_id"] not in valid)
        need = f"{quantity(needed, 'approval')} {'is' if needed == 1 else 'are'} needed"
        counts = f"{len(valid)} {'counts' if len(valid) == 1 else 'count'}"
        raise Conflict(f"{need}, {counts}{f': {lost} may no longer approve' if lost else ''}.")


def schedule(conn: Connection, actor: Actor, request: DictRow, body: Body) -> None:
    """Schedule a request, or give it another time. Raise 409 if it could not be applied now."""
    time, now = body["scheduledAt"], datetime.now(UTC)
    if not now < time <= now + timedelta(days=366):
        raise BadRequest("scheduledAt: must be in the future, and at most a year from now")
    if reason := conflict_of(conn, request):
        raise Conflict(reason)
    refuse_unapproved(conn, request)
    changes = change_requests.list_changes(conn, request["id"])
    refuse_unpermitted(conn, actor, request["project_id"], request["environment"], changes)
    columns = {"scheduled_at": time, "scheduled_by_user_id": actor.user_id, "schedule_status": "pending"}
    data = {"scheduledAt": utc_text(time.isoformat())}
    enter(conn, actor, request, "Scheduled", "change-request-scheduled", data, **columns)


def conflict_of(conn: Connection, request: DictRow) -> str:
    """Return the conflicts of a request with the present state, or an empty text."""
    changes = change_requests.list_changes(conn, request["id"])
    found = conflicts(conn, request["project_id"], request["environment"], changes)
    return " ".join(dict.fromkeys(filter(None, found)))


REVIEWED = ("Approved", "Scheduled", "Stopped")
REVIEWABLE = ("In review", *REVIEWED)
TRANSITIONS = {
    "In review": Transition("author", ("Draft",), send),
    "Draft": Transition("author", ("In review", "Approved", "Stopped"), withdraw),
    "Approved": Transition("reviewer", REVIEWABLE, approve),
    "Rejected": Transition("reviewer", REVIEWABLE, reject),
    "Cancelled": Transition("owner", (*OPEN, "Stopped"), cancel),
    "Applied": Transition("applier", REVIEWED, apply),
    "Scheduled": Transition("applier", REVIEWED, schedule),
}


def possible_states(request: DictRow, parts: set[str]) -> list[str]:
    """Return the states into which a user with these parts of parts_of() can bring a request."""
    return [state for state, way in TRANSITIONS.items() if way.part in parts and source_of(request) in way.sources]


def cancel_open(conn: Connection, *, project: str | None = None, environment: str | None = None) -> None:
    """Cancel the open requests of a project that is archived, or of an environment that is deleted."""
    for request in change_requests.lock_open(conn, project, environment):
        cancel(conn, SYSTEM, request, {})
