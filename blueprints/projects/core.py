"""Projects: what there is to know of them, making and changing them, and who has access (api.md 5 and 7, neighbours.md 3.8)."""

from flask import Blueprint, Response, abort

from rules.access import require
from rules.limits import refuse_excess, unique
from serving.contract import operation
from serving.request_data import load, load_query
from serving.responses import created, empty_response, json_response
from sql import events
from sql.database import connection, transaction
from sql.events import Event
from sql.projects import access as project_access
from sql.projects import core as projects
from sql.projects import health_report
from sql.projects import list as project_list
from sql.projects import overview as project_overview
from validators import Body
from validators.errors import NameExists
from validators.projects.core import RESERVED, NewProject, ProjectChange, ProjectFilter, ProjectSettings, slug

bp = Blueprint("projects", __name__)

# Our choice: who may settle how a project works.
CHANGE = ("UPDATE_PROJECT", "PROJECT_SETTINGS_WRITE")
# One message for all cases: it does not tell whether a hidden project has, or had, the id.
TAKEN = "id: already used by a project, which may be archived or deleted; choose another id"


@bp.get("/api/admin/projects")
@operation(record="projects", query=ProjectFilter, refuses=(400, 401, 403))
def list_projects() -> Response:
    """List projects.

    Those that the caller may see, by name: the live ones, or with `archived=true` the archived ones.
    """
    with connection() as conn:
        actor = require(conn)
        asked = load_query(ProjectFilter)
        body = project_list.read(conn, archived=asked["archived"] == "true", viewer=actor.viewer, user_id=actor.user_id)
    return json_response(body)


@bp.post("/api/admin/projects")
@operation(record="projectCreated", body=NewProject, status=201, refuses=(400, 401, 403, 409, 415))
def create_project() -> Response:
    """Create a project.

    The user who makes it becomes its owner. An id that is left out is made from the name; environments that are left out are all that are
    enabled.
    """
    with transaction() as conn:
        actor = require(conn, "CREATE_PROJECT")
        asked = load(NewProject())
        refuse_excess(conn, "MAX_PROJECTS", "projects that are not archived")
        project_id = asked["id"] or projects.free_id(conn, slug(asked["name"]), RESERVED)
        with unique({"projects_pkey": TAKEN}):
            projects.create(conn, {**asked, "id": project_id})
        # Our choice: the events of a deleted private project stay hidden. Checked after the insert, which waits for a deletion to end.
        if not actor.is_admin and projects.was_private(conn, project_id):
            raise NameExists(TAKEN)
        unknown = projects.add_environments(conn, project_id, asked["environments"])
        if unknown:
            abort(400, f"environments: there is no environment {', '.join(unknown[:20])}")
        projects.add_owner(conn, project_id, actor.user_id)
        made = projects.created(conn, project_id)
        events.record(conn, Event("project-created", actor, project=project_id, data=made["record"]))
    return created(made["text"], "projects/{}", project_id)


@bp.put("/api/admin/projects/<project_id>")
@operation(body=ProjectChange, refuses=(400, 401, 403, 404, 415))
def update_project(project_id: str) -> Response:
    """Change a project.

    What is left out stays as it is.
    """
    return change(project_id, ProjectChange())


@bp.put("/api/admin/projects/<project_id>/settings")
@operation(body=ProjectSettings, refuses=(400, 401, 403, 404, 415))
def update_project_settings(project_id: str) -> Response:
    """Change the settings of a project.

    Omitted settings stay as they are. A naming pattern is a regular expression (RE2) for whole names, without flags, named groups and white
    space. A naming without a pattern removes the pattern. Existing flags keep their names.
    """
    return change(project_id, ProjectSettings())


def change(project_id: str, schema: Body) -> Response:
    """Let the keys of the body replace those of the project."""
    with transaction() as conn:
        actor = require(conn, *CHANGE, project=project_id)
        change = load(schema)
        project = projects.lock(conn, project_id) or abort(404, "No project has that id.")
        before = project["logged"]
        after = before | change
        if after != before:
            projects.update(conn, after)
            events.record(conn, Event("project-updated", actor, project=project_id, data=after, pre_data=before))
    return empty_response()


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


@bp.get("/api/admin/projects/<project_id>/health-report")
@operation(record="healthReport", refuses=(401, 403, 404))
def get_project_health_report(project_id: str) -> Response:
    """Get a health report of a project.

    The overview with every flag, and how many are marked stale, are not, and should be because they are older than their type lives.
    """
    with connection() as conn:
        actor = require(conn, project=project_id)
        body = health_report.get(conn, project_id, actor.user_id)
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
