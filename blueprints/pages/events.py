"""The event log: what happened, by whom and when, with filters."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any

from flask import Blueprint, Response

from blueprints.pages.filters import read_filters
from blueprints.pages.page import page, require_reader, user_name, zone_of_reader
from rules.access import Actor, require
from rules.event_text import SENTENCES, changes, sentence
from serving.event_stream import lines_response
from serving.request_data import load_query
from sql import event_search
from sql.access import list_protected
from sql.catalog import environments
from sql.database import Connection, connection
from sql.people import roles, user_records
from sql.projects import list as project_list
from validators.events import EventsForm

# The number of events on a page.
LIMIT = 50

bp = Blueprint("events", __name__)


@bp.get("/events")
def show_events() -> Response:
    """Show one page of the events that the reader can see, newest first."""
    zone = zone_of_reader()
    with connection() as conn:
        reader = require_reader(conn, list_projects=True)
        filters = read_filters(EventsForm)
        found, offset = None, 0
        if filters.values is not None:
            values = in_zone(filters.values, zone)
            offset = values.pop("offset")
            text = event_search.search(conn, values, reader.actor.visible, limit=LIMIT, offset=offset)
            found = json.loads(text or "null")
        shown = [event["project"] for event in found["events"]] if found else []
        reader.protected.update(list_protected(conn, reader.user_id, projects=shown))
        people = names_of_people(conn, reader.actor)
        name_ids(conn, found["events"] if found else ())
        projects = project_list.list_names(conn, reader.actor.viewer)
        places = json.loads(environments.list_all(conn))["environments"]
    return page(
        "events.html",
        400 if filters.errors else 200,
        filters=filters,
        found=found,
        days=by_day(found["events"], zone) if found else [],
        zone=zone,
        offset=offset,
        limit=LIMIT,
        people=people,
        projects=projects,
        env_types={place["name"]: place["type"] for place in places},
        types={type: type.replace("-", " ") for type in SENTENCES},
        names=lambda names: [(name, name) for name in names],
        sentence=sentence,
        changes=changes,
    )


def in_zone(values: dict[str, Any], zone: tzinfo) -> dict[str, Any]:
    """Return filters by days of the reader instead of days in UTC."""
    values = dict(values)
    for name, instant, days in (("first_day", "since", 0), ("last_day", "before", 1)):
        if zone is not UTC and name in values and values[name] < date.max:
            values[instant] = datetime.combine(values.pop(name) + timedelta(days=days), time(), zone)
    return values


def by_day(events: Sequence[dict[str, Any]], zone: tzinfo) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the events by days of the reader, as pairs of a heading and events. Each gets its time of day, clock."""
    days = defaultdict[str, list[dict[str, Any]]](list)
    today = datetime.now(zone).date()
    for event in events:
        at = datetime.fromisoformat(event["createdAt"]).astimezone(zone)
        near = {0: "Today, ", 1: "Yesterday, "}.get((today - at.date()).days, "")
        year = "" if at.year == today.year else f" {at.year}"
        days[f"{near}{at:%A} {at.day} {at:%B}{year}"].append(event | {"clock": f"{at:%H:%M}"})
    return list(days.items())


def names_of_people(conn: Connection, actor: Actor) -> dict[int, str]:
    """Return the names of users who can have made events by their ids, in the order of their names."""
    if actor.visible is None:
        return {creator["id"]: creator["name"] for creator in json.loads(event_search.creators(conn, None))}
    # In a million events, it takes 0.3 s to find the creators of those that a reader sees. Show all users instead, whom
    # all users may list.
    users = json.loads(user_records.list_users_and_groups(conn))["users"]
    return {user["id"]: user_name(user) for user in sorted(users, key=lambda user: user_name(user).lower())}


def name_ids(conn: Connection, events: Sequence[dict[str, Any]]) -> None:
    """Replace the ids of users, groups and roles by names in the data of events about users and access."""
    shown = [event for event in events if event["type"].startswith(("user-", "project-access-"))]
    if not shown:
        return
    known = json.loads(user_records.list_users_and_groups(conn))
    users = {user["id"]: user_name(user) for user in known["users"]}
    groups = {group["id"]: group["name"] for group in known["groups"]}
    names = {role["id"]: role["name"] for role in json.loads(roles.list_all(conn))["roles"]}
    by_key: dict[str, dict[int, str]] = dict.fromkeys(("rootRole", "roles", "roleId"), names)
    by_key |= dict.fromkeys(("userId", "userIds", "users"), users)
    by_key |= dict.fromkeys(("groupId", "groupIds", "groups"), groups)
    for event in shown:
        event |= {key: with_names(event[key], by_key) for key in ("data", "preData")}


def with_names(value: Any, names: Mapping[str, Mapping[int, str]], key: str = "") -> Any:
    """Return a JSON value with names instead of ids. names: by the key of a property, and by id."""
    if isinstance(value, dict):
        return {name: with_names(inner, names, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [with_names(item, names, key) for item in value]
    return names.get(key, {}).get(value, value)


@bp.get("/events/download")
def download_events() -> Response:
    """Return all events that match the filters of the page, one per line."""
    with connection() as conn:
        require(conn, list_projects=True)
        filters = in_zone(load_query(EventsForm), zone_of_reader())
    del filters["offset"]
    response = lines_response(filters, 0, None)
    response.headers["Content-Disposition"] = 'attachment; filename="events.ndjson"'
    return response
