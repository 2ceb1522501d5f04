"""A flag: its environments and strategies, its variants, tags, parents, usage and events."""

import json
from collections import defaultdict
from typing import Any

from flask import Blueprint, Response, abort

from blueprints.pages.constraints import describe
from blueprints.pages.event_text import changes, sentence
from blueprints.pages.page import Reader, page, require_reader
from sql import event_search
from sql.database import Connection, connection
from sql.flags import dependencies, records, usage
from sql.projects import overview
from sql.vocabulary import flag_types, segments, tag_types

bp = Blueprint("flag", __name__)

# The events and the hours of usage that the page shows.
EVENTS_SHOWN = 20
USAGE_HOURS = 24


@bp.get("/projects/<project_id>/flags/<feature_name>")
def show_flag(project_id: str, feature_name: str) -> Response:
    """Show a live flag, with the controls that the reader may use."""
    with connection() as conn:
        reader = require_reader(conn, project=project_id, list_projects=True)
        flag = json.loads(records.get(conn, project_id, feature_name, reader.user_id) or abort(404, "No such flag."))
        project = json.loads(overview.get(conn, project_id, reader.user_id) or abort(404))
        reported = json.loads(usage.get_raw(conn, feature_name, reader.actor.viewer, USAGE_HOURS) or '{"data": []}')
        events = newest_events(conn, reader, feature_name)
        known_segments = json.loads(segments.list_all(conn, reader.actor.viewer))["segments"]
        parents = json.loads(dependencies.list_parents(conn, project_id, feature_name) or "[]")
        types = json.loads(flag_types.list_all(conn))["types"]
        tags = json.loads(tag_types.list_all(conn))["tagTypes"]
    return page(
        "flag/flag.html",
        flag=flag,
        project={"id": project_id, **project},
        usage=usage_totals(reported["data"]),
        usage_hours=USAGE_HOURS,
        events=events,
        sentence=sentence,
        changes=changes,
        segment_names={segment["id"]: segment["name"] for segment in known_segments},
        parents=parents,
        types=types,
        tag_types=tags,
        moved=moved,
        describe=describe,
    )


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
