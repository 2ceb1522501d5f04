"""The event searches (api.md 3 and 9), the events of a flag, and who made events (neighbours.md 3.17)."""

from flask import Blueprint, Response, current_app, request

from rules.access import require
from serving.contract import operation
from serving.event_stream import lines_response, wants_lines
from serving.request_data import load, load_query
from serving.responses import bounded, json_response
from sql import event_search
from sql.database import connection
from validators.events import DeprecatedEventSearch, EventLines, EventSearch

bp = Blueprint("events", __name__)

FEWER = "Ask for fewer events: set a smaller limit."


@bp.get("/api/admin/search/events")
@operation(record="eventSearchResponse", lines="event", query=EventSearch, refuses=(400, 401, 403))
def search_events() -> Response:
    """Search for events.

    Newest first. Filters combine with AND. Callers who are not administrators see the events of projects that they can see. Events that say
    who has which role in a project need the permission that its access list needs. The total counts just those. A page above 64 MiB is
    refused.

    With Accept: application/x-ndjson the response is a stream of all events that match, one per line, in order of their ids. It holds every
    event up to the newest one at its beginning, or the connection is cut. To continue later, send the id of the last line as after. While
    an open transaction may still write events with lower ids, the response is 503.
    """
    return stream_events() if wants_lines() else find_events()


def find_events() -> Response:
    """One page of the search, and the total."""
    with connection() as conn:
        # Our choice: any user or admin key may search, and finds what he may see.
        actor = require(conn, listing=True)
        asked = load_query(EventSearch)
        limit, offset = asked.pop("limit"), asked.pop("offset")
        body = event_search.search(conn, asked, actor.visible, limit=limit, offset=offset)
    return json_response(bounded(body, FEWER))


def stream_events() -> Response:
    """Return all events of the search, one per line."""
    with connection() as conn:
        require(conn, listing=True)
        asked = load_query(EventLines)
    return lines_response(asked, asked.pop("after"), asked.pop("limit"))


@bp.post("/api/admin/events/search")
@operation(record="events", body=DeprecatedEventSearch, refuses=(400, 401, 403, 415), deprecated=True)
def search_events_deprecated() -> Response:
    """Search for events (deprecated).

    Use GET /api/admin/search/events. Here offset is the id of the event to start from.
    """
    with connection() as conn:
        actor = require(conn, listing=True)
        asked = load(DeprecatedEventSearch())
        limit, first_id = asked.pop("limit"), asked.pop("offset")
        body = event_search.search_from_id(conn, asked, actor.visible, limit=limit, first_id=first_id)
    return json_response(bounded(body, FEWER))


@bp.get("/api/admin/events/<not_search:feature_name>")
@operation(record="flagEvents", refuses=(401, 403))
def list_flag_events(feature_name: str) -> Response:
    """Get the events of a flag.

    The newest hundred, and how many there are in all that the caller may see. Of a name that no flag ever had, there are none.
    """
    with connection() as conn:
        actor = require(conn, listing=True)
        body = event_search.of_flag(conn, feature_name, actor.visible)
    return json_response(bounded(body, "Ask for fewer: use GET /api/admin/search/events with feature and limit."))


@bp.get("/api/admin/event-creators")
@operation(record="eventCreators", refuses=(401, 403))
def list_event_creators() -> Response:
    """Get who made events.

    The users, deleted ones too, who made events that the caller may see; their ids are what the filter createdBy takes.
    """
    with connection() as conn:
        actor = require(conn, listing=True)
        body = event_search.creators(conn, actor.visible)
    return json_response(body)


@bp.after_request
def point_elsewhere(response: Response) -> Response:
    """Say with every answer of the deprecated search, refusals included, what is to be used instead; of the other, what it depends on."""
    if request.endpoint == "events.search_events":
        response.vary.add("Accept")
    if request.endpoint == "events.search_events_deprecated":
        response.headers["Deprecation"] = "true"
        response.headers["Link"] = f'<{current_app.config["BASE_URL"]}/api/admin/search/events>; rel="successor-version"'
    return response
