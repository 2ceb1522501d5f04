"""Segments: the list, and the form of one."""

import json
from typing import Any

from flask import Blueprint, Response, abort

from blueprints.pages.constraints import constraint_choices, describe
from blueprints.pages.lists import ListQuery, list_page, slice_of
from blueprints.pages.newest_change import newest_change
from blueprints.pages.page import Reader, page, require_reader
from rules.access import id_in_path
from serving.request_data import load_query
from sql.access import list_protected
from sql.catalog import context_fields, segment_strategies, segments
from sql.database import Connection, connection
from sql.projects import list as project_list
from sql.projects.change_request_rights import get_rights

bp = Blueprint("segments", __name__)

PROJECT_PERMISSION = "UPDATE_PROJECT_SEGMENT"


@bp.get("/admin/segments")
def show_segments() -> Response:
    """Show the segments that the reader can see."""
    with connection() as conn:
        reader = require_reader(conn)
        found = json.loads(segments.list_all(conn, reader.actor.viewer))["segments"]
        names = project_list.names_by_id(conn, reader.actor.viewer)
    creators = ("ADMIN", "CREATE_SEGMENT", PROJECT_PERMISSION)
    may_create = any(held["permission"] in creators for held in reader.permissions)
    context = {"describe": describe, "may_create": may_create, "names": names}
    return page("admin/segments.html", **context, **list_page(found, "name"))


@bp.get("/admin/segments/new")
def show_new_segment() -> Response:
    """Show the form of a new segment."""
    with connection() as conn:
        reader = require_reader(conn)
        choices = form_choices(conn, reader, "CREATE_SEGMENT")
    if not reader.may("CREATE_SEGMENT") and not choices["projects"]:
        abort(403, "You lack the permission CREATE_SEGMENT.")
    return page("admin/segment.html", record={"constraints": []}, is_new=True, **choices)


@bp.get("/admin/segments/<segment_id>")
def show_segment(segment_id: str) -> Response:
    """Show the form of a segment, and the strategies that use it."""
    number = id_in_path(segment_id)
    with connection() as conn:
        reader = require_reader(conn, list_projects=True)
        query = load_query(ListQuery)
        segment = segments.get(conn, number, reader.actor.viewer) or abort(404, "No segment has that id.")
        # None: also the places where the reader holds SKIP_CHANGE_REQUEST.
        protected = list_protected(conn, None, segment=number)
        places = [place for place in protected if get_rights(conn, reader.user_id, *place)["may_submit"]]
        found = segment_strategies.list_strategies(conn, number, reader.actor.viewer)
        choices = form_choices(conn, reader, "UPDATE_SEGMENT")
        choices["is_protected"] = bool(list_protected(conn, reader.user_id, segment=number))
        choices |= newest_change(conn, reader, segment.version, "segment-updated", {"id": number})
    record = json.loads(segment)
    uses = slice_of(json.loads(found or '{"strategies": []}')["strategies"], query["offset"])
    return page("admin/segment.html", record=record, is_new=False, places=places, describe=describe, **choices, **uses)


def form_choices(conn: Connection, reader: Reader, permission: str) -> dict[str, Any]:
    """Return the context fields, operators, and the projects whose segments the reader may change."""
    text = project_list.list_all(conn, archived=False, viewer=reader.actor.viewer, user_id=reader.user_id)
    projects = [
        project
        for project in json.loads(text)["projects"]
        if reader.may(permission, PROJECT_PERMISSION, project=project["id"])
    ]
    return {"projects": projects, **constraint_choices(json.loads(context_fields.list_all(conn)))}
