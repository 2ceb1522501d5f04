"""Manage projects. Get their overview, health report and access list."""

import json
from typing import Any

from flask import Blueprint, Response

from rules.access import Actor, require
from rules.projects import TAKEN, add_project, change_project, lock_project, refuse_past_private
from rules.refusals import Refusal
from serving.etags import refuse_changed
from serving.operation import operation
from serving.request_data import load, load_query
from serving.responses import bounded, created, empty_response, json_response
from sql.database import Connection, connection, transaction
from sql.projects import access as project_access
from sql.projects import core as projects
from sql.projects import health_report
from sql.projects import list as project_list
from sql.projects import overview as project_overview
from sql.projects import status as project_status
from validators import Body
from validators.errors import NameExists
from validators.projects.core import NewProject, ProjectChange, ProjectFilter, ProjectId, ProjectSettings
from validators.returned import without_read_only

bp = Blueprint("projects", __name__)

# Our choice: callers need one of these permissions to change the properties of a project.
UPDATE_PERMISSIONS = ("UPDATE_PROJECT", "PROJECT_SETTINGS_WRITE")
# The advice for a response that is too large.
ADVICE = "Use GET /api/admin/projects/{projectId}/overview, and GET /api/admin/search/features for the flags."


@bp.get("/api/admin/projects")
@operation(record="projects", query=ProjectFilter, refuses=(400, 401, 403))
def list_projects() -> Response:
    """List projects.

    Returns the projects that the caller can see, sorted by name. With `archived=true`, it returns archived projects
    instead of live ones.
    """
    with connection() as conn:
        actor = require(conn)
        payload = load_query(ProjectFilter)
        body = project_list.list_all(
            conn, archived=payload["archived"] == "true", viewer=actor.viewer, user_id=actor.user_id
        )
    return json_response(body)


@bp.post("/api/admin/projects")
@operation(
    record="projectCreated",
    body=NewProject,
    status=201,
    refuses=(400, 401, 403, 409, 415),
    errors={
        400: Refusal(message="environments: unknown environments: staging"),
        409: Refusal(
            "The id is taken, maybe by an archived project. After a private project is deleted, only "
            "administrators can reuse its id.",
            "id: already used by a project, which may be archived or deleted; choose another id",
            name="NameExistsError",
        ),
    },
)
def create_project() -> Response:
    """Create a project.

    The user who creates the project becomes its owner. Without an id, the id is made from the name. Without
    environments, the project gets all enabled ones.
    """
    with transaction() as conn:
        actor = require(conn, "CREATE_PROJECT")
        payload = load(NewProject())
        project = add_project(conn, actor, payload)
    return created(project["text"], "projects/{}", project["record"]["id"])


@bp.post("/api/admin/projects/validate")
@operation(body=ProjectId, refuses=(400, 401, 403, 409, 415))
def validate_project_id() -> Response:
    """Check an id for a new project.

    200 if the id is free. Ids of archived projects and of projects that the caller cannot see are taken too.
    """
    with connection() as conn:
        actor = require(conn, "CREATE_PROJECT")
        payload = load(ProjectId())
        if projects.is_taken(conn, payload["id"]):
            raise NameExists(TAKEN)
        refuse_past_private(conn, actor, payload["id"])
    return empty_response()


@bp.get("/api/admin/projects/<project_id>")
@operation(
    record="legacyProjectOverview", refuses=(400, 401, 403, 404), deprecated="/api/admin/projects/{project_id}/overview"
)
def get_project(project_id: str) -> Response:
    """Get a project with its flags (deprecated).

    Use GET /api/admin/projects/{projectId}/overview instead.
    """
    with connection() as conn:
        actor = require(conn, project=project_id)
        body = health_report.legacy_overview(conn, project_id, actor.user_id)
    return json_response(bounded(body, ADVICE))


