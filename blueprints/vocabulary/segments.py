"""Segments: constraints with a name, for all projects or for one (neighbours.md 3.16)."""

from collections.abc import Mapping
from typing import Any

from flask import Blueprint, Response, abort, current_app
from werkzeug.exceptions import NotFound

from rules.access import Actor, id_in_path, require
from rules.constraints import check_constraints
from rules.limits import refuse_excess, unique
from serving.contract import operation
from serving.request_data import load
from serving.responses import created, empty_response, json_response
from sql import access, events
from sql.database import Connection, connection, transaction
from sql.events import Event
from sql.vocabulary import segment_strategies, segments
from validators.errors import NameExists
from validators.vocabulary.segments import SegmentInput, SegmentName

bp = Blueprint("segments", __name__)

# What it takes for the segments of one project, beside the permission for all segments.
IN_PROJECT = "UPDATE_PROJECT_SEGMENT"
UNKNOWN = "No segment has that id."
NO_PROJECT = "project: must be a project that exists"


@bp.get("/api/admin/segments")
@operation(record="segments", refuses=(401, 403))
def list_segments() -> Response:
    """List segments.

    Those of all projects and of the projects that the caller may see, by name, with how many live flags use each, and in how many projects.
    """
    with connection() as conn:
        actor = require(conn)
        body = segments.read(conn, actor.viewer)
    return json_response(body)


@bp.post("/api/admin/segments")
@operation(record="segment", body=SegmentInput, status=201, refuses=(400, 401, 403, 409, 415))
def create_segment() -> Response:
    """Create a segment.

    For all projects, or for one: that takes no more than the permission UPDATE_PROJECT_SEGMENT there.
    """
    with transaction() as conn, unique(segments.TAKEN):
        actor = require_somewhere(conn, "CREATE_SEGMENT")
        asked = load(SegmentInput())
        require_there(conn, "CREATE_SEGMENT", asked["project"])
        hold_project(conn, asked["project"])
        check(conn, asked)
        refuse_excess(conn, "MAX_SEGMENTS", "segments")
        segment_id = segments.insert(conn, **asked, created_by=actor.name)
        made = segments.lock(conn, segment_id, None)
        events.record(conn, Event("segment-created", actor, project=asked["project"], data=made))
        body = segments.get(conn, segment_id, None)
    return created(body, "segments/{}", segment_id)


@bp.post("/api/admin/segments/validate")
@operation(body=SegmentName, status=204, refuses=(400, 401, 403, 409, 415))
def validate_segment_name() -> Response:
    """Check the name of a segment to be.

    Whether it is free, also of segments that the caller may not see.
    """
    with connection() as conn:
        require(conn)
        asked = load(SegmentName())
        if segments.is_taken(conn, asked["name"]):
            raise NameExists(segments.TAKEN["segments_name_key"])
    return empty_response(204)


@bp.get("/api/admin/segments/<segment_id>")
@operation(record="segment", refuses=(400, 401, 403, 404))
def get_segment(segment_id: str) -> Response:
    """Get a segment.

    With its constraints.
    """
    with connection() as conn:
        actor = require(conn)
        body = segments.get(conn, id_in_path(segment_id), actor.viewer) or abort(404, UNKNOWN)
    return json_response(body)


@bp.put("/api/admin/segments/<segment_id>")
@operation(body=SegmentInput, status=204, refuses=(400, 401, 403, 404, 409, 415))
def update_segment(segment_id: str) -> Response:
    """Change a segment.

    The body replaces it. It cannot become a segment of one project while strategies of others use it.
    """
    with transaction() as conn, unique(segments.TAKEN):
        actor, found = changeable(conn, "UPDATE_SEGMENT", segment_id)
        asked = load(SegmentInput())
        before = found or abort(404, UNKNOWN)
        require_there(conn, "UPDATE_SEGMENT", asked["project"])
        # While it is held, its own project cannot go; and whoever deletes that project waits for the segment, not the other way round.
        if asked["project"] != before.get("project"):
            hold_project(conn, asked["project"])
        check(conn, asked, before)
        after = segments.update(conn, before["id"], asked)
        events.record_change(conn, Event("segment-updated", actor, project=asked["project"], data=after, pre_data=before))
    return empty_response(204)


@bp.delete("/api/admin/segments/<segment_id>")
@operation(status=204, refuses=(400, 401, 403, 404, 409))
def delete_segment(segment_id: str) -> Response:
    """Delete a segment.

    One that no strategy uses, of an archived flag neither.
    """
    with transaction() as conn:
        actor, found = changeable(conn, "DELETE_SEGMENT", segment_id)
        before = found or abort(404, UNKNOWN)
        refuse_used(segment_strategies.count_outside(conn, before["id"], None), "The segment is used by {}.")
        segments.delete(conn, before["id"])
        events.record(conn, Event("segment-deleted", actor, project=before.get("project"), pre_data=before))
    return empty_response(204)


# Our choice: who may do this with no segment at all is refused before anything is looked at.
def require_somewhere(conn: Connection, permission: str) -> Actor:
    """The caller; 403 if he holds neither the permission for all segments nor the one for those of a project, in any project."""
    actor = require(conn)
    if actor.is_admin or (actor.user_id is not None and access.projects_permitting(conn, actor.user_id, IN_PROJECT)):
        return actor
    return require(conn, permission)


def require_there(conn: Connection, permission: str, project: str | None) -> None:
    """403 unless the caller may have segments in the project (None: in all); 400 when there is no such project."""
    if project is None:
        require(conn, permission)
        return
    try:
        require(conn, permission, IN_PROJECT, project=project)
    except NotFound:
        abort(400, NO_PROJECT)


def hold_project(conn: Connection, project: str | None) -> None:
    """400 when the project is gone by now; otherwise it stays until the transaction ends. None, for all projects, always is."""
    if project is not None and not segments.hold_project(conn, project):
        abort(400, NO_PROJECT)


def changeable(conn: Connection, permission: str, segment_id: str) -> tuple[Actor, dict[str, Any] | None]:
    """The caller and the segment, locked, if he may change it; None: there is none that he may see."""
    actor = require_somewhere(conn, permission)
    segment = segments.lock(conn, id_in_path(segment_id), actor.viewer)
    if segment is not None:
        require_there(conn, permission, segment.get("project"))
    return actor, segment


def check(conn: Connection, asked: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> None:
    """400 unless the constraints are as they should be, 409 when strategies would lose the segment. before: what is replaced."""
    known = [{"values": [], **constraint} for constraint in before["constraints"]] if before else []
    check_constraints(conn, asked["constraints"], known)
    most = max(current_app.config["MAX_SEGMENT_VALUES"], count_values(known))
    if count_values(asked["constraints"]) > most:
        abort(400, f"constraints: must have at most {most} values together")
    if before and asked["project"] not in (None, before.get("project")):
        refuse_used(segment_strategies.count_outside(conn, before["id"], asked["project"]), "The segment is used by {} of other projects.")


def count_values(constraints: list[dict[str, Any]]) -> int:
    """How many values the constraints have together."""
    return sum(len(constraint["values"]) for constraint in constraints)


def refuse_used(strategies: int, sentence: str) -> None:
    """409 when there are strategies; {} in the sentence stands for them."""
    if strategies:
        abort(409, sentence.format(f"{strategies} {'strategy' if strategies == 1 else 'strategies'}"))
