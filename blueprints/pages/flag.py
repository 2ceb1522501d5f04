"""A flag: its environments and strategies, its variants, tags, parents, usage and events."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import chain
from typing import Any

from flask import Blueprint, Response, abort, current_app, redirect
from werkzeug.wrappers import Response as Redirect

from blueprints.pages.change_requests import results_of_draft
from blueprints.pages.constraints import join
from blueprints.pages.events import names_of_people
from blueprints.pages.flag_text import Row, group_states, rows_of, state_of, useless
from blueprints.pages.newest_change import FLAG, newest_change
from blueprints.pages.page import Reader, page, require_reader, segment
from blueprints.pages.project import read_project
from rules.event_text import changes, sentence
from rules.ramp_plans import GROUP, SHARED, Plan
from sql import event_search
from sql.access import list_protected
from sql.catalog import flag_types, segments, tag_types
from sql.database import Connection, connection
from sql.flags import core as flags
from sql.flags import dependencies, records, stages, strategies, usage
from sql.projects import change_request_lists
from sql.projects import list as project_list

bp = Blueprint("flag", __name__)

# What the page shows. The event log has all events, and the API all usage.
EVENTS_SHOWN = 20
USAGE_SHOWN = 50
USAGE_DAYS = 7
# The form accepts other parents too.
PARENTS_OFFERED = 200
# The environments to which a strategy can be copied by its menu. The page Compare copies to all of them.
TARGETS_OFFERED = 10


@bp.get("/projects/<project_id>/features/<feature_name>")
@bp.get("/projects/<project_id>/features/<feature_name>/<path:_tab>")
def redirect_address_of_unleash(project_id: str, feature_name: str, _tab: str = "") -> Redirect:
    """Redirect the addresses that the UI of Unleash has for a flag and its tabs."""
    return redirect(f"{current_app.config['BASE_PATH']}/projects/{segment(project_id)}/flags/{segment(feature_name)}")


@bp.get("/projects/<project_id>/flags/<feature_name>")
def show_flag(project_id: str, feature_name: str) -> Response | Redirect:
    """Show a flag, with the controls that the reader may use."""
    with connection() as conn:
        reader = require_reader(conn, project=project_id, list_projects=True)
        context: dict[str, Any] = {
            "project": read_project(conn, project_id, reader),
            "events": newest_events(conn, reader, feature_name),
        }
        # First, so that no version is newer than what the page shows.
        versions = strategies.list_versions(conn, feature_name)
        found = records.get(conn, project_id, feature_name, reader.user_id)
        if found is None:
            return archived_page(conn, reader, feature_name, context)
        flag = json.loads(found)
        # Production is the last one, whatever the order of the environments.
        flag["environments"].sort(key=lambda linked: linked["type"] == "production")
        context |= form_choices(conn, reader, context["project"], feature_name)
        context |= newest_change(conn, reader, found.version, FLAG, {}, feature=feature_name)
        context |= strategies_in_words(conn, reader, flag)
        context |= read_usage(conn, feature_name, reader.actor.viewer)
        drafts = [draft["environment"] for draft in context["project"]["drafts"]]
        drafted = {name: results_of_draft(conn, context["project"], name) for name in drafts}
        requests = change_request_lists.list_of_flag(conn, project_id, feature_name)

    def permitted(permission: str) -> list[dict[str, Any]]:
        """Return the environments in which the reader has a permission."""
        linked = flag["environments"]
        return [one for one in linked if reader.may(permission, project=project_id, environment=one["name"])]

    return page(
        "flag/flag.html",
        **context,
        editable=permitted("UPDATE_FEATURE_ENVIRONMENT_VARIANTS"),
        copy_targets=permitted("CREATE_FEATURE_STRATEGY")[:TARGETS_OFFERED],
        flag=flag,
        requests=requests,
        versions=versions,
        drafted=lambda environment, part, id=None: drafted.get(environment, {}).get((feature_name, part, id)),
        env_types={linked["name"]: linked["type"] for linked in flag["environments"]},
        people={user["id"]: user["name"] for user in flag["collaborators"]["users"]},
        changed={
            event["environment"]: event
            for event in reversed(context["events"]["events"])
            if not event["type"].startswith("change-")
        },
        age=(datetime.now(UTC) - datetime.fromisoformat(flag["createdAt"])).days + 1,
        usage_shown=USAGE_SHOWN,
        state_of=state_of,
        useless=useless,
        moved=moved,
        copy_of=copy_of,
        copy_of_plan=copy_of_plan,
        join=join,
    )


def archived_page(conn: Connection, reader: Reader, name: str, context: dict[str, Any]) -> Response | Redirect:
    """Return the page of an archived flag, or a redirect to a flag in another project. Raise 404 if there is none."""
    entered = stages.list_stages(conn, context["project"]["id"], name)
    if entered is None:
        # Older events of a flag that was moved have links to its former project.
        present = flags.project_of(conn, name, reader.actor.viewer) or abort(404, "This project has no such flag.")
        return redirect(f"{current_app.config['BASE_PATH']}/projects/{segment(present)}/flags/{segment(name)}")
    context |= {"people": names_of_people(conn, reader.actor), "sentence": sentence, "changes": changes}
    return page("flag/archived.html", **context, flag={"name": name}, stages=json.loads(entered))


def strategies_in_words(conn: Connection, reader: Reader, flag: Mapping[str, Any]) -> dict[str, Any]:
    """Return the strategies of each environment as rows, and for whom the flag is on in each."""
    environments = flag["environments"]
    has_segments = any(strategy["segments"] for linked in environments for strategy in linked["strategies"])
    known = segments.list_all(conn, reader.actor.viewer) if has_segments else '{"segments": []}'
    names = {segment["id"]: segment["name"] for segment in json.loads(known)["segments"]}
    now = datetime.now(UTC)
    rows = {linked["name"]: rows_of(linked["strategies"], names, now) for linked in environments}
    states = {linked["name"]: state_of(linked, rows[linked["name"]]) for linked in environments}
    others = {linked["name"]: states[linked["name"]] for linked in environments if linked["type"] != "production"}
    return {"segment_names": names, "rows": rows, "states": states, "others": group_states(others)}


def copy_of(strategy: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body that adds the same strategy to another environment."""
    return {name: value for name, value in strategy.items() if name not in ("id", "sortOrder")}


