"""Segments: named lists of constraints, for one project or for all."""

from flask import Blueprint, Response, abort

from rules.access import id_in_path, require
from rules.instance_limits import unique_or_409
from rules.refusals import Refusal, name_taken
from rules.segments import add_segment, change_segment, lock_changeable, remove_segment, require_in_any_project
from serving.etags import refuse_changed
from serving.operation import operation
from serving.request_data import load
from serving.responses import created, empty_response, json_response
from sql.catalog import segments
from sql.database import connection, transaction
from validators.catalog.segments import CreateSegment, SegmentName, UpdateSegment
from validators.errors import NameExists
from validators.returned import without_read_only

bp = Blueprint("segments", __name__)

UNKNOWN = "No segment has that id."


@bp.get("/api/admin/segments")
@operation(record="segments", refuses=(401, 403))
def list_segments() -> Response:
    """List segments.

    Returns segments for all projects, and of projects that the caller can see, sorted by name. Each has the number of
    live flags that use it, and of their projects.
    """
    with connection() as conn:
        actor = require(conn)
        body = segments.list_all(conn, actor.viewer)
    return json_response(body)


@bp.post("/api/admin/segments")
@operation(
    record="segment",
    body=CreateSegment,
    status=201,
    refuses=(400, 401, 403, 409, 415),
    errors={409: name_taken("a segment")},
)
def create_segment() -> Response:
    """Create a segment.

    A segment is for all projects, or for one project. For one project, the caller needs only UPDATE_PROJECT_SEGMENT in
    that project.
    """
    with transaction() as conn, unique_or_409(segments.TAKEN):
        actor = require_in_any_project(conn, "CREATE_SEGMENT")
        payload = load(CreateSegment())
        segment_id = add_segment(conn, actor, payload | {"createdBy": actor.name})
        body = segments.get(conn, segment_id, None)
    return created(body, "segments/{}", segment_id)


@bp.post("/api/admin/segments/validate")
@operation(body=SegmentName, status=204, refuses=(400, 401, 403, 409, 415), errors={409: name_taken("a segment")})
def validate_segment_name() -> Response:
    """Check a name for a new segment.

    204 if the name is free. Segments that the caller cannot see count too.
    """
    with connection() as conn:
        require(conn)
        payload = load(SegmentName())
        if segments.is_taken(conn, payload["name"]):
            raise NameExists(segments.TAKEN["segments_name_key"])
    return empty_response(204)


@bp.get("/api/admin/segments/<segment_id>")
@operation(
    record="segment",
    refuses=(400, 401, 403, 404),
    errors={404: Refusal("No segment has that id, or it is hidden from the caller.", "No segment has that id.")},
)
def get_segment(segment_id: str) -> Response:
    """Get a segment.

    Returns it with its constraints.
    """
    with connection() as conn:
        actor = require(conn)
        body = segments.get(conn, id_in_path(segment_id), actor.viewer) or abort(404, UNKNOWN)
    return json_response(body)


@bp.put("/api/admin/segments/<segment_id>")
@operation(
    body=UpdateSegment,
    status=204,
    refuses=(400, 401, 403, 404, 409, 412, 415),
    errors={
        409: Refusal(
            "The name is taken, or strategies outside of the new project use the segment.",
            "The segment is used by flag new-checkout in production. Remove it there first.",
        )
    },
)
def update_segment(segment_id: str) -> Response:
    """Update a segment.

    The body replaces the segment, except that an omitted description stays. 409 if the body limits it to one project,
    but strategies of other projects use it.
    """
    with transaction() as conn, unique_or_409(segments.TAKEN):
        actor, segment = lock_changeable(conn, "UPDATE_SEGMENT", segment_id)
        refuse_changed(lambda: segment and segments.get(conn, segment["id"], None), UNKNOWN)
        payload = load(UpdateSegment(), lambda: segment)
        before = segment or abort(404, UNKNOWN)
        change_segment(conn, actor, before, without_read_only(payload, lambda: before))
        record = segments.get(conn, before["id"], None)
    return empty_response(204, record=record)


@bp.delete("/api/admin/segments/<segment_id>")
@operation(
    status=204,
    refuses=(400, 401, 403, 404, 409, 412),
    errors={
        409: Refusal(
            "Strategies use the segment.",
            "The segment is used by flag new-checkout in production, 1 more place. Remove it there first.",
        )
    },
)
def delete_segment(segment_id: str) -> Response:
    """Delete a segment.

    409 if a strategy uses the segment, including strategies of archived flags.
    """
    with transaction() as conn:
        actor, segment = lock_changeable(conn, "DELETE_SEGMENT", segment_id)
        refuse_changed(lambda: segment and segments.get(conn, segment["id"], None), UNKNOWN)
        before = segment or abort(404, UNKNOWN)
        remove_segment(conn, actor, before)
    return empty_response(204)
