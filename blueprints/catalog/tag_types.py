"""Tag types, such as simple. Every tag has a type."""

from flask import Blueprint, Response, abort

from rules.access import require
from rules.instance_limits import unique_or_409
from serving.etags import IF_SHOWN, content_version, refuse_changed
from serving.operation import operation
from serving.request_data import load
from serving.responses import created, empty_response, json_response, json_text
from sql import events
from sql.catalog import tag_types
from sql.database import connection, transaction
from sql.events import Event
from validators.catalog.tag_types import CreateTagType, UpdateTagType
from validators.errors import NameExists
from validators.returned import without_read_only

bp = Blueprint("tag_types", __name__)

UNKNOWN = "No tag type has that name."


@bp.get("/api/admin/tag-types")
@operation(record="tagTypes", refuses=(401, 403))
def list_tag_types() -> Response:
    """List tag types.

    Returns all of them, sorted by name.
    """
    with connection() as conn:
        require(conn)
        body = tag_types.list_all(conn)
    return json_response(body)


@bp.post("/api/admin/tag-types")
@operation(record="tagType", body=CreateTagType, status=201, refuses=(400, 401, 403, 409, 415))
def create_tag_type() -> Response:
    """Create a tag type.

    Flags can then have tags of this type.
    """
    with transaction() as conn, unique_or_409(tag_types.TAKEN):
        actor = require(conn, "CREATE_TAG_TYPE")
        payload = load(CreateTagType())
        tag_type = tag_types.insert(conn, payload["name"], payload.get("description", ""), payload.get("icon"))
        events.record(conn, Event("tag-type-created", actor, data=tag_type))
    return created(json_text(tag_type), "tag-types/{}", tag_type["name"])


@bp.post("/api/admin/tag-types/validate")
@operation(record="tagTypeVerdict", body=CreateTagType, refuses=(400, 401, 403, 409, 415))
def validate_tag_type() -> Response:
    """Check a new tag type.

    200 if it is valid and its name is free.
    """
    with connection() as conn:
        require(conn)
        payload = load(CreateTagType())
        if tag_types.get(conn, payload["name"]) is not None:
            raise NameExists(tag_types.TAKEN["tag_types_pkey"])
    tag_type = {"name": payload["name"], "description": payload.get("description", ""), "icon": payload.get("icon")}
    return json_response(json_text({"valid": True, "tagType": tag_type}))


@bp.get("/api/admin/tag-types/<name>")
@operation(record="tagTypeAnswer", refuses=(401, 403, 404))
def get_tag_type(name: str) -> Response:
    """Get a tag type.

    Returns its name, description and icon.
    """
    with connection() as conn:
        require(conn)
        body = tag_types.get(conn, name) or abort(404, UNKNOWN)
    return json_response(body)


@bp.put("/api/admin/tag-types/<name>")
@operation(body=UpdateTagType, refuses=(400, 401, 403, 404, 415), errors=IF_SHOWN)
def update_tag_type(name: str) -> Response:
    """Update a tag type.

    Omitted properties keep their values.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_TAG_TYPE")
        refuse_changed(lambda: content_version(tag_types.lock(conn, name), "name", "description"), UNKNOWN)
        payload = load(UpdateTagType(), lambda: tag_types.lock(conn, name))
        before = tag_types.lock(conn, name) or abort(404, UNKNOWN)
        after = tag_types.update(conn, before | without_read_only(payload, lambda: before))
        events.record_change(conn, Event("tag-type-updated", actor, data=after, pre_data=before))
    return empty_response()


@bp.delete("/api/admin/tag-types/<name>")
@operation(refuses=(401, 403, 404))
def delete_tag_type(name: str) -> Response:
    """Delete a tag type.

    Also deletes its tags and removes them from all flags.
    """
    with transaction() as conn:
        actor = require(conn, "DELETE_TAG_TYPE")
        before = tag_types.lock(conn, name) or abort(404, UNKNOWN)
        tag_types.delete(conn, name)
        events.record(conn, Event("tag-type-deleted", actor, pre_data=before))
    return empty_response()
