"""Segments: named lists of constraints, for one project or for all."""

from typing import Any

from flask import Blueprint, Response, abort
from werkzeug.exceptions import NotFound

from rules.access import Actor, id_in_path, require
from rules.instance_limits import refuse_excess, unique_or_409
from rules.refusals import Refusal, name_taken, refuse_used
from rules.segments import check_segment
from serving.operation import operation
from serving.request_data import load
from serving.responses import created, empty_response, json_response
from sql import access, events
from sql.catalog import segment_strategies, segments
from sql.database import Connection, connection, transaction
from sql.events import Event
from validators.catalog.segments import CreateSegment, SegmentName, UpdateSegment
from validators.errors import NameExists
from validators.returned import without_read_only

bp = Blueprint("segments", __name__)

# The permission in a project that allows changes of its segments. The root permissions in the views, such as
# CREATE_SEGMENT, allow changes of all segments.
PROJECT_PERMISSION = "UPDATE_PROJECT_SEGMENT"
UNKNOWN = "No segment has that id."
NO_PROJECT = "project: must be an existing project"


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
        require_in_project(conn, "CREATE_SEGMENT", payload["project"])
        hold_project(conn, payload["project"])
        check_segment(conn, payload)
        refuse_excess(conn, "MAX_SEGMENTS", "segment")
        segment_id = segments.insert(conn, **payload, created_by=actor.name)
        segment = segments.lock(conn, segment_id, None)
        events.record(conn, Event("segment-created", actor, project=payload["project"], data=segment))
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
    refuses=(400, 401, 403, 404, 409, 415),
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
        payload = load(UpdateSegment(), lambda: segment)
        before = segment or abort(404, UNKNOWN)
        require_in_project(conn, "UPDATE_SEGMENT", payload["project"])
        # The segment's old project needs no lock: a deletion of that project waits for the lock on the segment.
        if payload["project"] != before.get("project"):
            hold_project(conn, payload["project"])
        check_segment(conn, payload, before)
        if payload["project"] not in (None, before.get("project")):
            places = segment_strategies.list_places(conn, before["id"], payload["project"], actor.viewer)
            refuse_used("segment", places)
        after = segments.update(conn, before["id"], before | without_read_only(payload, lambda: before))
        events.record_change(
            conn, Event("segment-updated", actor, project=payload["project"], data=after, pre_data=before)
        )
    return empty_response(204)


@bp.delete("/api/admin/segments/<segment_id>")
@operation(
    status=204,
    refuses=(400, 401, 403, 404, 409),
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
        before = segment or abort(404, UNKNOWN)
        refuse_used("segment", segment_strategies.list_places(conn, before["id"], None, actor.viewer))
        segments.delete(conn, before["id"])
        events.record(conn, Event("segment-deleted", actor, project=before.get("project"), pre_data=before))
    return empty_response(204)


# Our choice: callers who can change no segment at all get 403 before the body is read.
def require_in_any_project(conn: Connection, permission: str) -> Actor:
    """Return the caller. Raise 403 unless they can change all segments, or those of at least one project."""
    actor = require(conn)
    if actor.is_admin or (
        actor.user_id is not None and access.projects_permitting(conn, actor.user_id, PROJECT_PERMISSION)
    ):
        return actor
    return require(conn, permission)


def require_in_project(conn: Connection, permission: str, project: str | None) -> None:
    """Raise 403 unless the caller can change segments of the project (None: of all), 400 if it is unknown."""
    if project is None:
        require(conn, permission)
        return
    try:
        require(conn, permission, PROJECT_PERMISSION, project=project)
    except NotFound:
        abort(400, NO_PROJECT)


def hold_project(conn: Connection, project: str | None) -> None:
    """Lock the project FOR SHARE. Raise 400 if it does not exist any more. None: do nothing."""
    if project is not None and not segments.hold_project(conn, project):
        abort(400, NO_PROJECT)


def lock_changeable(conn: Connection, permission: str, segment_id: str) -> tuple[Actor, dict[str, Any] | None]:
    """Return the caller and the locked segment, or None if it is hidden. Raise 403 if they cannot change it."""
    actor = require_in_any_project(conn, permission)
    segment = segments.lock(conn, id_in_path(segment_id), actor.viewer)
    if segment is not None:
        require_in_project(conn, permission, segment.get("project"))
    return actor, segment
