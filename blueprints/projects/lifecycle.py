"""The end of a project, for a while or for good: archive, revive, delete (neighbours.md 3.8)."""

from flask import Blueprint, Response, abort
from psycopg.rows import DictRow

from rules.access import require
from rules.limits import refuse_excess
from serving.contract import operation
from serving.responses import empty_response
from sql import events
from sql.database import Connection, transaction
from sql.events import Event
from sql.flags import lifecycle as flag_lifecycle
from sql.projects import core as projects
from sql.projects import deletion as project_deletion

bp = Blueprint("project_lifecycle", __name__)


@bp.post("/api/admin/projects/archive/<project_id>")
@operation(refuses=(401, 403, 404, 409))
def archive_project(project_id: str) -> Response:
    """Archive a project.

    It must have no flag that is not archived. It can still be read, but nothing can be made in it until it is revived.
    """
    with transaction() as conn:
        actor = require(conn, "DELETE_PROJECT", project=project_id)
        before = hold_idle(conn, project_id)
        if before["archived_at"] is None:
            projects.archive(conn, project_id)
            events.record(conn, Event("project-archived", actor, project=project_id))
    return empty_response()


@bp.post("/api/admin/projects/revive/<project_id>")
@operation(refuses=(400, 401, 403, 404))
def revive_project(project_id: str) -> Response:
    """Revive an archived project.

    Its flags stay archived until they are revived themselves.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_PROJECT", project=project_id)
        before = projects.lock(conn, project_id) or abort(404, "No project has that id.")
        if before["archived_at"] is not None:
            refuse_excess(conn, "MAX_PROJECTS", "projects that are not archived")
            projects.revive(conn, project_id)
            events.record(conn, Event("project-revived", actor, project=project_id))
    return empty_response()


@bp.delete("/api/admin/projects/<project_id>")
@operation(refuses=(401, 403, 404, 409))
def delete_project(project_id: str) -> Response:
    """Delete a project.

    It must have no flag that is not archived. Its archived flags go with it, and so do its API keys, its segments and the roles in it; API
    keys that it shares with other projects remain for those.
    """
    with transaction() as conn:
        actor = require(conn, "DELETE_PROJECT", project=project_id)
        hold_idle(conn, project_id)
        project_deletion.hold(conn, project_id)
        flags = flag_lifecycle.delete_archived(conn, project_id)
        keys = project_deletion.delete_keys(conn, project_id)
        project_deletion.delete(conn, project_id)
        log = [
            Event("feature-deleted", actor, project=project_id, feature=flag["name"], pre_data=flag["record"], tags=flag["tags"])
            for flag in flags
        ]
        log += [Event("api-token-deleted", actor, project=key["project"], environment=key["environment"], pre_data=key) for key in keys]
        events.record(conn, *log, Event("project-deleted", actor, project=project_id))
    return empty_response()


def hold_idle(conn: Connection, project_id: str) -> DictRow:
    """The project, locked, with all its flags; 409 when it is the default one or has live flags."""
    found = projects.lock(conn, project_id) or abort(404, "No project has that id.")
    if project_id == "default":
        abort(409, "The project default can be neither archived nor deleted.")
    if project_deletion.has_live_flags(conn, project_id):
        abort(409, "The project has flags that are not archived.")
    return found
