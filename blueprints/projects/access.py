"""Give roles in a project to users and groups, and take them away."""

from flask import Blueprint, Response

from rules.access import id_in_path, require
from rules.project_access import WRITE, add_roles, remove_roles, replace_roles, set_roles
from rules.refusals import Refusal
from serving.operation import operation
from serving.request_data import load
from serving.responses import empty_response
from sql.database import transaction
from validators.projects.access import GrantAccess, HeldRoles, ReplaceAccess

bp = Blueprint("project_access", __name__)
LAST_OWNER = Refusal("This is the last owner.", "This is the last owner of the project. Add another owner first.")


@bp.post("/api/admin/projects/<project_id>/access")
@operation(body=GrantAccess, refuses=(401, 403, 404, 415))
def add_project_access(project_id: str) -> Response:
    """Give roles in a project.

    Adds every listed role to every listed user and group. They keep their other roles. Callers who are neither
    administrators nor owners of the project can give only roles whose permissions they hold in it.
    """
    with transaction() as conn:
        actor = require(conn, *WRITE, project=project_id)
        add_roles(conn, actor, project_id, load(GrantAccess()))
    return empty_response()


@bp.put("/api/admin/projects/<project_id>/access")
@operation(body=ReplaceAccess, refuses=(401, 403, 404, 415))
def set_project_access(project_id: str) -> Response:
    """Replace all roles in a project.

    Users and groups that are not in the body lose their roles. Roles that a user or group keeps also keep the date on
    which they were given. The project can end up without an owner. Callers who are neither administrators nor owners of
    the project can give only roles whose permissions they hold in it.
    """
    with transaction() as conn:
        actor = require(conn, *WRITE, project=project_id)
        replace_roles(conn, actor, project_id, load(ReplaceAccess())["roles"])
    return empty_response()


@bp.put("/api/admin/projects/<project_id>/users/<user_id>/roles")
@operation(body=HeldRoles, refuses=(401, 403, 404, 409, 415), errors={409: LAST_OWNER})
def set_project_user_roles(project_id: str, user_id: str) -> Response:
    """Set the roles of a user in a project.

    An empty list takes all roles away. 409 if the project would lose its last owner.
    """
    with transaction() as conn:
        actor = require(conn, *WRITE, project=project_id)
        set_roles(conn, actor, project_id, "user", id_in_path(user_id), load(HeldRoles())["roles"])
    return empty_response()


@bp.delete("/api/admin/projects/<project_id>/users/<user_id>/roles")
@operation(refuses=(401, 403, 404, 409), errors={409: LAST_OWNER})
def remove_project_user_roles(project_id: str, user_id: str) -> Response:
    """Remove all roles of a user in a project.

    409 if the project would lose its last owner.
    """
    with transaction() as conn:
        actor = require(conn, *WRITE, project=project_id)
        remove_roles(conn, actor, project_id, "user", id_in_path(user_id))
    return empty_response()


@bp.put("/api/admin/projects/<project_id>/groups/<group_id>/roles")
@operation(body=HeldRoles, refuses=(401, 403, 404, 409, 415), errors={409: LAST_OWNER})
def set_project_group_roles(project_id: str, group_id: str) -> Response:
    """Set the roles of a group in a project.

    An empty list takes all roles away. 409 if the project would lose its last owner.
    """
    with transaction() as conn:
        actor = require(conn, *WRITE, project=project_id)
        set_roles(conn, actor, project_id, "group", id_in_path(group_id), load(HeldRoles())["roles"])
    return empty_response()


@bp.delete("/api/admin/projects/<project_id>/groups/<group_id>/roles")
@operation(refuses=(401, 403, 404, 409), errors={409: LAST_OWNER})
def remove_project_group_roles(project_id: str, group_id: str) -> Response:
    """Remove all roles of a group in a project.

    409 if the project would lose its last owner.
    """
    with transaction() as conn:
        actor = require(conn, *WRITE, project=project_id)
        remove_roles(conn, actor, project_id, "group", id_in_path(group_id))
    return empty_response()
