"""Applications that register or report usage, their instances, and unknown flags that they ask for."""

from flask import Blueprint, Response, abort

from rules.access import require
from serving.operation import operation
from serving.request_data import load, load_query
from serving.responses import empty_response, json_response
from sql import applications
from sql.database import connection, transaction
from sql.projects import applications as project_applications
from validators.applications import ApplicationSearch, UpdateApplication
from validators.returned import without_read_only

bp = Blueprint("applications", __name__)

NO_APPLICATION = "No application has that name."


@bp.get("/api/admin/metrics/applications")
@operation(record="applications", query=ApplicationSearch, refuses=(401, 403))
def list_applications() -> Response:
    """List applications.

    Returns applications by name, with the projects and environments whose flags they use. Projects that the caller
    cannot see are omitted, and so are applications that use flags of such projects only.
    """
    with connection() as conn:
        actor = require(conn)
        search = load_query(ApplicationSearch)
        is_descending = search["sortOrder"] == "desc"
        page = {name: search[name] for name in ("query", "limit", "offset")}
        body = applications.list_all(conn, actor.viewer, descending=is_descending, **page)
    return json_response(body)


@bp.get("/api/admin/projects/<project_id>/applications")
@operation(record="projectApplications", query=ApplicationSearch, refuses=(401, 403, 404))
def list_project_applications(project_id: str) -> Response:
    """List the applications of a project.

    Returns applications that use flags of the project, by name. The query also finds environments and SDKs.
    """
    with connection() as conn:
        require(conn, project=project_id)
        search = load_query(ApplicationSearch)
        is_descending = search["sortOrder"] == "desc"
        page = {name: search[name] for name in ("query", "limit", "offset")}
        body = project_applications.list_all(conn, project_id, descending=is_descending, **page)
    return json_response(body)


@bp.get("/api/admin/metrics/applications/<app_name>")
@operation(record="application", refuses=(401, 403, 404))
def get_application(app_name: str) -> Response:
    """Get an application.

    Returns what it has registered, and the projects and environments whose flags it uses.
    """
    with connection() as conn:
        actor = require(conn)
        body = applications.get(conn, app_name, actor.viewer) or abort(404, NO_APPLICATION)
    return json_response(body)


# Our choice: no event, because no event type exists for it. An application that has never asked cannot be created.
@bp.post("/api/admin/metrics/applications/<app_name>")
@operation(record=None, body=UpdateApplication, status=202, refuses=(401, 403, 404, 415))
def update_application(app_name: str) -> Response:
    """Describe an application.

    Changes its description, URL, icon and color. Omitted properties keep their values. Applications are created when
    they register or report usage.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_APPLICATION")
        change = load(UpdateApplication(), lambda: applications.lock(conn, app_name, actor.viewer))
        before = applications.lock(conn, app_name, actor.viewer) or abort(404, NO_APPLICATION)
        change = without_read_only(change, lambda: {"appName": app_name})
        applications.update(conn, before | change)
    return empty_response(202)


@bp.delete("/api/admin/metrics/applications/<app_name>")
@operation(record=None, refuses=(401, 403, 404))
def delete_application(app_name: str) -> Response:
    """Delete an application.

    Deletes its instances, when it used which flags, and the unknown flags that it asked for. Its usage stays. If it
    still runs, its next report creates it again.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_APPLICATION")
        if applications.lock(conn, app_name, actor.viewer) is None:
            abort(404, NO_APPLICATION)
        applications.delete(conn, app_name)
    return empty_response()


@bp.get("/api/admin/metrics/applications/<app_name>/overview")
@operation(record="applicationOverview", refuses=(401, 403, 404))
def get_application_overview(app_name: str) -> Response:
    """Get the overview of an application.

    Returns its environments with instances, SDKs and unknown flags. Strategy types are missing if the application knows
    them, but this server does not.
    """
    with connection() as conn:
        actor = require(conn)
        body = applications.get_overview(conn, app_name, actor.viewer) or abort(404, NO_APPLICATION)
    return json_response(body)


@bp.get("/api/admin/metrics/instances/<app_name>/environment/<environment>")
@operation(record="applicationInstances", refuses=(401, 403, 404))
def list_application_instances(app_name: str, environment: str) -> Response:
    """List the instances of an application in an environment.

    Returns the 1,000 instances that were seen last, newest first.
    """
    with connection() as conn:
        actor = require(conn)
        body = applications.list_instances(conn, app_name, environment, actor.viewer) or abort(404, NO_APPLICATION)
    return json_response(body)


@bp.get("/api/admin/metrics/unknown-flags")
@operation(record="unknownFlags", refuses=(401, 403))
def list_unknown_flags() -> Response:
    """List unknown flags.

    Returns names that applications ask for although no such flag exists, such as misspelled ones.
    """
    with connection() as conn:
        actor = require(conn)
        body = applications.list_unknown_flags(conn, actor.viewer)
    return json_response(body)


@bp.get("/api/admin/metrics/sdks/outdated")
@operation(record="outdatedSdks", refuses=(401, 403))
def list_outdated_sdks() -> Response:
    """List outdated SDKs.

    The list is always empty, because this server does not know the newest versions.
    """
    with connection() as conn:
        require(conn)
    return json_response('{"sdks" : []}')
