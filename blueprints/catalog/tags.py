"""All tags of the instance. To add a tag to a flag, see Flag tags."""

from flask import Blueprint, Response, abort
from werkzeug.exceptions import Forbidden

from rules.access import Actor, require
from rules.flags import flag_event
from rules.instance_limits import unique_or_409
from serving.operation import operation
from serving.request_data import load
from serving.responses import created, empty_response, json_response
from sql import access, events
from sql.catalog import tag_types, tags
from sql.database import Connection, connection, transaction
from sql.events import Event
from validators.catalog.tags import Tag

bp = Blueprint("tags", __name__)


@bp.get("/api/admin/tags")
@operation(record="tagList", refuses=(401, 403))
def list_tags() -> Response:
    """List tags.

    Includes tags that no flag has.
    """
    with connection() as conn:
        require(conn)
        body = tags.list_all(conn)
    return json_response(body)


@bp.get("/api/admin/tags/<type>")
@operation(record="tagList", refuses=(401, 403))
def list_tags_of_type(type: str) -> Response:
    """List the tags of a type.

    The list is empty if the type does not exist.
    """
    with connection() as conn:
        require(conn)
        body = tags.list_all(conn, type)
    return json_response(body)


@bp.post("/api/admin/tags")
@operation(record="tagAnswer", body=Tag, status=201, refuses=(400, 401, 403, 409, 415))
def create_tag() -> Response:
    """Create a tag.

    Needs the permission UPDATE_FEATURE in at least one project. You can also create a tag by adding it to a flag.
    """
    with transaction() as conn, unique_or_409(tags.TAKEN):
        actor = require(conn)
        projects_with_permission(conn, actor)
        payload = load(Tag())
        if tag_types.lock(conn, payload["type"]) is None:
            abort(400, "type: must be an existing tag type")
        tags.insert(conn, payload["type"], payload["value"])
        events.record(conn, Event("tag-created", actor, data={"type": payload["type"], "value": payload["value"]}))
        body = tags.get(conn, payload["type"], payload["value"])
    return created(body, "tags/{}/{}", payload["type"], payload["value"])


@bp.get("/api/admin/tags/<type>/<anything:value>")
@operation(record="tagAnswer", refuses=(401, 403, 404))
def get_tag(type: str, value: str) -> Response:
    """Get a tag.

    404 if it does not exist.
    """
    with connection() as conn:
        require(conn)
        body = tags.get(conn, type, value) or abort(404, "This tag does not exist.")
    return json_response(body)


@bp.delete("/api/admin/tags/<type>/<anything:value>")
@operation(refuses=(401, 403, 404))
def delete_tag(type: str, value: str) -> Response:
    """Delete a tag.

    Also removes it from all flags. Needs the permission UPDATE_FEATURE in every project with such a flag.
    """
    with transaction() as conn:
        actor = require(conn)
        allowed = projects_with_permission(conn, actor)
        if not tags.lock(conn, type, value):
            abort(404, "This tag does not exist.")
        flags = tags.lock_flag_tags(conn, type, value)
        if allowed is not None and not {flag["project_id"] for flag in flags} <= allowed:
            raise Forbidden("You need the permission UPDATE_FEATURE in all projects with flags that have this tag.")
        tag = {"type": type, "value": value}
        tags.delete(conn, type, value)
        events.record(conn, *[flag_event("feature-untagged", actor, flag, pre_data=tag) for flag in flags])
        events.record(conn, Event("tag-deleted", actor, data=tag))
    return empty_response()


# Our choice: tags belong to the whole instance, and all users can read them. Deleting a tag needs the permission in
# every project whose flags have it.
def projects_with_permission(conn: Connection, actor: Actor) -> set[str] | None:
    """Return the ids of the projects in which the caller can change flags, or None for all. Raise 403 for none."""
    if actor.is_admin or actor.user_id is None:
        return None
    projects = access.projects_permitting(conn, actor.user_id, "UPDATE_FEATURE")
    if not projects:
        raise Forbidden("You need the permission UPDATE_FEATURE in at least one project.")
    return projects
