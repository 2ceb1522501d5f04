"""Where changes of flags need a change request, and change requests."""

from flask import Blueprint, Response

from rules import change_request_states
from rules import change_requests as rules
from rules.access import id_in_path, require, require_user
from serving.etags import IF_SHOWN, content_version, refuse_changed
from serving.operation import operation
from serving.request_data import load, load_one_or_many, load_query
from serving.responses import empty_response, json_response, json_text
from sql.database import connection, transaction
from sql.projects import change_request_lists, change_requests
from sql.projects.environments import lock_link
from validators.projects.change_requests import (
    ChangeRequestComment,
    ChangeRequestSearch,
    ChangeRequestState,
    ChangeRequestTitle,
    ProposedChange,
    ScheduledQuery,
    UpdateChangeRequestEnvironmentConfig,
)

bp = Blueprint("change_requests", __name__)

PROJECT = "/api/admin/projects/<project_id>"
BASE = f"{PROJECT}/change-requests"
ONE = f"{BASE}/<change_request_id>"
REFUSES = (400, 401, 403, 404, 409, 415)


@bp.get(f"{BASE}/config")
@operation(record="changeRequestConfigs", refuses=(401, 403, 404))
def get_project_change_request_config(project_id: str) -> Response:
    """Get the change request configuration of a project.

    Returns for each environment, by position, whether changes need a change request.
    """
    with connection() as conn:
        require(conn, project=project_id)
        body = change_requests.list_config(conn, project_id)
    return json_response(body)


