"""Tags of a flag (neighbours.md 3.14)."""

from collections.abc import Mapping, Sequence

from flask import Blueprint, Response, abort
from psycopg.rows import DictRow
from werkzeug.exceptions import BadRequest

from rules.access import Actor, require
from rules.flags import NO_FLAG_ANYWHERE, flag_event, hold_anywhere, listed
from serving.contract import operation
from serving.request_data import load
from serving.responses import created, empty_response, json_response
from sql import events
from sql.database import Connection, as_json, connection, transaction
from sql.events import Event
from sql.flags import tags as flag_tags
from validators.vocabulary.tags import Tag

bp = Blueprint("flag_tags", __name__)


@bp.get("/api/admin/features/<feature_name>/tags")
@operation(record="tagList", refuses=(401, 403, 404))
def list_flag_tags(feature_name: str) -> Response:
    """List the tags of a flag.

    An archived flag has its tags still.
    """
    with connection() as conn:
        actor = require(conn)
        body = flag_tags.get_list(conn, feature_name, actor.viewer) or abort(404, NO_FLAG_ANYWHERE)
    return json_response(body)


@bp.post("/api/admin/features/<feature_name>/tags")
@operation(record="tag", body=Tag, status=201, refuses=(401, 403, 404, 415))
def add_flag_tag(feature_name: str) -> Response:
    """Put a tag on a flag.

    The type must be there; the tag itself is made if it is not. A flag that has the tag already keeps it.
    """
    with transaction() as conn:
        actor, flag = hold_anywhere(conn, feature_name, "UPDATE_FEATURE")
        asked = load(Tag())
        if flag["archived_at"] is not None:
            abort(404, "The flag is archived.")
        add_tags(conn, actor, flag, [asked], "type")
    return created(as_json({"type": asked["type"], "value": asked["value"]}), "tags/{}/{}", asked["type"], asked["value"])


@bp.delete("/api/admin/features/<feature_name>/tags/<type>/<anything:value>")
@operation(record=None, refuses=(401, 403, 404))
def remove_flag_tag(feature_name: str, type: str, value: str) -> Response:
    """Take a tag off a flag.

    The tag itself stays. A flag that does not have it is as it should be.
    """
    with transaction() as conn:
        actor, flag = hold_anywhere(conn, feature_name, "UPDATE_FEATURE")
        if flag["archived_at"] is not None:
            abort(404, "The flag is archived.")
        if flag_tags.remove(conn, flag["id"], type, value):
            tag = {"type": type, "value": value}
            events.record(
                conn, flag_event("feature-untagged", actor, flag, pre_data=tag, tags=[other for other in flag["tags"] if other != tag])
            )
    return empty_response()


def add_tags(conn: Connection, actor: Actor, flag: DictRow, tags: Sequence[Mapping[str, str]], field: str) -> None:
    """Put tags on a flag that is held, with the events of those that it did not have; 400 when a type is unknown.

    field: what the message of the 400 is about.
    """
    types = {tag["type"] for tag in tags}
    unknown = sorted(types - flag_tags.hold_types(conn, types)) if types else []
    if unknown:
        raise BadRequest(f"{field}: there is no type of tags {listed(unknown)}")
    by_now = flag["tags"]
    for added in flag_tags.add(conn, flag["id"], tags) if tags else ():
        tag = {"type": added["type"], "value": added["value"]}
        if added["is_new"]:
            events.record(conn, Event("tag-created", actor, data=tag))
        # The tags of that time: this one, and those that came before it.
        by_now = sorted([*by_now, tag], key=lambda one: (one["type"], one["value"]))
        events.record(conn, flag_event("feature-tagged", actor, flag, data=tag, tags=by_now))
