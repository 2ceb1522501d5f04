"""A flag: its environments and strategies, its variants, tags, parents, usage and events."""

import json
from collections import defaultdict
from typing import Any

from flask import Blueprint, Response, abort

from blueprints.pages.constraints import describe
from blueprints.pages.event_text import changes, sentence
from blueprints.pages.page import Reader, page, require_reader
from blueprints.pages.project import read_project
from sql import event_search
from sql.catalog import flag_types, segments, tag_types
from sql.database import Connection, connection
from sql.flags import dependencies, records, stages, usage
from sql.projects import list as project_list

bp = Blueprint("flag", __name__)

# What the page shows. The event log has all events, and the API all usage.
EVENTS_SHOWN = 20
USAGE_HOURS = 24
USAGE_SHOWN = 50
# The form accepts other parents too.
PARENTS_OFFERED = 200


@bp.get("/projects/<project_id>/flags/<feature_name>")
def show_flag(project_id: str, feature_name: str) -> Response:
    """Show a flag, with the controls that the reader may use."""
    with connection() as conn:
        reader = require_reader(conn, project=project_id, list_projects=True)
        context = {
            "project": read_project(conn, project_id, reader),
            "events": newest_events(conn, reader, feature_name),
        }
        found = records.get(conn, project_id, feature_name, reader.user_id)
        if found is None:
            return archived_page(conn, project_id, feature_name, context)
        reported = json.loads(usage.get_raw(conn, feature_name, reader.actor.viewer, USAGE_HOURS) or '{"data": []}')
        choices = form_choices(conn, reader, project_id, feature_name)
        flag = json.loads(found)
        strategies = [strategy for linked in flag["environments"] for strategy in linked["strategies"]]
        has_segments = any(strategy["segments"] for strategy in strategies)
        known_segments = segments.list_all(conn, reader.actor.viewer) if has_segments else '{"segments": []}'
    rows = usage_totals(reported["data"])
    return page(
        "flag/flag.html",
        **context,
        **choices,
        flag=flag,
        people={user["id"]: user["name"] for user in flag["collaborators"]["users"]},
        usage=rows[:USAGE_SHOWN],
        usage_left_out=len(rows[USAGE_SHOWN:]),
        usage_hours=USAGE_HOURS,
        segment_names={segment["id"]: segment["name"] for segment in json.loads(known_segments)["segments"]},
        moved=moved,
        describe=describe,
        sentence=sentence,
        changes=changes,
    )


def archived_page(conn: Connection, project_id: str, name: str, context: dict[str, Any]) -> Response:
    """Return the page of an archived flag. Raise 404 if the project has no such flag."""
    entered = stages.list_stages(conn, project_id, name) or abort(404, "This project has no such flag.")
    flag = {"name": name}
    return page(
        "flag/archived.html", **context, flag=flag, stages=json.loads(entered), sentence=sentence, changes=changes
    )


def form_choices(conn: Connection, reader: Reader, project_id: str, name: str) -> dict[str, Any]:
    """Return what the forms of the page offer, if the reader may use them."""
    choices: dict[str, Any] = {"types": [], "tag_types": [], "parents": [], "targets": []}
    if reader.may("UPDATE_FEATURE", project=project_id):
        choices["types"] = json.loads(flag_types.list_all(conn))["types"]
        choices["tag_types"] = json.loads(tag_types.list_all(conn))["tagTypes"]
    if reader.may("UPDATE_FEATURE_DEPENDENCY", project=project_id):
        choices["parents"] = json.loads(dependencies.list_parents(conn, project_id, name) or "[]")[:PARENTS_OFFERED]
    if reader.may("MOVE_FEATURE_TOGGLE", project=project_id):
        choices["targets"] = [
            target
            for target in project_list.list_names(conn, reader.actor.viewer)
            if target["id"] != project_id and reader.may("MOVE_FEATURE_TOGGLE", project=target["id"])
        ]
    return choices


def newest_events(conn: Connection, reader: Reader, name: str) -> dict[str, Any]:
    """Return the newest events of a flag and their total. None are shown if they are too large for one page."""
    found = event_search.search(conn, {"feature": name}, reader.actor.visible, limit=EVENTS_SHOWN, offset=0)
    return json.loads(found or '{"events": [], "total": 0}')


def usage_totals(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return yes, no and the counts of variants by environment and application, the busiest first."""
    totals: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        key = (row["environment"], row["appName"])
        total = totals.setdefault(
            key, {"environment": key[0], "appName": key[1], "yes": 0, "no": 0, "variants": defaultdict(int)}
        )
        total["yes"] += row["yes"]
        total["no"] += row["no"]
        for variant, number in row["variants"].items():
            total["variants"][variant] += number
    return sorted(totals.values(), key=lambda total: -total["yes"] - total["no"])


def moved(strategies: list[dict[str, Any]], index: int, step: int) -> list[dict[str, Any]]:
    """Return the body of set-sort-order that moves a strategy by one place. step: -1 for up, 1 for down."""
    ids = [strategy["id"] for strategy in strategies]
    ids[index], ids[index + step] = ids[index + step], ids[index]
    return [{"id": strategy_id, "sortOrder": place} for place, strategy_id in enumerate(ids)]