@bp.put("/api/admin/projects/<project_id>")
@operation(
    body=ProjectChange, refuses=(400, 401, 403, 404, 412, 415), errors={400: Refusal(message="name: must not be blank")}
)
def update_project(project_id: str) -> Response:
    """Update a project.

    Omitted properties keep their values.
    """
    return update(project_id, ProjectChange())


@bp.put("/api/admin/projects/<project_id>/settings")
@operation(
    body=ProjectSettings,
    refuses=(400, 401, 403, 404, 412, 415),
    errors={400: Refusal(message="featureNaming.example: must match the pattern")},
)
def update_project_settings(project_id: str) -> Response:
    """Update the settings of a project.

    Omitted settings keep their values. A naming pattern is a regular expression (RE2) for whole names, without flags,
    named groups and white space. A featureNaming without a pattern removes the pattern. Existing flags keep their
    names.
    """
    return update(project_id, ProjectSettings())


def update(project_id: str, schema: Body) -> Response:
    """Update the properties of a project that the body contains."""
    with transaction() as conn:
        actor = require(conn, *UPDATE_PERMISSIONS, project=project_id)
        refuse_changed(lambda: lock_project(conn, project_id)["version"], None)
        payload = load(schema, lambda: (projects.lock(conn, project_id) or {}).get("logged"))
        before = lock_project(conn, project_id)["logged"]
        after = before | without_read_only(payload, lambda: read_record(conn, actor, project_id))
        change_project(conn, actor, before, after)
        version = lock_project(conn, project_id)["version"]
    return empty_response(record=version)


def read_record(conn: Connection, actor: Actor, project_id: str) -> dict[str, Any]:
    """Return the properties of a project that responses have and that its PUT cannot change."""
    overview = json.loads(project_overview.get(conn, project_id, actor.user_id) or "{}")
    return overview | {"owners": project_list.owners_of(conn, project_id)}


@bp.get("/api/admin/projects/<project_id>/overview")
@operation(record="projectOverview", refuses=(401, 403, 404))
def get_project_overview(project_id: str) -> Response:
    """Get a project overview.

    Returns stats, health, members, environments and the number of flags of each type. In the stats, the current window
    is the last 30 days, and the past window is the 30 days before.
    """
    with connection() as conn:
        actor = require(conn, project=project_id)
        body = project_overview.get(conn, project_id, actor.user_id)
    return json_response(body)


@bp.get("/api/admin/projects/<project_id>/status")
@operation(record="projectStatus", refuses=(401, 403, 404))
def get_project_status(project_id: str) -> Response:
    """Get the status of a project.

    Returns its events by day in the last year, its health and resources, and how long flags stay in each stage.
    """
    with connection() as conn:
        require(conn, project=project_id)
        body = project_status.get(conn, project_id)
    return json_response(body)


@bp.get("/api/admin/projects/<project_id>/health-report")
@operation(record="healthReport", refuses=(400, 401, 403, 404))
def get_project_health_report(project_id: str) -> Response:
    """Get the health report of a project.

    Returns the overview with all flags. The report also has the numbers of flags that are stale, active, and
    potentially stale. A flag is potentially stale if it is older than the lifetime of its type.
    """
    with connection() as conn:
        actor = require(conn, project=project_id)
        body = health_report.get(conn, project_id, actor.user_id)
    return json_response(bounded(body, ADVICE))


@bp.get("/api/admin/projects/<project_id>/access")
@operation(
    record="projectAccess",
    refuses=(401, 403, 404),
    errors={
        403: Refusal(message="You lack the permission UPDATE_PROJECT or PROJECT_USER_ACCESS_READ in this project.")
    },
)
def get_project_access(project_id: str) -> Response:
    """Get users and groups in a project.

    Returns each user and group with their roles in the project, and all roles that can be given in it.
    """
    with connection() as conn:
        # Our choice: callers need the permission to change the project or to read its access list.
        require(conn, "UPDATE_PROJECT", "PROJECT_USER_ACCESS_READ", project=project_id)
        body = project_access.get(conn, project_id)
    return json_response(body)
