"""Roles, both predefined and custom. A role is a set of permissions."""

from collections.abc import Sequence
from typing import Any

from flask import Blueprint, Response, abort
from psycopg.rows import DictRow

from rules.access import id_in_path, require
from rules.instance_limits import unique_or_409
from rules.refusals import quantity
from serving.contract import Refusal, name_taken, operation
from serving.request_data import load
from serving.responses import empty_response, json_response
from sql import events
from sql.database import Connection, connection, transaction
from sql.events import Event
from sql.people import permissions, roles
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
        body = roles.get(conn, id_in_path(role_id)) or abort(404, "No role has that id.")
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
        body = roles.list_projects(conn, id_in_path(role_id)) or abort(404, "No role has that id.")
    return json_response(body)


@bp.put("/api/admin/roles/<role_id>")
@operation(
    record="roleAnswer",
    body=UpdateRole,
    refuses=(400, 401, 403, 404, 409, 415),
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
    refuses=(400, 401, 403, 404, 409),
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
        before = lock_custom(conn, id_in_path(role_id))
        refuse_assigned(roles.holders(conn, before["id"]))
        events.record(conn, Event("role-deleted", actor, pre_data=before))
        roles.delete(conn, before["id"])
    return empty_response()


def lock_custom(conn: Connection, role_id: int, change: dict[str, Any] | None = None) -> dict[str, Any]:
    """Lock a role and return it as events do. Raise 404, 409 if it is predefined, or 400 for another type."""
    role = roles.lock(conn, role_id) or abort(404, "No role has that id.")
    if role["type"] in ("root", "project"):
        abort(409, "A predefined role cannot be changed or deleted.")
    if change and change.get("type", role["type"]) != role["type"]:
        abort(400, f"type: cannot change, and must be {role['type']}")
    return role


def refuse_assigned(holders: dict[str, int]) -> None:
    """Raise 409 if a user, group or signup token has the role. holders: how many of each have it, by their noun."""
    counts = [quantity(number, noun) for noun, number in holders.items() if number]
    if counts:
        text = " and ".join([", ".join(counts[:-1]), counts[-1]] if counts[1:] else counts)
        abort(409, f"The role is assigned to {text}.")


def resolve_permissions(conn: Connection, payload: Sequence[dict], type: str) -> list[tuple[str, str | None]]:
    """Return (name, environment) of each permission, or raise 400. type: the type of the role."""
    ids, names, environments = ([item.get(key) for item in payload] for key in ("id", "name", "environment"))
    resolved = permissions.resolve(conn, ids, names, environments)
    problems = [
        f"permissions.{position}: {problem}"
        for position, permission in enumerate(resolved)
        if (problem := permission_problem(permission, type))
    ]
    if problems:
        abort(400, "; ".join(problems[:20]))
    return [(permission["name"], permission["environment"]) for permission in resolved]


def permission_problem(permission: DictRow, type: str) -> str | None:
    """Return the reason why a role of this type cannot contain a permission, or None if it can."""
    if permission["name"] is None:
        return "must be an existing permission"
    if permission["name"] == "ADMIN":
        return "must not be ADMIN, which only the role Admin has"
    if permission["type"] == "root" and type == "custom":
        return "must not be a root permission in a project role"
    if permission["environment"] is not None and permission["type"] != "environment":
        return "must not name an environment, because the permission does not depend on one"
    return None if permission["has_environment"] else "must be an existing environment"
