"""Roles, the predefined and those of one's own (neighbours.md 3.6)."""

from collections.abc import Sequence
from typing import Any

from flask import Blueprint, Response, abort
from psycopg.rows import DictRow

from rules.access import id_in_path, require
from rules.limits import unique
from serving.contract import operation
from serving.request_data import load
from serving.responses import empty_response, json_response
from sql import events
from sql.database import Connection, connection, transaction
from sql.events import Event
from sql.people import permissions, roles
from validators.people.roles import CreateRole, UpdateRole

bp = Blueprint("roles", __name__)


@bp.get("/api/admin/roles")
@operation(record="roles", refuses=(401, 403))
def list_roles() -> Response:
    """List roles.

    Those of the whole instance and those in projects, by id.
    """
    with connection() as conn:
        require(conn, "READ_ROLE")
        body = roles.list_all(conn)
    return json_response(body)


@bp.get("/api/admin/roles/<role_id>")
@operation(record="roleWithPermissions", refuses=(400, 401, 403, 404))
def get_role(role_id: str) -> Response:
    """Get a role with its permissions.

    An environment permission without an environment holds in all of them.
    """
    with connection() as conn:
        require(conn, "READ_ROLE")
        body = roles.get(conn, id_in_path(role_id)) or abort(404, "No role has that id.")
    return json_response(body)


@bp.post("/api/admin/roles")
@operation(record="roleAnswer", body=CreateRole, refuses=(400, 401, 403, 409, 415))
def create_role() -> Response:
    """Create a role.

    A root-custom role holds in the whole instance; a custom one in the projects where it is given, and has no root permissions.
    """
    with transaction() as conn, unique(roles.TAKEN):
        actor = require(conn, "ADMIN")
        asked = load(CreateRole())
        allowed = allowable(conn, asked["permissions"], asked["type"])
        role_id = roles.insert(conn, asked["name"], type=asked["type"], description=asked["description"])
        roles.set_permissions(conn, role_id, allowed)
        events.record(conn, Event("role-created", actor, data=roles.get_logged(conn, role_id)))
        body = roles.answer(conn, role_id)
    # 200, not 201: the Terraform provider takes nothing else.
    return json_response(body)


@bp.put("/api/admin/roles/<role_id>")
@operation(record="roleAnswer", body=UpdateRole, refuses=(400, 401, 403, 404, 409, 415))
def update_role(role_id: str) -> Response:
    """Change a role.

    Without permissions, or without a description, those that it has stay. Its type cannot change, and no predefined role can.
    """
    with transaction() as conn, unique(roles.TAKEN):
        actor = require(conn, "ADMIN")
        number, change = id_in_path(role_id), load(UpdateRole())
        before = lock_custom(conn, number, change)
        # Our choice: an omitted description stays, like omitted permissions.
        roles.update(conn, before | change)
        if "permissions" in change:
            roles.set_permissions(conn, number, allowable(conn, change["permissions"], before["type"]))
        after = roles.get_logged(conn, number)
        events.record_change(conn, Event("role-updated", actor, data=after, pre_data=before))
        body = roles.answer(conn, number)
    return json_response(body)


@bp.delete("/api/admin/roles/<role_id>")
@operation(record=None, refuses=(400, 401, 403, 404, 409))
def delete_role(role_id: str) -> Response:
    """Delete a role.

    One that nobody holds: neither a user or a group, in the whole instance or in a project, nor a signup token for those to come.
    """
    with transaction() as conn:
        actor = require(conn, "ADMIN")
        before = lock_custom(conn, id_in_path(role_id))
        refuse_held(roles.holders(conn, before["id"]))
        events.record(conn, Event("role-deleted", actor, pre_data=before))
        roles.delete(conn, before["id"])
    return empty_response()


def lock_custom(conn: Connection, role_id: int, change: dict[str, Any] | None = None) -> dict[str, Any]:
    """Lock a custom role and return what the log shows of it. 404 if there is none, 409 if it is predefined, 400 for another type."""
    role = roles.lock(conn, role_id) or abort(404, "No role has that id.")
    if role["type"] in ("root", "project"):
        abort(409, "A predefined role cannot be changed or deleted.")
    if change and change.get("type", role["type"]) != role["type"]:
        abort(400, f"type: must stay {role['type']}")
    return role


def refuse_held(holders: dict[str, int]) -> None:
    """409 when there is anybody who holds the role."""
    held = [f"{number} {holder}{'' if number == 1 else 's'}" for holder, number in holders.items() if number]
    if held:
        abort(409, f"The role is held by {' and '.join([', '.join(held[:-1]), held[-1]] if held[1:] else held)}.")


def allowable(conn: Connection, asked: Sequence[dict], type: str) -> list[tuple[str, str | None]]:
    """The names and environments of what a role of this type is to allow; 400 names each that it cannot."""
    ids, names, environments = ([item.get(word) for item in asked] for word in ("id", "name", "environment"))
    found = permissions.resolve(conn, ids, names, environments)
    problems = [f"permissions.{place}: {problem}" for place, item in enumerate(found) if (problem := objection(item, type))]
    if problems:
        abort(400, "; ".join(problems[:20]))
    return [(item["name"], item["environment"]) for item in found]


def objection(item: DictRow, type: str) -> str | None:
    """Why a role of this type cannot allow this; None: it can."""
    if item["name"] is None:
        return "must be a permission that exists"
    if item["name"] == "ADMIN":
        return "must not be ADMIN, which is for the role Admin alone"
    if item["type"] == "root" and type == "custom":
        return "must not be a root permission, which a role in projects cannot hold"
    if item["environment"] is not None and item["type"] != "environment":
        return "must not name an environment, because the permission does not depend on one"
    return None if item["has_environment"] else "must name an environment that exists"
