"""The project overview and who has access to a project (api.md 5 and 7)."""

from flask import Blueprint, Response

from blueprints.access import require
from blueprints.contract import operation
from blueprints.respond import json_response
from sql import connection, project_access, project_overview

bp = Blueprint("projects", __name__)


@bp.get("/api/admin/projects/<project_id>/overview")
@operation(record="projectOverview", refuses=(401, 403, 404))
def get_project_overview(project_id: str) -> Response:
    """Get a project overview.

    Computed when it is asked for. The current window is the last 30 days, the past window the 30 days before.
    """
    with connection() as conn:
        actor = require(conn, project=project_id)
        body = project_overview.get(conn, project_id, actor.user_id)
    return json_response(body)


@bp.get("/api/admin/projects/<project_id>/access")
@operation(record="projectAccess", refuses=(401, 403, 404))
def get_project_access(project_id: str) -> Response:
    """Get users and groups in a project.

    With the roles that each has in the project, and all roles that can be given there.
    """
    with connection() as conn:
        # Our choice: who may change the project, or was given the right to read this.
        require(conn, "UPDATE_PROJECT", "PROJECT_USER_ACCESS_READ", project=project_id)
        body = project_access.get(conn, project_id)
    return json_response(body)
