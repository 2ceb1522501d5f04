"""Groups of users (neighbours.md 3.7)."""

from flask import Blueprint, Response, abort

from rules.access import id_in_path, require
from rules.limits import unique
from serving.contract import operation
from serving.request_data import load
from serving.responses import created, empty_response, json_response
from sql import events
from sql.database import Connection, connection, transaction
from sql.events import Event
from sql.people import groups, root_roles, users
from validators.people.groups import CreateGroup

bp = Blueprint("groups", __name__)


@bp.get("/api/admin/groups")
@operation(record="groups", refuses=(401, 403))
def list_groups() -> Response:
    """List groups.

    By name, with their members and the projects in which they have a role.
    """
    with connection() as conn:
        require(conn, "ADMIN")
        body = groups.read(conn)
    return json_response(body)


@bp.get("/api/admin/groups/<group_id>")
@operation(record="group", refuses=(400, 401, 403, 404))
def get_group(group_id: str) -> Response:
    """Get a group.

    With its members and the projects in which it has a role.
    """
    with connection() as conn:
        require(conn, "ADMIN")
        body = groups.get(conn, id_in_path(group_id)) or abort(404, "No group has that id.")
    return json_response(body)


@bp.post("/api/admin/groups")
@operation(record="group", body=CreateGroup, status=201, refuses=(400, 401, 403, 409, 415))
def create_group() -> Response:
    """Create a group.

    Its members hold its root role, and the roles that it is given in projects, beside their own.
    """
    with transaction() as conn, unique(groups.TAKEN):
        actor = require(conn, "ADMIN")
        asked = whole(conn, load(CreateGroup()))
        members = asked.pop("users")
        group_id = groups.insert(conn, **asked, created_by=actor.name)
        groups.set_users(conn, group_id, members, created_by=actor.name)
        events.record(conn, Event("group-created", actor, data=groups.event_data(conn, group_id)))
        body = groups.get(conn, group_id)
    return created(body, "groups/{}", group_id)


@bp.put("/api/admin/groups/<group_id>")
@operation(record="group", body=CreateGroup, refuses=(400, 401, 403, 404, 409, 415))
def update_group(group_id: str) -> Response:
    """Change a group.

    Replaces everything: what is left out is unset, and who is not named is no member any more. Who stays has joined when he had.
    """
    with transaction() as conn, unique(groups.TAKEN):
        actor = require(conn, "ADMIN")
        number, asked = id_in_path(group_id), load(CreateGroup())
        found = groups.lock(conn, number) or abort(404, "No group has that id.")
        before = groups.event_data(conn, found)
        replace(conn, found, asked, actor.name)
        after = groups.event_data(conn, found)
        if after != before:
            events.record(conn, Event("group-updated", actor, data=after, pre_data=before))
        body = groups.get(conn, found)
    return json_response(body)


@bp.delete("/api/admin/groups/<group_id>")
@operation(record=None, refuses=(400, 401, 403, 404))
def delete_group(group_id: str) -> Response:
    """Delete a group.

    Its roles in projects go with it; its members stay users.
    """
    with transaction() as conn:
        actor = require(conn, "ADMIN")
        found = groups.lock(conn, id_in_path(group_id)) or abort(404, "No group has that id.")
        events.record(conn, Event("group-deleted", actor, pre_data=groups.event_data(conn, found)))
        groups.delete(conn, found)
    return empty_response()


def replace(conn: Connection, group_id: int, asked: dict, by: str) -> None:
    """Make a group what is asked for, and nothing else."""
    kept = whole(conn, asked)
    groups.set_users(conn, group_id, kept.pop("users"), created_by=by)
    groups.update(conn, group_id, **kept)


def whole(conn: Connection, asked: dict) -> dict:
    """What a group is to be, as it is kept; 400 for a role or users that do not exist."""
    problems = []
    if asked["rootRole"] is not None and root_roles.hold(conn, asked["rootRole"]) is None:
        problems.append("rootRole: must be the id of a root role")
    unknown = set(asked["users"]) - users.hold(conn, asked["users"])
    if unknown:
        some = ", ".join(map(str, sorted(unknown)[:20]))
        problems.append(f"users: must be users that exist, which these are not: {some}")
    if problems:
        abort(400, "; ".join(problems))
    words = {"name": "name", "description": "description", "root_role": "rootRole", "mappings_sso": "mappingsSSO", "users": "users"}
    return {kept: asked[word] for kept, word in words.items()}
