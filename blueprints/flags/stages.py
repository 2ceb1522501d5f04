"""The lifecycle stages of a flag, and its completion."""

from flask import Blueprint, Response, abort

from rules.access import require
from rules.flags import flag_event, lock_flag
from serving.operation import operation
from serving.request_data import load
from serving.responses import empty_response, json_response
from sql import events
from sql.database import connection, transaction
from sql.flags import stages
from validators.flags.stages import CompleteFlag

bp = Blueprint("flag_stages", __name__)


@bp.get("/api/admin/lifecycle/count")
@operation(record="stageCounts", refuses=(401, 403))
def get_stage_counts() -> Response:
    """Get the number of flags in each lifecycle stage.

    Counts live and archived flags of projects that the caller can see.
    """
    with connection() as conn:
        actor = require(conn)
        body = stages.count(conn, actor.viewer)
    return json_response(body)


@bp.get("/api/admin/projects/<project_id>/features/<feature_name>/lifecycle")
@operation(record="flagStages", refuses=(401, 403, 404))
def list_flag_stages(project_id: str, feature_name: str) -> Response:
    """List the lifecycle stages of a flag.

    Returns the stages that the flag has entered, oldest first. Archived flags have stages too. Reviving a flag begins a
    new lifecycle.
    """
    with connection() as conn:
        require(conn, project=project_id)
        body = stages.list_stages(conn, project_id, feature_name) or abort(404, "This project has no such flag.")
    return json_response(body)


@bp.post("/api/admin/projects/<project_id>/features/<feature_name>/lifecycle/complete")
@operation(record=None, body=CompleteFlag, refuses=(401, 403, 404, 415))
def complete_flag(project_id: str, feature_name: str) -> Response:
    """Complete a flag.

    Its code is kept or discarded, and the flag waits for its removal from the code. Applications get it as before.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_FEATURE", project=project_id)
        completion = load(CompleteFlag())
        flag = lock_flag(conn, project_id, feature_name)
        if stages.complete(conn, flag["id"], **completion):
            data = {key: text for key, text in completion.items() if text is not None}
            data["kept"] = completion["status"] == "kept"
            events.record(conn, flag_event("feature-completed", actor, flag, data=data))
    return empty_response()


@bp.post("/api/admin/projects/<project_id>/features/<feature_name>/lifecycle/uncomplete")
@operation(record=None, refuses=(401, 403, 404))
def uncomplete_flag(project_id: str, feature_name: str) -> Response:
    """Undo the completion of a flag.

    The flag returns to the stage that its usage gives it.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_FEATURE", project=project_id)
        flag = lock_flag(conn, project_id, feature_name)
        if stages.uncomplete(conn, flag["id"]):
            events.record(conn, flag_event("feature-uncompleted", actor, flag))
    return empty_response()
