"""Groups of users. A group can have a root role, and roles in projects."""

from flask import Blueprint, Response, abort

from rules.access import id_in_path, require
from rules.groups import check_role_and_users
from rules.instance_limits import unique_or_409
from rules.refusals import Refusal, name_taken
from serving.etags import refuse_changed
from serving.operation import operation
from serving.request_data import load
from serving.responses import created, empty_response, json_response
from sql import events
from sql.database import connection, transaction
from sql.events import Event
from sql.people import groups
from validators.people.groups import CreateGroup, UpdateGroup
from validators.returned import without_read_only

bp = Blueprint("groups", __name__)

NO_GROUP = "No group has that id."


@bp.get("/api/admin/groups")
@operation(record="groups", refuses=(401, 403))
def list_groups() -> Response:
    """List groups.

    Returns them sorted by name, with their members and the projects in which they have a role.
    """
    with connection() as conn:
        require(conn, "ADMIN")
        body = groups.list_all(conn)
    return json_response(body)


@bp.get("/api/admin/groups/<group_id>")
@operation(record="group", refuses=(400, 401, 403, 404), errors={404: Refusal("No group has that id.")})
def get_group(group_id: str) -> Response:
    """Get a group.

    Returns it with its members and the projects in which it has a role.
    """
    with connection() as conn:
        require(conn, "ADMIN")
        body = groups.get(conn, id_in_path(group_id)) or abort(404, NO_GROUP)
    return json_response(body)


@bp.post("/api/admin/groups")
@operation(
    record="group", body=CreateGroup, status=201, refuses=(400, 401, 403, 409, 415), errors={409: name_taken("a group")}
)
def create_group() -> Response:
    """Create a group.

    Members hold the root role and the project roles of the group, in addition to their own roles.
    """
    with transaction() as conn, unique_or_409(groups.TAKEN):
        actor = require(conn, "ADMIN")
        group = load(CreateGroup())
        check_role_and_users(conn, group)
        group_id = groups.insert(
            conn,
            group["name"],
            description=group["description"],
            root_role=group["rootRole"],
            mappings_sso=group["mappingsSSO"],
            created_by=actor.name,
        )
        groups.set_users(conn, group_id, group["users"], created_by=actor.name)
        events.record(conn, Event("group-created", actor, data=groups.get_logged(conn, group_id)))
        body = groups.get(conn, group_id)
    return created(body, "groups/{}", group_id)


@bp.put("/api/admin/groups/<group_id>")
@operation(
    record="group", body=UpdateGroup, refuses=(400, 401, 403, 404, 409, 412, 415), errors={409: name_taken("a group")}
)
def update_group(group_id: str) -> Response:
    """Update a group.

    The body replaces the group. Omitted properties are unset. Members who are not in the body leave the group. Members
    who stay keep the date on which they joined. Members have the order of the body.
    """
    with transaction() as conn, unique_or_409(groups.TAKEN):
        actor = require(conn, "ADMIN")
        number = id_in_path(group_id)
        refuse_changed(lambda: groups.lock(conn, number) and groups.get(conn, number), NO_GROUP)
        change = load(UpdateGroup(), lambda: groups.lock(conn, number))
        before = groups.lock(conn, number) or abort(404, NO_GROUP)
        group = before | without_read_only(change, lambda: groups.get(conn, number))
        check_role_and_users(conn, group)
        if "users" in change:
            groups.set_users(conn, number, group["users"], created_by=actor.name)
        groups.update(conn, group)
        after = groups.get_logged(conn, number)
        events.record_change(conn, Event("group-updated", actor, data=after, pre_data=before))
        body = groups.get(conn, number)
    return json_response(body)


@bp.delete("/api/admin/groups/<group_id>")
@operation(record=None, refuses=(400, 401, 403, 404, 412))
def delete_group(group_id: str) -> Response:
    """Delete a group.

    Its roles in projects are deleted too. Its members are not deleted.
    """
    with transaction() as conn:
        actor = require(conn, "ADMIN")
        number = id_in_path(group_id)
        refuse_changed(lambda: groups.lock(conn, number) and groups.get(conn, number), NO_GROUP)
        before = groups.lock(conn, number) or abort(404, NO_GROUP)
        events.record(conn, Event("group-deleted", actor, pre_data=before))
        groups.delete(conn, before["id"])
    return empty_response()
