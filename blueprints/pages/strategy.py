"""The forms that add a strategy to a flag and edit one."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from flask import Blueprint, Response, abort, request
from werkzeug.exceptions import BadRequest

from blueprints.pages.change_requests import results_of_draft
from blueprints.pages.constraints import MOST_VALUES, constraint_choices, describe, join
from blueprints.pages.flag_text import Row, rows_of, without_effect
from blueprints.pages.newest_change import STRATEGY, newest_change
from blueprints.pages.page import Reader, page, require_reader
from blueprints.pages.project import read_project
from blueprints.pages.strategy_text import later, sentence
from rules.ramp_plans import NEW as EMPTY
from rules.ramp_plans import Plan, steps_of
from rules.strategies import NO_FLAG_THERE, NO_STRATEGY
from rules.strategy_parameters import PERCENTAGE
from serving.etags import content_version
from serving.request_data import load
from sql.catalog import context_fields, environments, segments, strategy_types
from sql.database import Connection, connection
from sql.flags import strategies
from validators.fields import DateTime, ListOf, Nested, Text
from validators.flags.ramp_plans import RampStep
from validators.flags.strategies import StrategyInput

bp = Blueprint("strategy", __name__)

STRATEGIES = "/projects/<project_id>/flags/<feature_name>/environments/<environment>/strategies"
# The values of stickiness that every instance has, beside the context fields for it.
STICKINESS = ["default", "random", "userId", "sessionId"]
STICKINESS_TEXTS = {"default": "userId, else session (default)", "random": "nothing: random each time"}
NEW = {"name": "flexibleRollout", "title": None, "disabled": False, "constraints": [], "segments": [], "variants": []}
LABELS = {"stickiness": "A user is recognized by", "groupId": "Group", "rollout": "Share of users in percent"}


class Preview(StrategyInput):
    """What the form of a strategy sends: a strategy, or with several steps or an end a ramp plan."""

    steps = ListOf(Nested(RampStep))
    until = DateTime()
    replaces = Text()


@bp.get(f"{STRATEGIES}/new")
def show_new_strategy(project_id: str, feature_name: str, environment: str) -> Response:
    """Show the form of a new strategy. The parameter type names its strategy type: a gradual rollout by default."""
    with connection() as conn:
        reader, project = require_editor(conn, "CREATE_FEATURE_STRATEGY", project_id, environment)
        found = strategies.get_list(conn, project_id, feature_name, environment) or abort(404, NO_FLAG_THERE)
        context = form_context(conn, reader, project, feature_name, environment)
    every = json.loads(found)
    warning = without_effect(None, context["strategy"], rows_of(every, {}, datetime.now(UTC)))
    return page("flag/strategy.html", is_new=True, number=len(every) + 1, warning=warning, **context)


@bp.get(f"{STRATEGIES}/<strategy_id>")
def show_strategy(project_id: str, feature_name: str, environment: str, strategy_id: str) -> Response:
    """Show the form that edits a strategy or a ramp plan. It sends everything that PUT would remove otherwise."""
    with connection() as conn:
        reader, project = require_editor(conn, "UPDATE_FEATURE_STRATEGY", project_id, environment)
        found = strategies.get(conn, project_id, feature_name, environment, strategy_id) or abort(404, NO_STRATEGY)
        every = strategies.get_list(conn, project_id, feature_name, environment) or abort(404, NO_STRATEGY)
        rows = rows_of(json.loads(every), {}, datetime.now(UTC))
        row = next((row for row in rows if strategy_id in row.ids), None) or abort(404, NO_STRATEGY)
        drafted = results_of_draft(conn, project, environment).get((feature_name, "strategy", strategy_id)) or {}
        context = form_context(conn, reader, project, feature_name, environment, row.plan or row.strategy | drafted)
        # The newest change of a plan can be one of any step.
        etag = content_version(row.plan.records, *row.plan.ids) if row.plan else found.version
        same = {} if row.plan else {"id": strategy_id}
        context |= newest_change(conn, reader, etag, STRATEGY, same, feature=feature_name, environment=environment)
    warning = without_effect(strategy_id, context["strategy"], rows)
    shown = {"is_new": False, "is_drafted": drafted and not row.plan, "number": row.number, "warning": warning}
    return page("flag/strategy.html", **shown, **context)


@bp.post(f"{STRATEGIES}/preview")
def describe_strategy(project_id: str, feature_name: str, environment: str) -> Response:
    """Return the sentence for the strategy in the body, which the form shows while somebody types. Changes nothing."""
    with connection() as conn:
        reader = require_reader(conn, project=project_id)
        every = strategies.get_list(conn, project_id, feature_name, environment) or abort(404, NO_FLAG_THERE)
        found = list_segments(conn, reader, [], project_id)
    names = {one["id"]: one["name"] for one in found}
    return page("flag/preview.html", **preview_of_body(names, rows_of(json.loads(every), names, datetime.now(UTC))))


def require_editor(
    conn: Connection, permission: str, project_id: str, environment: str
) -> tuple[Reader, dict[str, Any]]:
    """Return the reader and the project. Raise 403 unless they may save a strategy or propose it."""
    reader = require_reader(conn, project=project_id, list_projects=True)
    project = read_project(conn, project_id, reader)
    if environment not in project["proposes"]:
        reader = require_reader(conn, permission, project=project_id, environment=environment, list_projects=True)
    return reader, project | {"may_save": reader.may(permission, project=project_id, environment=environment)}


def preview_of_body(names: dict[int, str], rows: Sequence[Row]) -> dict[str, Any]:
    """Return the text of the strategy in the body, or its problem: in a success, because browsers log errors."""
    now = datetime.now(UTC)
    try:
        body = load(Preview())
        if len(body.get("steps", [])) > 1 or "until" in body:
            steps_of({"name": "", "default_stickiness": "default", "locked_at": now}, body, EMPTY)
    except BadRequest as error:
        return {"problem": error.description}
    steps = [(step["percent"], step.get("at", now)) for step in body.get("steps", [])]
    if steps:
        share = max((percent for percent, at in steps if at <= now <= body.get("until", now)), default=0)
        body["parameters"] = body.get("parameters", {}) | {"rollout": str(share)}
    text = sentence(body, names) + later([step for step in steps if step[1] > now], body.get("until"))
    return {"text": text, "warning": without_effect(body.get("replaces"), body, rows)}


def form_context(
    conn: Connection,
    reader: Reader,
    project: dict[str, Any],
    flag: str,
    environment: str,
    item: dict[str, Any] | Plan | None = None,
) -> dict[str, Any]:
    """Return the strategy and what its form offers: types with their parameters, context fields, segments.

    item: None for a new strategy, which begins as the default strategy of the environment. The parameter type of the
    address chooses another type. Each type has parameters of its own: those of the strategy are of its stored type.
    Raise 404 if the strategy type does not exist.
    """
    stored = {one["environment"]: one.get("defaultStrategy") for one in project["environments"]}.get(environment)
    # The database can contain default strategies of types that no longer exist.
    default = {**stored, "disabled": False} if stored and stored["name"] == NEW["name"] else {"parameters": {}}
    defaults = {"rollout": "100", "stickiness": project["defaultStickiness"], **default["parameters"], "groupId": flag}
    plan = item if isinstance(item, Plan) else None
    strategy: dict[str, Any] = item if isinstance(item, dict) else NEW | default | {"parameters": defaults}
    # Steps that a later one has replaced are not shown, and are deleted when the form is saved.
    ramp = plan.steps[plan.steps.index(plan.today) if plan.today else 0 :] if plan else []
    if plan:
        strategy = plan.strategy | {"parameters": plan.strategy["parameters"] | {"rollout": str(ramp[0].percent)}}
    known = json.loads(context_fields.list_all(conn))
    name = request.args.get("type", strategy["name"])
    types = [
        kind
        for kind in json.loads(strategy_types.list_all(conn))["strategies"]
        if kind["name"] in (name, strategy["name"]) or not (kind["deprecated"] or plan)
    ]
    if name not in [kind["name"] for kind in types]:
        abort(404, "No such strategy type.")
    for kind in types:
        is_own = kind["name"] == strategy["name"]
        parameters = strategy["parameters"] if is_own else defaults if kind["name"] == NEW["name"] else {}
        # A name with a dot would become an object in the request of the form.
        named = [parameter for parameter in kind["parameters"] if "." not in parameter["name"]]
        kind["fields"] = [parameter_field(parameter, parameters, stickiness_choices(known)) for parameter in named]
        shown = {parameter["name"] for parameter in named}
        kind["kept"] = {key: text for key, text in parameters.items() if key not in shown}
    found = list_segments(conn, reader, strategy["segments"], project["id"])
    meanings = [join([describe(one, most=MOST_VALUES) for one in each["constraints"]], "and") for each in found]
    options = [("segments", one["id"], one["name"], text) for one, text in zip(found, meanings, strict=True)]
    steps = ramp or [{"percent": strategy["parameters"].get("rollout", "100")}]
    more, until = ([(one.percent, one.at) for one in ramp if not one.reached], plan.until) if plan else ([], None)
    return {
        "project": project,
        "may_save": project["may_save"],
        "flag_name": flag,
        "environment": json.loads(environments.get(conn, environment) or abort(404)),
        "strategy": strategy | {"name": name},
        "types": types,
        "steps": steps,
        "until": until,
        "segment_options": options,
        "segment_chips": [option for option in options if option[1] in strategy["segments"]],
        "text": sentence(plan.strategy if plan else strategy, {one["id"]: one["name"] for one in found})
        + later(more, until),
        "labels": LABELS,
        "stickiness_texts": STICKINESS_TEXTS,
        **constraint_choices(known),
    }


def parameter_field(parameter: dict[str, Any], parameters: dict[str, str], sticky: list[str]) -> dict[str, Any]:
    """Return a parameter with its text (None: not set), and the control that can show its value."""
    text = parameters.get(parameter["name"])
    choices: list[str] = []
    if parameter["type"] == "boolean":
        choices = ["true", "false"]
    elif parameter["name"] == "stickiness":
        choices = sticky
    if choices and (text or "") not in choices:
        choices = [text or "", *choices]
    is_share = parameter["type"] == "percentage" and PERCENTAGE.fullmatch(text or "") is not None
    return {**parameter, "text": text, "choices": choices, "is_share": is_share}


def list_segments(conn: Connection, reader: Reader, chosen: list[int], project_id: str) -> list[dict[str, Any]]:
    """Return the segments that strategies of the project can have, and those that the strategy has anyway."""
    visible = json.loads(segments.list_all(conn, reader.actor.viewer))["segments"]
    usable = [one for one in visible if one.get("project") in (None, project_id) or one["id"] in chosen]
    hidden = set(chosen) - {one["id"] for one in usable}
    return usable + [{"id": number, "name": f"Segment {number}", "constraints": []} for number in sorted(hidden)]


def stickiness_choices(fields: Sequence[dict[str, Any]]) -> list[str]:
    """Return the values of stickiness: those of every instance, and the context fields that can be used for it."""
    return list(dict.fromkeys([*STICKINESS, *(field["name"] for field in fields if field["stickiness"])]))
