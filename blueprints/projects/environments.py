"""Add environments to a project, remove them, and set their default strategies."""

from flask import Blueprint, Response, abort

from rules.access import require
from rules.change_requests import NO_LINK, PROTECTED, configure, refuse_protected
from rules.instance_limits import unique_or_409
from rules.projects import change_default_strategy
from rules.refusals import Refusal
from serving.etags import IF_SHOWN, content_version, refuse_changed
from serving.operation import operation
from serving.request_data import load
from serving.responses import empty_response, json_response, json_text
from sql import events
from sql.catalog import environments
from sql.database import connection, transaction
from sql.events import Event
from sql.projects import environments as project_environments
from validators.catalog.environments import LinkEnvironment, SetDefaultStrategy

bp = Blueprint("project_environments", __name__)


@bp.get("/api/admin/environments/project/<project_id>")
@operation(record="projectEnvironmentList", refuses=(401, 403, 404))
def list_project_environments(project_id: str) -> Response:
    """List the environments of a project.

    Returns only environments of the project, sorted by position.
    """
    with connection() as conn:
        require(conn, project=project_id)
        body = project_environments.list_all(conn, project_id)
    return json_response(body)


@bp.post("/api/admin/projects/<project_id>/environments")
@operation(
    body=LinkEnvironment,
    refuses=(401, 403, 404, 409, 415),
    errors={
        404: Refusal(
            "The project is archived, unknown or hidden, or the environment is unknown.",
            "environment: must be an existing environment",
        ),
        409: Refusal(
            "The project has the environment already.",
            "environment: the project already has this environment",
            name="NameExistsError",
        ),
    },
)
def add_project_environment(project_id: str) -> Response:
    """Add an environment to a project.

    All flags of the project are disabled in the new environment.
    """
    with transaction() as conn, unique_or_409(project_environments.TAKEN):
        actor = require(conn, "UPDATE_PROJECT", project=project_id)
        link = load(LinkEnvironment())
        environment = link["environment"]
        project = project_environments.lock(conn, project_id)
        if project is None or project["is_archived"]:
            abort(404, "No project has that id, or the project is archived.")
        if not environments.hold(conn, environment):
            abort(404, "environment: must be an existing environment")
        project_environments.add(conn, project_id, environment)
        events.record(conn, Event("project-environment-added", actor, project=project_id, environment=environment))
        if link["changeRequestsEnabled"]:
            configure(conn, actor, project_id, environment, link)
    return empty_response()


@bp.delete("/api/admin/projects/<project_id>/environments/<environment>")
@operation(refuses=(401, 403, 404, 409), errors={409: Refusal(f"{PROTECTED}.")})
def remove_project_environment(project_id: str, environment: str) -> Response:
    """Remove an environment from a project.

    Deletes the states and strategies that the project's flags have in the environment. The last environment can be
    removed too. 409 while change requests are on there.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_PROJECT", project=project_id)
        project_environments.lock(conn, project_id)
        link = project_environments.lock_link(conn, project_id, environment)
        if link is not None:
            refuse_protected(link)
            project_environments.remove(conn, project_id, environment)
            events.record(
                conn, Event("project-environment-removed", actor, project=project_id, environment=environment)
            )
    return empty_response()


@bp.post("/api/admin/projects/<project_id>/environments/<environment>/default-strategy")
@operation(
    record="defaultStrategy",
    body=SetDefaultStrategy,
    refuses=(401, 403, 404, 415),
    errors={400: Refusal(message="name: must be flexibleRollout")} | IF_SHOWN,
)
def set_default_strategy(project_id: str, environment: str) -> Response:
    """Set the default strategy of a project in an environment.

    A flag without enabled strategies gets this strategy when it is enabled in the environment. It must be a gradual
    rollout (flexibleRollout).
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_PROJECT", "PROJECT_DEFAULT_STRATEGY_WRITE", project=project_id)
        place = conn, project_id, environment
        refuse_changed(lambda: content_version(project_environments.lock_link(*place), "default_strategy"), NO_LINK)
        payload = load(
            SetDefaultStrategy(), lambda: (project_environments.lock_link(*place) or {}).get("default_strategy")
        )
        link = project_environments.lock_link(*place) or abort(404, NO_LINK)
        change_default_strategy(conn, actor, project_id, environment, link["default_strategy"], payload)
    return json_response(json_text(payload))