@bp.put(f"{PROJECT}/environments/<environment>/change-requests/config")
@operation(body=UpdateChangeRequestEnvironmentConfig, status=204, refuses=(400, 401, 403, 404, 415), errors=IF_SHOWN)
def update_project_change_request_config(project_id: str, environment: str) -> Response:
    """Switch change requests on or off in an environment of a project.

    While they are on, direct changes of flags there are 403 without the permission SKIP_CHANGE_REQUEST.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_PROJECT", "PROJECT_CHANGE_REQUEST_WRITE", project=project_id)
        place = conn, project_id, environment
        refuse_changed(lambda: content_version(lock_link(*place), "required_approvals"), rules.NO_LINK)
        change = load(UpdateChangeRequestEnvironmentConfig())
        rules.configure(conn, actor, project_id, environment, change)
    return empty_response(204)


@bp.post(f"{PROJECT}/environments/<environment>/change-requests")
@operation(record="changeRequest", body=ProposedChange, refuses=REFUSES)
def add_proposed_changes(project_id: str, environment: str) -> Response:
    """Propose changes of flags and segments in an environment.

    Adds one change, or each of an array, to the caller's draft in the environment. Other users do not see it. A
    change that equals the last one of its flag or segment is not added again, but a strategy can be added twice.
    """
    with transaction() as conn:
        actor, user_id = require_user(conn, project=project_id)
        rules.refuse_outsider(conn, user_id, project_id, environment)
        changes = load_one_or_many(ProposedChange(), rules.MOST_CHANGES)
        draft = rules.add_changes(conn, actor, user_id, project_id, environment, changes)
        body = rules.read_with_conflicts(conn, actor, project_id, draft["id"])
    return json_response(body)


@bp.get(BASE)
@operation(record="changeRequests", refuses=(401, 403, 404))
def list_change_requests(project_id: str) -> Response:
    """List the change requests of a project.

    Returns the newest 300, without conflicts and without drafts of others. The other lists do the same.
    """
    with connection() as conn:
        actor = require(conn, project=project_id)
        body = change_request_lists.list_all(conn, project_id, actor.user_id)
    return json_response(body)


@bp.get(f"{BASE}/pending")
@operation(record="changeRequests", refuses=(401, 403, 404))
def list_own_change_requests(project_id: str) -> Response:
    """List the open change requests of the caller.

    Returns drafts and those that can still be applied.
    """
    with connection() as conn:
        user_id = require(conn, project=project_id).user_id
        body = change_request_lists.list_all(conn, project_id, user_id, is_open=True, author=user_id or 0)
    return json_response(body)


@bp.get(f"{BASE}/pending/<feature_name>")
@operation(record="changeRequests", refuses=(401, 403, 404))
def list_change_requests_of_flag(project_id: str, feature_name: str) -> Response:
    """List the open change requests that change a flag.

    Returns those of all users.
    """
    with connection() as conn:
        actor = require(conn, project=project_id)
        body = change_request_lists.list_all(conn, project_id, actor.user_id, is_open=True, feature=feature_name)
    return json_response(body)


@bp.get(f"{BASE}/count")
@operation(record="changeRequestCount", refuses=(401, 403, 404))
def get_change_request_count(project_id: str) -> Response:
    """Count the change requests of a project by state.

    The total includes cancelled ones, but no drafts.
    """
    with connection() as conn:
        require(conn, project=project_id)
        body = change_request_lists.count(conn, project_id)
    return json_response(body)


@bp.get(f"{BASE}/actionable")
@operation(record="actionableCount", refuses=(401, 403, 404))
def get_actionable_change_request_count(project_id: str) -> Response:
    """Count the change requests that wait for the caller.

    The caller can approve or apply them.
    """
    with connection() as conn:
        actor = require(conn, project=project_id)
        found = change_request_lists.list_actionable(conn, [project_id], actor.user_id, is_admin=actor.is_admin)
    return json_response(json_text({"total": len(found.get(project_id, []))}))


@bp.get(f"{BASE}/scheduled")
@operation(record="scheduledChangeRequests", query=ScheduledQuery, refuses=(400, 401, 403, 404))
def list_scheduled_change_requests(project_id: str) -> Response:
    """List the scheduled change requests that change certain flags.

    Any of the flags, strategies or variants is enough. Without them, the list is empty.
    """
    with connection() as conn:
        require(conn, project=project_id)
        body = change_request_lists.list_scheduled(conn, project_id, **load_query(ScheduledQuery))
    return json_response(body)


@bp.get("/api/admin/search/change-requests")
@operation(record="changeRequestSearch", query=ChangeRequestSearch, refuses=(400, 401, 403))
def search_change_requests() -> Response:
    """Search for change requests in all projects.

    Returns those of projects that the caller can see, newest first, without drafts of others.
    """
    with connection() as conn:
        actor = require(conn)
        body = change_request_lists.search(conn, actor.viewer, actor.user_id, load_query(ChangeRequestSearch))
    return json_response(body)


@bp.get(ONE)
@operation(record="changeRequest", refuses=(400, 401, 403, 404))
def get_change_request(project_id: str, change_request_id: str) -> Response:
    """Get a change request.

    Each change that cannot be applied at present has its conflict.
    """
    with connection() as conn:
        actor = require(conn, project=project_id)
        body = rules.read_with_conflicts(conn, actor, project_id, id_in_path(change_request_id))
    return json_response(body)


@bp.put(f"{ONE}/state")
@operation(record="changeRequest", body=ChangeRequestState, refuses=REFUSES)
def update_change_request_state(project_id: str, change_request_id: str) -> Response:
    """Send a change request to review, approve, reject, schedule, apply, cancel or withdraw it.

    Applying makes all of its changes or none. The author cannot approve.
    """
    with transaction() as conn:
        actor = require(conn, project=project_id)
        request = rules.lock(conn, actor, project_id, change_request_id)
        change_request_states.change_state(conn, actor, request, load(ChangeRequestState()))
        body = rules.read_with_conflicts(conn, actor, project_id, request["id"])
    return json_response(body)


@bp.put(f"{ONE}/title")
@operation(body=ChangeRequestTitle, status=204, refuses=REFUSES, errors=IF_SHOWN)
def update_change_request_title(project_id: str, change_request_id: str) -> Response:
    """Rename a change request.

    Only its author can, while it is open.
    """
    with transaction() as conn:
        actor, _ = require_user(conn, project=project_id)
        request = rules.lock(conn, actor, project_id, change_request_id, "author")
        refuse_changed(lambda: content_version(request["logged"], "id", "title"), None)
        change = load(ChangeRequestTitle())
        rules.refuse_state(request, rules.OPEN, "be renamed")
        change_requests.update(conn, request | change)
    return empty_response(204)


@bp.post(f"{ONE}/comments")
@operation(body=ChangeRequestComment, status=204, refuses=REFUSES)
def add_change_request_comment(project_id: str, change_request_id: str) -> Response:
    """Comment on a change request.

    All who may submit or approve change requests can, while it is open.
    """
    with transaction() as conn:
        actor, user_id = require_user(conn, project=project_id)
        request = rules.lock(conn, actor, project_id, change_request_id, "reader")
        text = load(ChangeRequestComment())["text"]
        rules.refuse_state(request, rules.OPEN, "be commented on")
        change_requests.comment(conn, request["id"], user_id, text)
    return empty_response(204)


@bp.put(f"{ONE}/changes/<change_id>")
@operation(record="changeRequest", body=ProposedChange, refuses=REFUSES)
def update_proposed_change(project_id: str, change_request_id: str, change_id: str) -> Response:
    """Replace a proposed change by another one of the same flag or segment.

    Only the author can. This drops approvals.
    """
    with transaction() as conn:
        actor, _ = require_user(conn, project=project_id)
        request = rules.lock(conn, actor, project_id, change_request_id, "author")
        rules.edit(conn, actor, request, id_in_path(change_id), load(ProposedChange()))
        body = rules.read_with_conflicts(conn, actor, project_id, request["id"])
    return json_response(body)


@bp.delete(f"{ONE}/changes/<change_id>")
@operation(refuses=(400, 401, 403, 404, 409))
def delete_proposed_change(project_id: str, change_request_id: str, change_id: str) -> Response:
    """Delete a proposed change.

    Only the author can. This drops approvals. A change request in review keeps its last change.
    """
    with transaction() as conn:
        actor, _ = require_user(conn, project=project_id)
        request = rules.lock(conn, actor, project_id, change_request_id, "author")
        rules.edit(conn, actor, request, id_in_path(change_id), None)
    return empty_response()


@bp.delete(ONE)
@operation(refuses=(400, 401, 403, 404, 409))
def delete_change_request(project_id: str, change_request_id: str) -> Response:
    """Delete a draft with its changes.

    Cancel change requests in other states instead.
    """
    with transaction() as conn:
        actor, _ = require_user(conn, project=project_id)
        rules.discard(conn, actor, rules.lock(conn, actor, project_id, change_request_id, "author"))
    return empty_response()
