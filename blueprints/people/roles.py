"""Roles, both predefined and custom. A role is a set of permissions."""

from flask import Blueprint, Response, abort

from rules.access import id_in_path, require
from rules.instance_limits import unique_or_409
from rules.refusals import Refusal, name_taken
from rules.roles import NO_ROLE, lock_custom, refuse_assigned, resolve_permissions
from serving.etags import refuse_changed
from serving.operation import operation
from serving.request_data import load
from serving.responses import empty_response, json_response
from sql import events
from sql.database import connection, transaction
from sql.events import Event
from sql.people import roles
from validators.errors import NameExists
from validators.people.roles import CreateRole, UpdateRole
from validators.returned import without_read_only

bp = Blueprint("roles", __name__)


@bp.get("/api/admin/roles")
@operation(record="roles", refuses=(401, 403))
def list_roles() -> Response:
    """List roles.

    Returns root roles and project roles, sorted by id.
    """
    with connection() as conn:
        require(conn, "READ_ROLE")
        body = roles.list_all(conn)
    return json_response(body)


@bp.get("/api/admin/roles/<role_id>")
@operation(record="roleWithPermissions", refuses=(400, 401, 403, 404), errors={404: Refusal("No role has that id.")})
def get_role(role_id: str) -> Response:
    """Get a role with its permissions.

    A permission without an environment applies in all environments.
    """
    with connection() as conn:
        require(conn, "READ_ROLE")
        body = roles.get(conn, id_in_path(role_id)) or abort(404, NO_ROLE)
    return json_response(body)


@bp.post("/api/admin/roles")
@operation(record="roleAnswer", body=CreateRole, refuses=(400, 401, 403, 409, 415), errors={409: name_taken("a role")})
def create_role() -> Response:
    """Create a role.

    A root-custom role applies in the whole instance. A custom role applies in the projects where users or groups get
    it, and cannot contain root permissions.
    """
    with transaction() as conn, unique_or_409(roles.TAKEN):
        actor = require(conn, "ADMIN")
        payload = load(CreateRole())
        allowed = resolve_permissions(conn, payload["permissions"], payload["type"])
        role_id = roles.insert(conn, payload["name"], type=payload["type"], description=payload["description"])
        roles.set_permissions(conn, role_id, allowed)
        events.record(conn, Event("role-created", actor, data=roles.get_logged(conn, role_id)))
        body = roles.answer(conn, role_id)
    # 200, not 201: the Terraform provider accepts nothing else.
    return json_response(body)


@bp.post("/api/admin/roles/validate")
@operation(body=CreateRole, refuses=(400, 401, 403, 409, 415), errors={409: name_taken("a role")})
def validate_role() -> Response:
    """Check a new role.

    200 if it is valid and its name is free. Creates nothing.
    """
    with connection() as conn:
        require(conn, "ADMIN")
        payload = load(CreateRole())
        resolve_permissions(conn, payload["permissions"], payload["type"])
        if roles.is_taken(conn, payload["name"]):
            raise NameExists(roles.TAKEN["roles_name_key"])
    return empty_response()


@bp.get("/api/admin/projects/roles/<role_id>/access")
@operation(record="roleProjects", refuses=(400, 401, 403, 404))
def list_role_projects(role_id: str) -> Response:
    """List the projects in which a role is assigned.

    Counts the users, groups and service accounts with the role in each project.
    """
    with connection() as conn:
        require(conn, "ADMIN")
        body = roles.list_projects(conn, id_in_path(role_id)) or abort(404, NO_ROLE)
    return json_response(body)


@bp.put("/api/admin/roles/<role_id>")
@operation(
    record="roleAnswer",
    body=UpdateRole,
    refuses=(400, 401, 403, 404, 409, 412, 415),
    errors={
        409: Refusal("The role is predefined, or the name is taken.", "A predefined role cannot be changed or deleted.")
    },
)
def update_role(role_id: str) -> Response:
    """Update a role.

    If permissions or the description are omitted, they keep their values. The type of a role cannot change. Predefined
    roles cannot be updated.
    """
    with transaction() as conn, unique_or_409(roles.TAKEN):
        actor = require(conn, "ADMIN")
        number = id_in_path(role_id)
        refuse_changed(lambda: roles.lock(conn, number) and roles.get(conn, number), NO_ROLE)
        change = load(UpdateRole(), lambda: roles.lock(conn, number))
        before = lock_custom(conn, number, change)
        change = without_read_only(change, lambda: before)
        # Our choice: an omitted description keeps its value, like omitted permissions.
        roles.update(conn, before | change)
        if "permissions" in change:
            roles.set_permissions(conn, number, resolve_permissions(conn, change["permissions"], before["type"]))
        after = roles.get_logged(conn, number)
        events.record_change(conn, Event("role-updated", actor, data=after, pre_data=before))
        body = roles.answer(conn, number)
    return json_response(body)


@bp.delete("/api/admin/roles/<role_id>")
@operation(
    record=None,
    refuses=(400, 401, 403, 404, 409, 412),
    errors={
        409: Refusal(
            "The role is predefined, or users, groups or signup tokens have it.",
            "The role is assigned to 2 users and 1 group.",
        )
    },
)
def delete_role(role_id: str) -> Response:
    """Delete a role.

    409 if a user, a group or a signup token has the role.
    """
    with transaction() as conn:
        actor = require(conn, "ADMIN")
        number = id_in_path(role_id)
        refuse_changed(lambda: roles.lock(conn, number) and roles.get(conn, number), NO_ROLE)
        before = lock_custom(conn, number)
        refuse_assigned(roles.holders(conn, before["id"]))
        events.record(conn, Event("role-deleted", actor, pre_data=before))
        roles.delete(conn, before["id"])
    return empty_response()