def copy_of_plan(plan: Plan) -> dict[str, Any]:
    """Return the body that adds the same ramp plan to another environment."""
    steps = [{"percent": step.percent, "at": step.at} for step in plan.steps]
    parameters = {name: text for name, text in plan.strategy["parameters"].items() if name in GROUP}
    shared = {name: plan.strategy[name] for name in SHARED} | parameters | {"steps": steps}
    return shared | {"until": plan.until} if plan.until else shared


def form_choices(conn: Connection, reader: Reader, project: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return what the forms of the page offer, if the reader may use them."""
    project_id = project["id"]
    types = json.loads(flag_types.list_all(conn))["types"]
    choices: dict[str, Any] = {"types": types, "tag_types": [], "parents": [], "targets": []}
    if reader.may("UPDATE_FEATURE", project=project_id):
        choices["tag_types"] = json.loads(tag_types.list_all(conn))["tagTypes"]
    if project["everywhere"] or reader.may("UPDATE_FEATURE_DEPENDENCY", project=project_id):
        choices["parents"] = json.loads(dependencies.list_parents(conn, project_id, name) or "[]")[:PARENTS_OFFERED]
    if not reader.actor.protected and reader.may("MOVE_FEATURE_TOGGLE", project=project_id):
        names = project_list.list_names(conn, reader.actor.viewer)
        protected = dict(list_protected(conn, reader.user_id, projects=[one["id"] for one in names]))
        choices["targets"] = [
            target
            for target in names
            if target["id"] not in {project_id, *protected} and reader.may("MOVE_FEATURE_TOGGLE", project=target["id"])
        ]
    return choices


def newest_events(conn: Connection, reader: Reader, name: str) -> dict[str, Any]:
    """Return the newest events of a flag and their total. None are shown if they are too large for one page."""
    found = event_search.search(conn, {"feature": name}, reader.actor.visible, limit=EVENTS_SHOWN, offset=0)
    return json.loads(found or '{"events": [], "total": 0}')


def read_usage(conn: Connection, name: str, viewer: int | None) -> dict[str, Any]:
    """Return how often applications got "on" (yes) and "off" (no) in the last days.

    bars: by environment, the numbers of each day of UTC. usage: by environment and application, the busiest first.
    """
    now = datetime.now(UTC)
    days = [now.date() - timedelta(days=back) for back in reversed(range(USAGE_DAYS))]
    hours = 24 * (USAGE_DAYS - 1) + now.hour + 1
    found = json.loads(usage.get_raw(conn, name, viewer, hours, "day") or '{"data": []}')["data"]
    counts = Counter[tuple[str, str, date]]()
    totals: dict[tuple[str, str], dict[str, Any]] = {}
    for row in found:
        environment, day = row["environment"], datetime.fromisoformat(row["timestamp"]).date()
        total = totals.setdefault((environment, row["appName"]), row | {"yes": 0, "no": 0, "variants": Counter[str]()})
        total["variants"].update(row["variants"])
        for answer in ("yes", "no"):
            counts[environment, answer, day] += row[answer]
            total[answer] += row[answer]
    bars = {
        name: {answer: [counts[name, answer, day] for day in days] for answer in ("yes", "no")} for name, _ in totals
    }
    return {"bars": bars, "usage": sorted(totals.values(), key=lambda total: -total["yes"] - total["no"])}


def moved(rows: Sequence[Row], index: int, step: int) -> list[dict[str, Any]]:
    """Return the body of set-sort-order that moves a row by one place. step: -1 for up, 1 for down."""
    order = [row.ids for row in rows]
    order[index], order[index + step] = order[index + step], order[index]
    return [{"id": strategy_id, "sortOrder": place} for place, strategy_id in enumerate(chain(*order))]
