"""Archive, revive and delete projects."""

from flask import Blueprint, Response

from rules.access import require
from rules.change_request_states import cancel_open
from rules.instance_limits import refuse_excess
from rules.projects import lock_project, lock_without_live_flags
from rules.refusals import Refusal
from serving.etags import refuse_changed
from serving.operation import operation
from serving.responses import empty_response
from sql import events
from sql.database import transaction
from sql.events import Event
from sql.flags import lifecycle as flag_lifecycle
from sql.projects import core as projects
from sql.projects import deletion as project_deletion

bp = Blueprint("project_lifecycle", __name__)


@bp.post("/api/admin/projects/archive/<project_id>")
@operation(refuses=(401, 403, 404, 409))
def archive_project(project_id: str) -> Response:
    """Archive a project.

    All flags of the project must be archived. An archived project can be read. Flags and environments cannot be
    added to it until it is revived.
    """
    with transaction() as conn:
        actor = require(conn, "DELETE_PROJECT", project=project_id)
        before = lock_without_live_flags(conn, project_id)
        cancel_open(conn, project=project_id)
        if before["archived_at"] is None:
            projects.archive(conn, project_id)
            events.record(conn, Event("project-archived", actor, project=project_id))
    return empty_response()


@bp.post("/api/admin/projects/revive/<project_id>")
@operation(
    refuses=(400, 401, 403, 404),
    errors={
        400: Refusal(
            "The maximum number of live projects is reached.",
            "There can be at most 500 live projects in this instance. The setting MAX_PROJECTS raises this limit.",
        )
    },
)
def revive_project(project_id: str) -> Response:
    """Revive an archived project.

    The flags of the project stay archived. Revive them separately.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_PROJECT", project=project_id)
        before = lock_project(conn, project_id)
        if before["archived_at"] is not None:
            refuse_excess(conn, "MAX_PROJECTS", "live project")
            projects.revive(conn, project_id)
            events.record(conn, Event("project-revived", actor, project=project_id))
    return empty_response()


@bp.delete("/api/admin/projects/<project_id>")
@operation(refuses=(401, 403, 404, 409, 412))
def delete_project(project_id: str) -> Response:
    """Delete a project.

    All flags of the project must be archived. Also deletes the archived flags, the segments and the API tokens of the
    project, and all roles in it. An API token for several projects stays valid for the others.
    """
    with transaction() as conn:
        actor = require(conn, "DELETE_PROJECT", project=project_id)
        refuse_changed(lambda: lock_project(conn, project_id)["version"], None)
        lock_without_live_flags(conn, project_id)
        project_deletion.lock(conn, project_id)
        flags = flag_lifecycle.delete_archived(conn, project_id)
        tokens = project_deletion.delete_api_tokens(conn, project_id)
        project_deletion.delete(conn, project_id)
        log = [
            Event(
                "feature-deleted",
                actor,
                project=project_id,
                feature=flag["name"],
                pre_data=flag["record"],
                tags=flag["tags"],
            )
            for flag in flags
        ]
        log += [
            Event(
                "api-token-deleted", actor, project=token["project"], environment=token["environment"], pre_data=token
            )
            for token in tokens
        ]
        events.record(conn, *log, Event("project-deleted", actor, project=project_id))
    return empty_response()
