"""The statistics by week as plots and tables."""

import json
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, date, datetime
from typing import Any

from flask import Blueprint, Response

from blueprints.pages.filters import read_filters
from blueprints.pages.page import MOST_PROJECTS, page, require_reader
from blueprints.pages.plots import Plot, Series
from sql import insights
from sql.database import connection
from sql.flags import cleanup
from sql.projects import list as project_list
from validators.insights import InsightsForm

bp = Blueprint("insights", __name__)
# Projects with a line. With 100, people cannot tell them apart, and the page takes 48 ms instead of 37.
MOST_LINES = 50


@bp.get("/insights")
def show_insights() -> Response:
    """Show plots of users, flags, health, usage and changes for each week of a range."""
    with connection() as conn:
        reader = require_reader(conn)
        filters = read_filters(InsightsForm)
        projects = project_list.list_sizes(conn, reader.actor.viewer)
        values = filters.values or {"projects": [], "find": ""}
        chosen, find = values["projects"], values["find"].strip().lower()
        # Our choice: with too many projects, those with the most flags are drawn.
        wanted = [row for row in projects if not chosen or row["id"] in chosen]
        drawn = [row["id"] for row in sorted(wanted, key=lambda row: -row["flags"])[:MOST_LINES]]
        trends = None
        if filters.values is not None:
            days = (values["first_day"], values["last_day"])
            trends = json.loads(insights.trends(conn, *days, reader.actor.viewer, drawn))
        dirty = cleanup.count(conn, drawn)
    found = [row for row in projects if find in row["name"].lower() or find in row["id"].lower()]
    kept = [row for row in projects if chosen and row["id"] in drawn]
    listed = [*kept, *(row for row in found if row not in kept)][:MOST_PROJECTS]
    return page(
        "insights.html",
        400 if filters.errors else 200,
        filters=filters,
        projects=sorted(listed, key=projects.index),
        total=len(projects),
        wanted=len(wanted),
        most_lines=MOST_LINES,
        dirty=[row | {"dirty": dirty[row["id"]]} for row in wanted if row["id"] in dirty],
        chosen=chosen,
        plots=trends and plots_of(trends, {row["id"]: row["name"] for row in projects if row["id"] in drawn}),
        first_day=values.get("first_day"),
        last_day=values.get("last_day"),
    )


def plots_of(trends: Mapping[str, Any], names: Mapping[str, str]) -> list[Plot]:
    """Return the plots of the five arrays of the insights. names: the projects that have a line."""
    days = [date.fromisoformat(week["date"][:10]) for week in trends["flagTrends"]]
    # What is counted by week is low as long as the week has not ended, which would look like a fall.
    ended = sum(day < datetime.now(UTC).date() for day in days) or None
    # A project has the same style in all plots. Projects with many flags come first.
    flags = split(trends["projectFlagTrends"], "project", "total", days, 0)
    shown = sorted(names, key=lambda project: -sum(flags.get(project, [])))

    def total(key: str, title: str, unit: str, lines: Mapping[str, str]) -> Plot:
        series = [([week[name] for week in trends[key]], label) for name, label in lines.items()]
        return Plot(title, unit, days, [Series(label, line, style) for style, (line, label) in enumerate(series)])

    def by_project(
        key: str, title: str, unit: str, name: str, empty: int | None = None, weeks: int | None = None
    ) -> Plot:
        lines = split(trends[key], "project", name, days, empty)
        series = [
            Series(names[project], lines[project], style) for style, project in enumerate(shown) if project in lines
        ]
        return Plot(title, unit, days, series, weeks)

    types = split(trends["environmentTypeTrends"], "environmentType", "totalUpdates", days, 0)
    # Production has the style that is violet.
    styles = {"production": 3, "development": 0, "test": 1, "preproduction": 4}
    changes = [Series(name, values, styles.get(name, 5)) for name, values in types.items()]
    states = {"total": "All", "active": "Active", "potentiallyStale": "Old", "stale": "Stale"}
    return [
        total("flagTrends", "Flags", "flags", states),
        by_project("projectFlagTrends", "Flags by project", "flags", "total"),
        by_project("projectFlagTrends", "Health by project", "percent", "health"),
        by_project("projectFlagTrends", "Time to production by project", "days", "timeToProduction"),
        by_project("projectFlagTrends", "Members by project", "users", "users"),
        by_project("metricsSummaryTrends", "Evaluations by project", "evaluations", "totalRequests", 0, ended),
        by_project("metricsSummaryTrends", "Applications by project", "applications", "totalApps", 0, ended),
        Plot("Changes by type of environment", "events", days, changes, ended),
        total("userTrends", "Users", "users", {"total": "All", "active": "Active", "inactive": "Inactive"}),
    ]


def split(
    entries: Iterable[Mapping[str, Any]], key: str, name: str, days: Collection[date], empty: int | None
) -> dict[str, list[Any]]:
    """Return one property for each week, by the values of a key. empty: the value of weeks without an entry."""
    places = {day.isoformat(): place for place, day in enumerate(days)}
    lines: dict[str, list[Any]] = {}
    for entry in entries:
        line = lines.setdefault(entry[key], [empty] * len(days))
        line[places[entry["date"][:10]]] = entry[name]
    return lines
