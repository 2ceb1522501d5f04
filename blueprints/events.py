"""Search the event log, list the events of a flag, and undo an event."""

from flask import Blueprint, Response, abort, request

from rules.access import id_in_path, require
from rules.refusals import Refusal
from rules.undo import UNDO, undo
from serving.event_stream import lines_response, wants_lines
from serving.operation import operation
from serving.request_data import load, load_query
from serving.responses import bounded, json_response
from sql import event_search, events
from sql.database import connection, noted_events, transaction
from validators.events import DeprecatedEventSearch, EventSearch, EventStreamSearch, NewestEvents

bp = Blueprint("events", __name__)

# Our choice: the same number as Unleash.
NEWEST_MAX = 100
# The advice for a response that is too large.
ADVICE = "Ask for fewer events: set a smaller limit."


@bp.get("/api/admin/search/events")
@operation(record="eventSearchResponse", lines="event", query=EventSearch, refuses=(400, 401, 403))
def search_events() -> Response:
    """Search for events.

    Returns the newest events first. Filters combine with AND. Callers who are not administrators get events of projects
    that they can see. To see events about access to a project, callers also need the permission to read its access
    list. The total counts only these events. A page above 64 MiB is 400.

    With Accept: application/x-ndjson, the response is a stream of all events that match, one per line, in the order of
    their ids. A complete stream contains all events up to the newest one at its start. After a failure, the connection
    is cut. To continue later, send the id of the last line as `after`. While an open transaction may still write events
    with lower ids, the response is 503.
    """
    return stream_events() if wants_lines() else find_events()


def find_events() -> Response:
    """Return one page of the search, with the total."""
    with connection() as conn:
        # Our choice: all users and admin tokens can search. They find only events that they can see.
        actor = require(conn, list_projects=True)
        payload = load_query(EventSearch)
        limit, offset = payload.pop("limit"), payload.pop("offset")
        body = event_search.search(conn, payload, actor.visible, limit=limit, offset=offset)
    return json_response(bounded(body, ADVICE))


def stream_events() -> Response:
    """Return all events of the search, one per line."""
    with connection() as conn:
        require(conn, list_projects=True)
        payload = load_query(EventStreamSearch)
    return lines_response(payload, payload.pop("after"), payload.pop("limit"))


@bp.post("/api/admin/events/search")
@operation(
    record="events", body=DeprecatedEventSearch, refuses=(400, 401, 403, 415), deprecated="/api/admin/search/events"
)
def search_events_deprecated() -> Response:
    """Search for events (deprecated).

    Use GET /api/admin/search/events instead. Here, offset is the id of the event to start from.
    """
    with connection() as conn:
        actor = require(conn, list_projects=True)
        payload = load(DeprecatedEventSearch())
        limit, first_id = payload.pop("limit"), payload.pop("offset")
        body = event_search.search_from_id(conn, payload, actor.visible, limit=limit, first_id=first_id)
    return json_response(bounded(body, ADVICE))


@bp.get("/api/admin/events")
@operation(record="events", query=NewestEvents, refuses=(400, 401, 403), deprecated="/api/admin/search/events")
def list_newest_events() -> Response:
    """List the newest 100 events (deprecated).

    Use GET /api/admin/search/events instead. Only administrators can use this operation.
    """
    with connection() as conn:
        actor = require(conn, "ADMIN", list_projects=True)
        payload = load_query(NewestEvents)
        body = event_search.search_from_id(conn, payload, actor.visible, limit=NEWEST_MAX, first_id=None)
    return json_response(bounded(body, "Ask for fewer: use GET /api/admin/search/events with limit."))


@bp.get("/api/admin/events/<not_search:feature_name>")
@operation(record="flagEvents", refuses=(401, 403))
def list_flag_events(feature_name: str) -> Response:
    """List the events of a flag.

    Returns the newest 100 events, and the total number of events that the caller can see. The list is empty if no flag
    ever had that name.
    """
    with connection() as conn:
        actor = require(conn, list_projects=True)
        body = event_search.of_flag(conn, feature_name, actor.visible)
    return json_response(bounded(body, "Ask for fewer: use GET /api/admin/search/events with feature and limit."))


@bp.post("/api/admin/events/<event_id>/undo")
@operation(
    record="undoneEvent",
    refuses=(400, 401, 403, 404, 409),
    errors={
        409: Refusal(
            "Events of this type cannot be undone, or the record has changed since.",
            "Changed since this event: parameters.rollout was 34, and is 50 now.",
        )
    },
)
def undo_event(event_id: str) -> Response:
    """Undo an event.

    Puts back what the event changed, if nothing has changed it since. Needs the permission of the operation that makes
    the same change, and follows its rules. The new events have the id of the undone event as `undoes`. To undo the
    undo, undo the new event.
    """
    with transaction() as conn:
        actor = require(conn, list_projects=True)
        event = events.get(conn, id_in_path(event_id), actor.visible) or abort(404, "No event has that id.")
        message = undo(conn, event)
        body = events.list_undoing(conn, [event["id"] for event in noted_events.get() or ()], message)
    return json_response(body)


@bp.get("/api/admin/event-creators")
@operation(record="eventCreators", refuses=(401, 403))
def list_event_creators() -> Response:
    """List the users who made events.

    Returns users, also deleted ones, who made events that the caller can see. Use their ids in the filter createdBy.
    """
    with connection() as conn:
        actor = require(conn, list_projects=True)
        body = event_search.creators(conn, actor.visible)
    return json_response(body)


@bp.before_app_request
def note_events() -> None:
    """Begin the list of the events that the request records."""
    noted_events.set([])


@bp.after_app_request
def name_event(response: Response) -> Response:
    """Set Event-Id if the request has recorded exactly one event that can be undone, so that pages can offer it."""
    found = [event for event in noted_events.get() or () if event["type"] in UNDO]
    # The default strategy that a flag gets when it is switched on does not count.
    if [event["type"] for event in found] == ["feature-strategy-add", "feature-environment-enabled"]:
        found = found[1:]
    if len(found) == 1 and response.status_code < 400:
        response.headers["Event-Id"] = str(found[0]["id"])
    # A preflight has its response before note_events(), in a thread that has served other requests.
    noted_events.set(None)
    return response


@bp.after_request
def vary_by_format(response: Response) -> Response:
    """Set Vary on all responses of the search."""
    if request.endpoint == "events.search_events":
        response.vary.add("Accept")
    return response
