"""API tokens of a project: client and frontend tokens, which its members manage."""

from flask import Blueprint, Response, abort

from rules.access import require
from rules.api_tokens import create, delete
from serving.operation import operation
from serving.request_data import load
from serving.responses import created, empty_response, json_response
from sql.database import connection, transaction
from sql.tokens import api_tokens
from validators.tokens.api_tokens import CreateProjectApiToken

bp = Blueprint("project_api_tokens", __name__)


@bp.get("/api/admin/projects/<project_id>/api-tokens")
@operation(record="apiTokens", refuses=(401, 403, 404))
def list_project_api_tokens(project_id: str) -> Response:
    """List the API tokens of a project.

    Returns the client and frontend tokens that work for the project, with their secrets. A token can be for this
    project only, for several projects, or for all projects. Tokens that also work for projects that the caller cannot
    see are not listed.
    """
    with connection() as conn:
        actor = require(conn, "READ_PROJECT_API_TOKEN", project=project_id)
        body = api_tokens.list_by_project(conn, project_id, actor.viewer)
    return json_response(body)


@bp.post("/api/admin/projects/<project_id>/api-tokens")
@operation(record="apiToken", body=CreateProjectApiToken, status=201, refuses=(400, 401, 403, 404, 415))
def create_project_api_token(project_id: str) -> Response:
    """Create an API token for a project.

    The token is a client or frontend token for this project only, and for one environment. If you omit the environment,
    it is default, or development if default does not exist.
    """
    with transaction() as conn:
        actor = require(conn, "CREATE_PROJECT_API_TOKEN", project=project_id)
        payload = load(CreateProjectApiToken())
        if payload["projects"] not in (None, [project_id]):
            abort(400, f"projects: must be {project_id}, the project of the path, or omitted")
        body = create(conn, actor, payload | {"projects": [project_id]})
    return created(body, "api-tokens/{}", payload["name"])


@bp.delete("/api/admin/projects/<project_id>/api-tokens/<slashed:api_token>")
@operation(record=None, refuses=(401, 403, 404, 409))
def delete_project_api_token(project_id: str, api_token: str) -> Response:
    """Delete an API token of a project.

    The path contains the secret of the token. The token stops working at once. 200 even if the project has no such
    token. 409 if the token is also for other projects.
    """
    with transaction() as conn:
        actor = require(conn, "DELETE_PROJECT_API_TOKEN", project=project_id)
        token = api_tokens.lock_of_project(conn, api_token, project_id)
        if token is not None:
            if token["is_shared"]:
                abort(
                    409, "The token is also for other projects. Delete it with DELETE /api/admin/api-tokens/{apiToken}."
                )
            delete(conn, actor, token["id"])
    return empty_response()
