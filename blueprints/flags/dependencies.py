"""Dependencies between flags. A flag with a parent is on only if the parent has the required state."""

from flask import Blueprint, Response, abort

from rules import dependencies as dependency_rules
from rules.access import require
from rules.flags import NO_FLAG, flag_event, lock_flag
from serving.operation import operation
from serving.request_data import load
from serving.responses import empty_response, json_response
from sql import events
from sql.database import connection, transaction
from sql.flags import dependencies
from validators.flags.dependencies import Dependency

bp = Blueprint("dependencies", __name__)

FLAG = "/api/admin/projects/<project_id>/features/<feature_name>"
PERMISSION = "UPDATE_FEATURE_DEPENDENCY"


@bp.post(f"{FLAG}/dependencies")
@operation(record=None, body=Dependency, refuses=(400, 401, 403, 404, 409, 415))
def add_dependency(project_id: str, feature_name: str) -> Response:
    """Add a dependency to a flag.

    Then the flag is on only for users for whom the parent flag has the required state: on, off, or one of the listed
    variants. Replaces an earlier dependency on the same parent.
    """
    with transaction() as conn:
        actor = require(conn, PERMISSION, project=project_id, direct=True)
        dependency_rules.add_dependency(conn, actor, project_id, load(Dependency()) | {"child": feature_name})
    return empty_response()


@bp.delete(f"{FLAG}/dependencies/<parent>")
@operation(record=None, refuses=(401, 403, 404))
def remove_dependency(project_id: str, feature_name: str, parent: str) -> Response:
    """Remove a dependency of a flag.

    200 even if there is no such dependency.
    """
    with transaction() as conn:
        actor = require(conn, PERMISSION, project=project_id, direct=True)
        flag = lock_flag(conn, project_id, feature_name)
        for removed in dependencies.delete(conn, flag["id"], parent):
            events.record(conn, flag_event("feature-dependency-removed", actor, flag, data={"feature": removed}))
    return empty_response()


@bp.delete(f"{FLAG}/dependencies")
@operation(record=None, refuses=(401, 403, 404))
def remove_dependencies(project_id: str, feature_name: str) -> Response:
    """Remove all dependencies of a flag.

    200 even if the flag has no dependencies.
    """
    with transaction() as conn:
        actor = require(conn, PERMISSION, project=project_id, direct=True)
        dependency_rules.remove_dependencies(conn, actor, lock_flag(conn, project_id, feature_name))
    return empty_response()


@bp.get(f"{FLAG}/parents")
@operation(record="parentFeatureOptions", refuses=(401, 403, 404))
def list_possible_parents(project_id: str, feature_name: str) -> Response:
    """List the possible parents of a flag.

    Returns live flags of the project that have no dependencies.
    """
    with connection() as conn:
        require(conn, project=project_id)
        body = dependencies.list_parents(conn, project_id, feature_name) or abort(404, NO_FLAG)
    return json_response(body)


@bp.get(f"{FLAG}/parent-variants")
@operation(record="parentVariantOptions", refuses=(401, 403, 404))
def list_parent_variants(project_id: str, feature_name: str) -> Response:
    """List the variants of a parent flag.

    Returns the names of the variants that the flag has in its environments and strategies.
    """
    with connection() as conn:
        require(conn, project=project_id)
        body = dependencies.list_variants(conn, project_id, feature_name) or abort(404, NO_FLAG)
    return json_response(body)


@bp.get("/api/admin/projects/<project_id>/dependencies")
@operation(record="hasDependencies", refuses=(401, 403, 404))
def check_dependencies(project_id: str) -> Response:
    """Check whether a project has flags with dependencies.

    Ignores archived flags.
    """
    with connection() as conn:
        require(conn, project=project_id)
        body = dependencies.exist_in_project(conn, project_id)
    return json_response(body)
