"""Add tags to a flag, list them, or remove them."""

from flask import Blueprint, Response, abort

from rules.access import require
from rules.flags import NO_FLAG_ANYWHERE, lock_flag_anywhere, lock_live_flags, refuse_archived
from rules.tags import add_tags, change_tags, check_tag_types, remove_tags
from serving.operation import operation
from serving.request_data import load
from serving.responses import created, empty_response, json_response, json_text
from sql.database import connection, transaction
from sql.flags import tags as flag_tags
from validators.catalog.tags import Tag
from validators.flags.tags import UpdateTags, UpdateTagsOfFlags

bp = Blueprint("flag_tags", __name__)


@bp.get("/api/admin/features/<feature_name>/tags")
@operation(record="tagList", refuses=(401, 403, 404))
def list_flag_tags(feature_name: str) -> Response:
    """List the tags of a flag.

    Works for archived flags too.
    """
    with connection() as conn:
        actor = require(conn)
        body = flag_tags.get_list(conn, feature_name, actor.viewer) or abort(404, NO_FLAG_ANYWHERE)
    return json_response(body)


@bp.post("/api/admin/features/<feature_name>/tags")
@operation(record="tag", body=Tag, status=201, refuses=(401, 403, 404, 415))
def add_flag_tag(feature_name: str) -> Response:
    """Add a tag to a flag.

    The tag type must exist. If the tag does not exist, it is created. 201 even if the flag already has the tag.
    """
    with transaction() as conn:
        actor, flag = lock_flag_anywhere(conn, feature_name, "UPDATE_FEATURE")
        tag = load(Tag())
        refuse_archived(flag)
        check_tag_types(conn, [(flag["name"], tag)])
        add_tags(conn, actor, [(flag, tag)])
    return created(json_text({"type": tag["type"], "value": tag["value"]}), "tags/{}/{}", tag["type"], tag["value"])


@bp.put("/api/admin/features/<feature_name>/tags")
@operation(record="tagList", body=UpdateTags, refuses=(401, 403, 404, 415))
def update_flag_tags(feature_name: str) -> Response:
    """Update the tags of a flag.

    Adds tags, then removes tags. Tags in neither list stay. The types of added tags must exist. New tags are created.
    """
    with transaction() as conn:
        actor, flag = lock_flag_anywhere(conn, feature_name, "UPDATE_FEATURE")
        change = load(UpdateTags())
        refuse_archived(flag)
        change_tags(conn, actor, [flag], change)
        body = flag_tags.get_list(conn, feature_name, actor.viewer)
    return json_response(body)


@bp.put("/api/admin/projects/<project_id>/tags")
@operation(record=None, body=UpdateTagsOfFlags, refuses=(401, 403, 404, 415))
def update_tags_of_flags(project_id: str) -> Response:
    """Update the tags of several flags.

    Updates all of them or none. Adds tags to each flag, then removes tags.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_FEATURE", project=project_id)
        change = load(UpdateTagsOfFlags())
        change_tags(conn, actor, lock_live_flags(conn, actor, project_id, change["features"]), change["tags"])
    return empty_response()


@bp.delete("/api/admin/features/<feature_name>/tags/<type>/<anything:value>")
@operation(record=None, refuses=(401, 403, 404))
def remove_flag_tag(feature_name: str, type: str, value: str) -> Response:
    """Remove a tag from a flag.

    The tag still exists afterwards. 200 even if the flag does not have the tag.
    """
    with transaction() as conn:
        actor, flag = lock_flag_anywhere(conn, feature_name, "UPDATE_FEATURE")
        refuse_archived(flag)
        remove_tags(conn, actor, [(flag, {"type": type, "value": value})])
    return empty_response()
