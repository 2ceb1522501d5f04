"""The event log: what happened, by whom and when, with filters."""

import json
from typing import Any

from flask import Blueprint, Response

from blueprints.pages.event_text import SENTENCES, changes, sentence
from blueprints.pages.filters import read_filters
from blueprints.pages.page import page, require_reader, user_name
from rules.access import Actor, require
from serving.event_stream import lines_response
from serving.request_data import load_query
from sql import event_search
from sql.database import Connection, connection
from sql.people import user_records
from sql.projects import list as project_list
from validators.events import EventsForm

# The number of events on a page.
LIMIT = 50

bp = Blueprint("events", __name__)


@bp.get("/events")
def show_events() -> Response:
    """Show one page of the events that the reader can see, newest first."""
    with connection() as conn:
        reader = require_reader(conn, list_projects=True)
        filters = read_filters(EventsForm)
        found, offset = None, 0
        if filters.values is not None:
            offset = filters.values.pop("offset")
            found = event_search.search(conn, filters.values, reader.actor.visible, limit=LIMIT, offset=offset)
        creators = list_creators(conn, reader.actor)
        projects = project_list.list_names(conn, reader.actor.viewer)
    return page(
        "events.html",
        400 if filters.errors else 200,
        filters=filters,
        found=found and json.loads(found),
        offset=offset,
        limit=LIMIT,
        creators=creators,
        people={creator["id"]: creator["name"] for creator in creators},
        projects=projects,
        types=SENTENCES,
        sentence=sentence,
        changes=changes,
    )


def list_creators(conn: Connection, actor: Actor) -> list[dict[str, Any]]:
    """Return the id and the name of users who can have made events, by name."""
    if actor.visible is None:
        return json.loads(event_search.creators(conn, None))
    # In a million events, it takes 0.3 s to find the creators of those that a reader sees. Show all users instead, whom
    # all users may list.
    users = json.loads(user_records.list_users_and_groups(conn))["users"]
    named = [{"id": user["id"], "name": user_name(user)} for user in users]
    return sorted(named, key=lambda user: user["name"].lower())


@bp.get("/events/download")
def download_events() -> Response:
    """Return all events that match the filters of the page, one per line."""
    with connection() as conn:
        require(conn, list_projects=True)
        filters = load_query(EventsForm)
    del filters["offset"]
    response = lines_response(filters, 0, None)
    response.headers["Content-Disposition"] = 'attachment; filename="events.ndjson"'
    return response
