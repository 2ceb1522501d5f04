"""Create, change and delete segments, and check who may do so."""

from collections.abc import Mapping
from typing import Any

from flask import abort, current_app
from werkzeug.exceptions import Forbidden, NotFound

from rules.access import PROTECTED, Actor, id_in_path, require
from rules.constraints import check_constraints
from rules.instance_limits import refuse_excess
from rules.refusals import quantity, refuse_used
from sql import access, events
from sql.catalog import segment_strategies, segments
from sql.database import Connection
from sql.events import Event

# The permission in a project that allows changes of its segments. The root permissions, such as CREATE_SEGMENT, allow
# changes of all segments.
PROJECT_PERMISSION = "UPDATE_PROJECT_SEGMENT"
NO_PROJECT = "project: must be an existing project"


def add_segment(conn: Connection, actor: Actor, segment: Mapping[str, Any]) -> int:
    """Create a segment, record the event, and return the id. Raise 400 or 403, and UniqueViolation for a taken name.

    segment: with createdBy. A deleted segment that returns also has its id and createdAt.
    """
    require_in_project(conn, "CREATE_SEGMENT", segment.get("project"))
    hold_project(conn, segment.get("project"))
    check_segment(conn, segment)
    refuse_excess(conn, "MAX_SEGMENTS", "segment")
    texts = {key: segment.get(key) for key in ("description", "project")}
    segment_id = (
        segments.restore(conn, {**segment, **texts})
        if "id" in segment
        else segments.insert(conn, segment["name"], segment["constraints"], **texts, created_by=segment["createdBy"])
    )
    data = segments.lock(conn, segment_id, None)
    events.record(conn, Event("segment-created", actor, project=segment.get("project"), data=data))
    return segment_id


def change_segment(conn: Connection, actor: Actor, before: Mapping[str, Any], change: Mapping[str, Any]) -> None:
    """Change a segment of lock_changeable(), and record the event. Raise as add_segment(), or 409 if others use it."""
    project = change.get("project")
    # The segment's old project needs no lock: a deletion of that project waits for the lock on the segment.
    if project != before.get("project"):
        require_in_project(conn, "UPDATE_SEGMENT", project)
        hold_project(conn, project)
    check_segment(conn, change, before)
    if project not in (None, before.get("project")):
        refuse_used("segment", segment_strategies.list_places(conn, before["id"], project, actor.viewer))
    after = segments.update(conn, before["id"], {"project": None, **before, **change})
    events.record_change(conn, Event("segment-updated", actor, project=project, data=after, pre_data=before))


def remove_segment(conn: Connection, actor: Actor, segment: Mapping[str, Any]) -> None:
    """Delete a locked segment, and record the event. Raise 409 if a strategy uses it."""
    refuse_used("segment", segment_strategies.list_places(conn, segment["id"], None, actor.viewer))
    segments.delete(conn, segment["id"])
    events.record(conn, Event("segment-deleted", actor, project=segment.get("project"), pre_data=segment))


def check_segment(conn: Connection, payload: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> None:
    """Raise 400 for invalid constraints. before: the record that the payload replaces."""
    replaced = [{"values": [], **constraint} for constraint in before["constraints"]] if before else []
    check_constraints(conn, payload["constraints"], replaced)
    limit = max(current_app.config["MAX_SEGMENT_VALUES"], count_values(replaced))
    if count_values(payload["constraints"]) > limit:
        abort(400, f"constraints: must have at most {quantity(limit, 'value')} in total (setting MAX_SEGMENT_VALUES)")


def count_values(constraints: list[dict[str, Any]]) -> int:
    """Return how many values the constraints have together."""
    return sum(len(constraint["values"]) for constraint in constraints)


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
        if not actor.is_admin and (places := access.list_protected(conn, actor.user_id, segment=segment["id"])):
            raise Forbidden(PROTECTED.format(places[0][1]))
    return actor, segment
