"""Types of tags (neighbours.md 3.16)."""

from flask import Blueprint, Response, abort

from rules.access import require
from rules.limits import unique
from serving.contract import operation
from serving.request_data import load
from serving.responses import created, empty_response, json_response
from sql import events
from sql.database import as_json, connection, transaction
from sql.events import Event
from sql.vocabulary import tag_types
from validators.errors import NameExists
from validators.vocabulary.tag_types import CreateTagType, UpdateTagType

bp = Blueprint("tag_types", __name__)


@bp.get("/api/admin/tag-types")
@operation(record="tagTypes", refuses=(401, 403))
def list_tag_types() -> Response:
    """List types of tags.

    All of them, by name.
    """
    with connection() as conn:
        require(conn)
        body = tag_types.read(conn)
    return json_response(body)


@bp.post("/api/admin/tag-types")
@operation(record="tagType", body=CreateTagType, status=201, refuses=(400, 401, 403, 409, 415))
def create_tag_type() -> Response:
    """Create a type of tags.

    Flags can then have tags of this type.
    """
    with transaction() as conn, unique(tag_types.TAKEN):
        actor = require(conn, "CREATE_TAG_TYPE")
        asked = load(CreateTagType())
        tag_type = tag_types.insert(conn, asked["name"], asked.get("description", ""), asked.get("icon"))
        events.record(conn, Event("tag-type-created", actor, data=tag_type))
    return created(as_json(tag_type), "tag-types/{}", tag_type["name"])


@bp.post("/api/admin/tag-types/validate")
@operation(record="tagTypeVerdict", body=CreateTagType, refuses=(400, 401, 403, 409, 415))
def validate_tag_type() -> Response:
    """Check a type of tags to be.

    Whether it is well formed and its name free.
    """
    with connection() as conn:
        require(conn)
        asked = load(CreateTagType())
        if tag_types.get(conn, asked["name"]) is not None:
            raise NameExists(tag_types.TAKEN["tag_types_pkey"])
    tag_type = {"name": asked["name"], "description": asked.get("description", ""), "icon": asked.get("icon")}
    return json_response(as_json({"valid": True, "tagType": tag_type}))


@bp.get("/api/admin/tag-types/<name>")
@operation(record="tagTypeAnswer", refuses=(401, 403, 404))
def get_tag_type(name: str) -> Response:
    """Get a type of tags.

    With what it is for.
    """
    with connection() as conn:
        require(conn)
        body = tag_types.get(conn, name) or abort(404, "No tag type has that name.")
    return json_response(body)


@bp.put("/api/admin/tag-types/<name>")
@operation(body=UpdateTagType, refuses=(400, 401, 403, 404, 415))
def update_tag_type(name: str) -> Response:
    """Change a type of tags.

    What is absent stays.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_TAG_TYPE")
        asked = load(UpdateTagType())
        before = tag_types.lock(conn, name) or abort(404, "No tag type has that name.")
        after = tag_types.update(conn, before | asked)
        events.record_change(conn, Event("tag-type-updated", actor, data=after, pre_data=before))
    return empty_response()


@bp.delete("/api/admin/tag-types/<name>")
@operation(refuses=(401, 403, 404))
def delete_tag_type(name: str) -> Response:
    """Delete a type of tags.

    Its tags go with it, from every flag.
    """
    with transaction() as conn:
        actor = require(conn, "DELETE_TAG_TYPE")
        before = tag_types.lock(conn, name) or abort(404, "No tag type has that name.")
        tag_types.delete(conn, name)
        events.record(conn, Event("tag-type-deleted", actor, pre_data=before))
    return empty_response()
