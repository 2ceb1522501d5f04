"""The start page: the projects that the reader can see, what needs attention, and what changed."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from flask import Blueprint, Response

from blueprints.pages.events import name_ids, names_of_people
from blueprints.pages.lists import list_page
from blueprints.pages.page import Reader, page, require_reader
from blueprints.pages.tokens import expiring_tokens
from rules.event_text import sentence
from sql import attention, event_search
from sql.access import list_protected
from sql.catalog import environments
from sql.database import Connection, connection
from sql.flags import cleanup
from sql.projects import change_request_lists
from sql.projects import list as project_list

# Of the newest events, the start page prefers a few of each author, so that programs do not fill the list.
EVENTS_READ, CHANGES_SHOWN, CHANGES_OF_EACH = 60, 6, 2

bp = Blueprint("projects", __name__)


@bp.get("/")
def show_projects() -> Response:
    """Show the live projects, favorites first, what needs attention, and recent changes."""
    with connection() as conn:
        reader = require_reader(conn, list_projects=True)
        projects = read_projects(conn, reader, archived=False)
        changeable = [
            project["id"]
            for project in projects
            if reader.may("UPDATE_FEATURE", "DELETE_FEATURE", "UPDATE_FEATURE_ENVIRONMENT", project=project["id"])
        ]
        waiting = attention.count(conn, changeable, reader.actor.viewer)
        ids = [project["id"] for project in projects]
        protected = [] if changeable else list_protected(conn, reader.user_id, projects=ids)
        requests = change_request_lists.list_actionable(conn, ids, reader.user_id, is_admin=reader.actor.is_admin)
        found = event_search.search(conn, {}, reader.actor.visible, limit=EVENTS_READ, offset=0)
        events = recent_changes(json.loads(found or '{"events": []}')["events"])
        name_ids(conn, events)
        people = names_of_people(conn, reader.actor)
        places = json.loads(environments.list_all(conn))["environments"]
        expiring = expiring_tokens(conn, reader)
        dirty = cleanup.count(conn, ids)
    return page(
        "projects.html",
        **list_page(projects, "name", "id"),
        flags=sum(project["featureCount"] for project in projects),
        may_change=bool(changeable),
        may_propose=not {place for place, _ in protected}.isdisjoint(
            one["id"] for one in projects if one["mode"] == "open"
        ),
        dirty=dirty,
        expiring=expiring,
        waiting=waiting,
        requests={project: len(found) for project, found in requests.items()},
        events=events,
        people=people,
        env_types={place["name"]: place["type"] for place in places},
        project_names={project["id"]: project["name"] for project in projects},
        sentence=sentence,
    )


def recent_changes(events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the newest events, at most CHANGES_OF_EACH per author unless there is room.

    more, in the last event of an author: how many of their events were left out.
    """
    number, first, others = Counter[str](), list[dict[str, Any]](), list[dict[str, Any]]()
    for event in events:
        number[event["createdBy"]] += 1
        (first if number[event["createdBy"]] <= CHANGES_OF_EACH else others).append(event)
    shown = sorted([*first, *others][:CHANGES_SHOWN], key=lambda event: -event["id"])
    left = Counter(one["createdBy"] for one in others if one not in shown and one["id"] > shown[-1]["id"])
    # From the end, so that the last one of each author takes the number.
    return [one | {"more": left.pop(one["createdBy"], 0)} for one in reversed(shown)][::-1]


@bp.get("/archived-projects")
def show_archived_projects() -> Response:
    """Show the archived projects."""
    with connection() as conn:
        projects = read_projects(conn, require_reader(conn), archived=True)
    return page("archived_projects.html", **list_page(projects, "name", "id"))


def read_projects(conn: Connection, reader: Reader, *, archived: bool) -> list[dict[str, Any]]:
    """Return the live or the archived projects that the reader can see, favorites first."""
    text = project_list.list_all(conn, archived=archived, viewer=reader.actor.viewer, user_id=reader.user_id)
    return sorted(json.loads(text)["projects"], key=lambda project: not project["favorite"])
