"""Changes of who has access to a project (neighbours.md 3.10)."""

from typing import Literal

from flask import Blueprint, Response

from rules import project_access as access_rules
from rules.access import Actor, id_in_path, require
from serving.contract import operation
from serving.request_data import load
from serving.responses import empty_response
from sql import events
from sql.database import Connection, transaction
from sql.events import Event
from sql.projects.access import Assignment
from validators.projects.access import GrantAccess, HeldRoles, ReplaceAccess

bp = Blueprint("project_access", __name__)

# Our choice: who may change the project, or was given the right to change this.
WRITE = ("UPDATE_PROJECT", "PROJECT_USER_ACCESS_WRITE")

# The events, by whose roles they were.
UPDATED = {"user": "project-access-user-roles-updated", "group": "project-access-group-roles-updated"}
DELETED = {"user": "project-access-user-roles-deleted", "group": "project-access-group-roles-deleted"}


@bp.post("/api/admin/projects/<project_id>/access")
@operation(body=GrantAccess, refuses=(401, 403, 404, 415))
def add_project_access(project_id: str) -> Response:
    """Give roles in a project.

    Every user and group that is named gets every role, beside those that they have. Who neither administers nor owns the project can give
    only roles whose permissions he holds in it.
    """
    with transaction() as conn:
        actor = require(conn, *WRITE, project=project_id)
        # What stands a thousand times in each of two lists would make a million pairs.
        asked = {name: set(ids) for name, ids in load(GrantAccess()).items()}
        before = access_rules.lock(conn, project_id)
        access_rules.check_known(conn, **asked)
        named = {Assignment(role, "user", one) for role in asked["roles"] for one in asked["users"]}
        named |= {Assignment(role, "group", one) for role in asked["roles"] for one in asked["groups"]}
        if access_rules.replace(conn, actor, project_id, before, before | named):
            added = access_rules.by_role(named - before, "roleId", "userIds", "groupIds")
            events.record(conn, Event("project-access-added", actor, project=project_id, data=added))
    return empty_response()


@bp.put("/api/admin/projects/<project_id>/access")
@operation(body=ReplaceAccess, refuses=(401, 403, 404, 415))
def set_project_access(project_id: str) -> Response:
    """Set all roles in a project.

    Whoever is not named has none afterwards. An assignment that stays keeps its date. No owner is demanded. Who neither administers nor
    owns the project can give only roles whose permissions he holds in it.
    """
    with transaction() as conn:
        actor = require(conn, *WRITE, project=project_id)
        asked = load(ReplaceAccess())["roles"]
        before = access_rules.lock(conn, project_id)
        after = {Assignment(it["id"], "user", one) for it in asked for one in it["users"]}
        after |= {Assignment(it["id"], "group", one) for it in asked for one in it["groups"]}
        access_rules.check_known(conn, **access_rules.named([it["id"] for it in asked], after))
        if access_rules.replace(conn, actor, project_id, before, after):
            was, now = (access_rules.by_role(them, "id", "users", "groups") for them in (before, after))
            events.record(conn, Event("project-access-updated", actor, project=project_id, data=now, pre_data=was))
    return empty_response()


@bp.put("/api/admin/projects/<project_id>/access/users/<user_id>/roles")
@operation(body=HeldRoles, refuses=(401, 403, 404, 409, 415))
def set_project_user_roles(project_id: str, user_id: str) -> Response:
    """Set the roles of a user in a project.

    An empty list takes all away. The last owner of a project remains one.
    """
    with transaction() as conn:
        actor = require(conn, *WRITE, project=project_id)
        asked = load(HeldRoles())["roles"]
        set_roles(conn, actor, project_id, "user", id_in_path(user_id), asked)
    return empty_response()


@bp.delete("/api/admin/projects/<project_id>/access/users/<user_id>/roles")
@operation(refuses=(401, 403, 404, 409))
def remove_project_user_roles(project_id: str, user_id: str) -> Response:
    """Take all roles in a project from a user.

    The last owner of a project remains one.
    """
    with transaction() as conn:
        actor = require(conn, *WRITE, project=project_id)
        remove_roles(conn, actor, project_id, "user", id_in_path(user_id))
    return empty_response()


@bp.put("/api/admin/projects/<project_id>/access/groups/<group_id>/roles")
@operation(body=HeldRoles, refuses=(401, 403, 404, 409, 415))
def set_project_group_roles(project_id: str, group_id: str) -> Response:
    """Set the roles of a group in a project.

    An empty list takes all away. The last owner of a project remains one.
    """
    with transaction() as conn:
        actor = require(conn, *WRITE, project=project_id)
        asked = load(HeldRoles())["roles"]
        set_roles(conn, actor, project_id, "group", id_in_path(group_id), asked)
    return empty_response()


@bp.delete("/api/admin/projects/<project_id>/access/groups/<group_id>/roles")
@operation(refuses=(401, 403, 404, 409))
def remove_project_group_roles(project_id: str, group_id: str) -> Response:
    """Take all roles in a project from a group.

    The last owner of a project remains one.
    """
    with transaction() as conn:
        actor = require(conn, *WRITE, project=project_id)
        remove_roles(conn, actor, project_id, "group", id_in_path(group_id))
    return empty_response()


def set_roles(conn: Connection, actor: Actor, project_id: str, holder: Literal["user", "group"], holder_id: int, roles: list[int]) -> None:
    """Let a user or group have these roles in the project and no others."""
    before = access_rules.lock(conn, project_id)
    access_rules.check_holder(conn, holder, holder_id)
    access_rules.check_known(conn, roles=roles)
    had = access_rules.of_holder(before, holder, holder_id)
    after = before - had | {Assignment(role, holder, holder_id) for role in roles}
    if access_rules.replace(conn, actor, project_id, before, after, keep_owner=True):
        was, now = ({"roles": held, f"{holder}Id": holder_id} for held in (access_rules.roles_of(had), sorted(set(roles))))
        events.record(conn, Event(UPDATED[holder], actor, project=project_id, data=now, pre_data=was))


def remove_roles(conn: Connection, actor: Actor, project_id: str, holder: Literal["user", "group"], holder_id: int) -> None:
    """Let a user or group have no roles in the project."""
    before = access_rules.lock(conn, project_id)
    access_rules.check_holder(conn, holder, holder_id)
    had = access_rules.of_holder(before, holder, holder_id)
    if access_rules.replace(conn, actor, project_id, before, before - had, keep_owner=True):
        was = {"roles": access_rules.roles_of(had), f"{holder}Id": holder_id}
        events.record(conn, Event(DELETED[holder], actor, project=project_id, pre_data=was))
