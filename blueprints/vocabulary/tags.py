"""Tags as such, whether or not a flag has them (neighbours.md 3.16)."""

from flask import Blueprint, Response, abort
from werkzeug.exceptions import Forbidden

from rules.access import Actor, require
from rules.flags import flag_event
from rules.limits import unique
from serving.contract import operation
from serving.request_data import load
from serving.responses import created, empty_response, json_response
from sql import access, events
from sql.database import Connection, connection, transaction
from sql.events import Event
from sql.vocabulary import tag_types, tags
from validators.vocabulary.tags import Tag

bp = Blueprint("tags", __name__)


@bp.get("/api/admin/tags")
@operation(record="tagList", refuses=(401, 403))
def list_tags() -> Response:
    """List tags.

    Those that no flag has too.
    """
    with connection() as conn:
        require(conn)
        body = tags.read(conn)
    return json_response(body)


@bp.get("/api/admin/tags/<type>")
@operation(record="tagList", refuses=(401, 403))
def list_tags_of_type(type: str) -> Response:
    """List the tags of a type.

    Of a type that is not there, there are none.
    """
    with connection() as conn:
        require(conn)
        body = tags.read(conn, type)
    return json_response(body)


@bp.post("/api/admin/tags")
@operation(record="tagAnswer", body=Tag, status=201, refuses=(400, 401, 403, 409, 415))
def create_tag() -> Response:
    """Create a tag.

    For who may change flags in some project. Putting a tag on a flag makes it too.
    """
    with transaction() as conn, unique(tags.TAKEN):
        actor = require(conn)
        permitted(conn, actor)
        asked = load(Tag())
        if tag_types.lock(conn, asked["type"]) is None:
            abort(400, "type: must be a tag type that exists")
        tags.insert(conn, asked["type"], asked["value"])
        events.record(conn, Event("tag-created", actor, data={"type": asked["type"], "value": asked["value"]}))
        body = tags.get(conn, asked["type"], asked["value"])
    return created(body, "tags/{}/{}", asked["type"], asked["value"])


@bp.get("/api/admin/tags/<type>/<anything:value>")
@operation(record="tagAnswer", refuses=(401, 403, 404))
def get_tag(type: str, value: str) -> Response:
    """Get a tag.

    Whether there is such a one.
    """
    with connection() as conn:
        require(conn)
        body = tags.get(conn, type, value) or abort(404, "There is no such tag.")
    return json_response(body)


@bp.delete("/api/admin/tags/<type>/<anything:value>")
@operation(refuses=(401, 403, 404))
def delete_tag(type: str, value: str) -> Response:
    """Delete a tag.

    From every flag too, so for who may change flags in every project where one has it.
    """
    with transaction() as conn:
        actor = require(conn)
        allowed = permitted(conn, actor)
        if not tags.lock(conn, type, value):
            abort(404, "There is no such tag.")
        flags = tags.uses(conn, type, value)
        if allowed is not None and not {flag["project_id"] for flag in flags} <= allowed:
            raise Forbidden("You lack the permission UPDATE_FEATURE in a project where flags have this tag.")
        tag = {"type": type, "value": value}
        tags.delete(conn, type, value)
        events.record(conn, *[flag_event("feature-untagged", actor, flag, pre_data=tag) for flag in flags])
        events.record(conn, Event("tag-deleted", actor, data=tag))
    return empty_response()


# Our choice: tags are of the whole instance, and everybody can read them; only projects that a caller may change are his to take them from.
def permitted(conn: Connection, actor: Actor) -> set[str] | None:
    """The projects whose flags the caller may change, None: all; 403 when there is none."""
    if actor.is_admin or actor.user_id is None:
        return None
    found = access.projects_permitting(conn, actor.user_id, "UPDATE_FEATURE")
    if not found:
        raise Forbidden("You lack the permission UPDATE_FEATURE in every project.")
    return found
