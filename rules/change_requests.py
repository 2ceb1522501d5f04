"""Where changes of flags need a change request, who may do what with one, and its changes.

A request is a row of sql/projects/change_requests.py.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from flask import abort
from psycopg.rows import DictRow
from werkzeug.exceptions import BadRequest, Conflict, Forbidden, NotFound

from rules.access import SYSTEM, Actor, id_in_path
from rules.change_request_actions import compare, load_payload, new_change
from rules.projects import hold_project
from sql import events
from sql.database import Connection, as_json
from sql.events import Event
from sql.flags.environments import is_linked
from sql.projects import change_request_lists, change_request_rights, change_requests
from sql.projects import environments as project_environments

NO_LINK = "The project has no such environment."
PROTECTED = "Change requests are on in this environment of the project"


def configure(conn: Connection, actor: Actor, project_id: str, environment: str, change: Mapping[str, Any]) -> None:
    """Switch change requests on or off in an environment of a project, and record the event. 404 without this link.

    change: changeRequestsEnabled and requiredApprovals, which can be omitted. It stays as it is, at first 1.
    """
    link = project_environments.lock_link(conn, project_id, environment)
    if link is None:
        raise NotFound(NO_LINK)
    before = link["required_approvals"]
    kept = 1 if before is None else before
    after = change.get("requiredApprovals", kept) if change["changeRequestsEnabled"] else None
    change_requests.configure(conn, project_id, environment, after)
    columns: Json = {"data": configuration(after), "pre_data": configuration(before)}
    place = {"project_id": project_id, "environment": environment}
    events.record_change(conn, event("change-request-configuration-updated", actor, place, **columns))


# Our choice: protection of an environment ends with an event of its own.
def refuse_protected(link: DictRow) -> None:
    """Raise 409 if change requests are on in an environment of a project. link: from lock_link()."""
    if link["required_approvals"] is not None:
        raise Conflict(f"{PROTECTED}. Switch them off first.")


def configuration(approvals: int | None) -> dict[str, Any]:
    """Return the configuration in the form of events."""
    return {"changeRequestsEnabled": approvals is not None, "requiredApprovals": approvals}


Json = dict[str, Any]
MOST_CHANGES = 100
OPEN = ("Draft", "In review", "Approved", "Scheduled")
EMPTY, UNKNOWN = "A change request needs at least one change.", "No change request has that id."
OFF = "Change requests are off in environment {} of this project."
NO_SCHEDULE = {"scheduled_at": None, "scheduled_by_user_id": None, "schedule_status": None, "schedule_reason": None}
# The parts that users can have in a request, and the messages for those without them.
PARTS = {
    "author": "Only the author can do this, while they may submit change requests in this project.",
    "owner": "Only the author and administrators can do this.",
    "reviewer": "This needs the permission APPROVE_CHANGE_REQUEST. The author and service accounts never review.",
    "applier": "You lack the permission APPLY_CHANGE_REQUEST in this project and environment.",
    "reader": "Only those who may submit or approve change requests in this project can do this.",
}


def parts_of(conn: Connection, actor: Actor, request: DictRow) -> set[str]:
    """Return those of PARTS that the caller has in a request."""
    if actor.user_id is None:
        return {"owner", "applier"}
    may = change_request_rights.get_rights(conn, actor.user_id, request["project_id"], request["environment"])
    is_author = request["created_by_user_id"] == actor.user_id
    parts = {
        "author": is_author and may["may_submit"],
        "owner": is_author or may["is_admin"],
        "reviewer": may["may_review"] and not is_author,
        "applier": may["may_apply"],
        "reader": may["may_submit"] or may["may_review"],
    }
    return {part for part, has_it in parts.items() if has_it}


def lock(conn: Connection, actor: Actor, project: str, id: str, part: str | None = None) -> DictRow:
    """Lock a request. Raise 404 for an unknown one and a draft of another user, and 403 without this part."""
    request = change_requests.lock(conn, project, id_in_path(id), actor.user_id) or abort(404, UNKNOWN)
    require_part(conn, actor, request, part)
    return request


def require_part(conn: Connection, actor: Actor, request: DictRow, part: str | None) -> None:
    """Raise 403 unless the caller has this part in a request."""
    if part and part not in parts_of(conn, actor, request):
        raise Forbidden(PARTS[part])


def refuse_state(request: DictRow, states: Sequence[str], what: str) -> None:
    """Raise 409 unless a request is in one of these states."""
    if request["state"] not in states:
        raise Conflict(f"A change request in state {request['state']} cannot {what}.")


def read_with_conflicts(conn: Connection, actor: Actor, project: str, request_id: int, *, bases: bool = False) -> str:
    """Return a request as JSON text, with the conflicts and default changes of an open one. Raise 404 as lock().

    bases: each change also has its base.
    """
    request = change_requests.find(conn, project, request_id, actor.user_id) or abort(404, UNKNOWN)
    more: Json = {"bases": bases}
    if request["state"] in OPEN:
        changes = change_requests.list_changes(conn, request_id)
        found, defaults = compare(conn, project, request["environment"], changes)
        texts = {change["id"]: text for change, text in zip(changes, found, strict=True) if text}
        more |= {"conflicts": texts, "defaults": {name: {"defaultChange": one} for name, one in defaults.items()}}
    return change_request_lists.get(conn, project, request_id, actor.user_id, **more) or abort(404, UNKNOWN)


def event(type: str, actor: Actor, request: Mapping[str, Any], **columns: Any) -> Event:
    """Return an event in the project and environment of a request."""
    return Event(type, actor, project=request["project_id"], environment=request["environment"], **columns)


def change_event(type: str, actor: Actor, request: DictRow, change: DictRow, data: Any, pre_data: Any = None) -> Event:
    """Return an event of a proposed change."""
    columns = {"feature": change["feature_name"], "tags": change["tags"]}
    return event(type, actor, request, data=data, pre_data=pre_data, **columns)


def enter(
    conn: Connection, actor: Actor, before: DictRow, state: str, type: str, extra: Json | None = None, **columns: Any
) -> DictRow:
    """Bring a request into a state, with these columns, and record the event, if it has a type, with extra data."""
    after = change_requests.update(conn, before | NO_SCHEDULE | columns | {"state": state})
    data = after["logged"] | (extra or {})
    events.record(conn, *[event(type, actor, after, data=data, pre_data=before["logged"])] if type else [])
    return after


def review_again(conn: Connection, actor: Actor, request: DictRow, **columns: Any) -> DictRow:
    """Bring a request into review. It is approved at once if it needs no approvals."""
    sent = enter(conn, actor, request, "In review", "change-request-sent-to-review", **columns)
    return sent if sent["min_approvals"] else enter(conn, SYSTEM, sent, "Approved", "change-request-approved")


def refuse_outsider(conn: Connection, user_id: int, project: str, environment: str) -> None:
    """Raise 403 unless a user may submit change requests in a project."""
    if not change_request_rights.get_rights(conn, user_id, project, environment)["may_submit"]:
        raise Forbidden("Only members of this project can propose changes.")


def add_changes(
    conn: Connection, actor: Actor, user_id: int, project: str, environment: str, changes: Sequence[Mapping[str, Any]]
) -> DictRow:
    """Add changes to the draft of the user in an environment, and return the draft. Raise 400, 404 or 409."""
    # Projects, change requests and flags in this order, like all changes that lock several of them.
    hold_project(conn, project)
    draft = change_requests.lock_draft(conn, project, environment, user_id)
    if draft is None and not is_linked(conn, project, environment):
        raise NotFound(NO_LINK)
    if draft is None:
        raise Conflict(OFF.format(environment))
    known = change_requests.list_changes(conn, draft["id"])
    if len(known) + len(changes) > MOST_CHANGES:
        raise BadRequest(f"A change request can have at most {MOST_CHANGES} changes.")
    added = without_repeats(known, [new_change(conn, actor, project, environment, change) for change in changes])
    refuse_too_large([*known, *added])
    change_requests.insert_changes(conn, draft["id"], added)
    if was_sent(draft):
        new = change_requests.list_changes(conn, draft["id"])[len(known) :]
        events.record(conn, *[change_event("change-added", actor, draft, one, one["logged"]) for one in new])
    return draft


# Our choice: a repeat would change nothing, or fail when it is applied. The same strategy can be added twice.
def without_repeats(known: Sequence[DictRow], added: Sequence[DictRow]) -> list[DictRow]:
    """Return the new changes that differ from the last one of their flag or segment, and those that add a strategy."""
    newest, kept = dict[tuple[Any, ...], Any](), list[DictRow]()
    for number, change in enumerate([*known, *added]):
        subject = change["flag_id"], change["segment_id"]
        content = change["action"], load_payload(change["action"], change["payload"])
        if number >= len(known) and (change["action"] == "addStrategy" or newest.get(subject) != content):
            kept.append(change)
        newest[subject] = content
    return kept


# Our choice: the base counts too, because each change of a flag with many variants has them all.
def refuse_too_large(changes: Sequence[Mapping[str, Any]]) -> None:
    """Raise 400 if the changes of a request are too large together."""
    for part, limit, what in (("payload", 1, "payloads"), ("base", 4, "content that its changes replace")):
        if sum(len(as_json(change[part]).encode()) for change in changes) > limit * 2**20:
            raise BadRequest(f"A change request can have at most {limit} MB of {what}. Split it.")


# Our choice: what a draft contained before it was first sent has no events. After that, each edit has one.
def was_sent(request: DictRow) -> bool:
    """Return whether others have seen a request."""
    return request["min_approvals"] is not None


def edit(conn: Connection, actor: Actor, request: DictRow, change_id: int, body: Mapping[str, Any] | None) -> None:
    """Replace a change by another one of the same flag or segment, or delete it (None). Raise 400, 404 or 409."""
    changes = change_requests.list_changes(conn, request["id"])
    before = next((one for one in changes if one["id"] == change_id), None)
    if before is None:
        raise NotFound("The change request has no such change.")
    refuse_state(request, OPEN[:3], "be edited")
    if body is None:
        if len(changes) == 1 and request["state"] != "Draft":
            raise Conflict(f"{EMPTY} Cancel it instead.")
        change_requests.delete_change(conn, change_id)
        log = change_event("change-discarded", actor, request, before, None, before["logged"])
    else:
        new = new_change(conn, actor, request["project_id"], request["environment"], body)
        if any(new[key] != before[key] for key in ("flag_id", "segment_id")):
            raise BadRequest("feature: must be the flag or segment of the change")
        refuse_too_large([new, *(one for one in changes if one != before)])
        change_requests.update_change(conn, change_id, new)
        after = before["logged"] | {"action": new["action"], "payload": new["payload"]}
        log = change_event("change-edited", actor, request, before, after, before["logged"])
    if was_sent(request):
        events.record(conn, log)
    edited = request | {"revision": request["revision"] + 1}
    if request["state"] == "Draft":
        change_requests.update(conn, edited)
    else:
        # As if it were sent now. Where change requests are off, the number stays.
        needed = edited["min_approvals"] if edited["configured"] is None else edited["configured"]
        review_again(conn, actor, edited, min_approvals=needed)


def discard(conn: Connection, actor: Actor, request: DictRow) -> None:
    """Delete a draft. Raise 409 in another state."""
    refuse_state(request, ("Draft",), "be deleted. Cancel it instead")
    change_requests.delete(conn, request["id"])
    if was_sent(request):
        events.record(conn, event("change-request-discarded", actor, request, pre_data=request["logged"]))
