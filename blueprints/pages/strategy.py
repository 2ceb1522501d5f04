"""The forms that add a strategy to a flag and edit one."""

import json
from collections.abc import Sequence
from typing import Any

from flask import Blueprint, Response, abort, request

from blueprints.pages.constraints import constraint_choices
from blueprints.pages.page import Reader, page, require_reader
from blueprints.pages.project import read_project
from rules.strategies import NO_FLAG_THERE, NO_STRATEGY
from rules.strategy_parameters import PERCENTAGE
from sql.catalog import context_fields, segments, strategy_types
from sql.database import Connection, connection
from sql.flags import strategies

bp = Blueprint("strategy", __name__)

STRATEGIES = "/projects/<project_id>/flags/<feature_name>/environments/<environment>/strategies"
# The values of stickiness that every instance has, beside the context fields for it.
STICKINESS = ["default", "random", "userId", "sessionId"]


@bp.get(f"{STRATEGIES}/new")
def show_new_strategy(project_id: str, feature_name: str, environment: str) -> Response:
    """Show the form of a new strategy. The parameter type names its strategy type: a gradual rollout by default."""
    with connection() as conn:
        reader = require_reader(conn, "CREATE_FEATURE_STRATEGY", project=project_id, environment=environment)
        if strategies.get_list(conn, project_id, feature_name, environment) is None:
            abort(404, NO_FLAG_THERE)
        project = read_project(conn, project_id, reader)
        name = request.args.get("type", "flexibleRollout")
        rollout = {"rollout": "100", "stickiness": project["defaultStickiness"], "groupId": feature_name}
        strategy = {
            "name": name,
            "title": None,
            "disabled": False,
            "parameters": rollout,
            "constraints": [],
            "segments": [],
            "variants": [],
        }
        choices = form_choices(conn, reader, strategy, project, is_new=True)
    return page("flag/strategy.html", flag_name=feature_name, environment=environment, **choices)


@bp.get(f"{STRATEGIES}/<strategy_id>")
def show_strategy(project_id: str, feature_name: str, environment: str, strategy_id: str) -> Response:
    """Show the form that edits a strategy. It sends everything that PUT would remove otherwise."""
    with connection() as conn:
        reader = require_reader(conn, "UPDATE_FEATURE_STRATEGY", project=project_id, environment=environment)
        found = strategies.get(conn, project_id, feature_name, environment, strategy_id) or abort(404, NO_STRATEGY)
        project = read_project(conn, project_id, reader)
        choices = form_choices(conn, reader, json.loads(found), project, is_new=False)
    return page("flag/strategy.html", flag_name=feature_name, environment=environment, **choices)


def form_choices(
    conn: Connection, reader: Reader, strategy: dict[str, Any], project: dict[str, Any], *, is_new: bool
) -> dict[str, Any]:
    """Return the strategy, and what its form offers: types with the fields of parameters, context fields, segments.

    The type of a strategy cannot change. The parameters of a new one are those of a gradual rollout. Raise 404 if the
    strategy type does not exist.
    """
    types = json.loads(strategy_types.list_all(conn))["strategies"]
    known = json.loads(context_fields.list_all(conn))
    name, parameters = strategy["name"], strategy["parameters"]
    chosen = next((kind for kind in types if kind["name"] == name), None) or abort(404, "No such strategy type.")
    sticky = stickiness_choices(known)
    offered = [kind for kind in types if kind is chosen or (is_new and not kind["deprecated"])]
    for kind in offered:
        known_values = {} if is_new and kind["name"] != "flexibleRollout" else parameters
        # A name with a dot would become an object in the request of the form.
        named = [parameter for parameter in kind["parameters"] if "." not in parameter["name"]]
        kind["fields"] = [parameter_field(parameter, known_values, sticky) for parameter in named]
    shown = {field["name"] for field in chosen["fields"]}
    return {
        "project": project,
        "strategy": strategy,
        "is_new": is_new,
        "types": offered,
        "kept": {} if is_new else {name: text for name, text in parameters.items() if name not in shown},
        "known_segments": list_segments(conn, reader, strategy["segments"], project["id"]),
        **constraint_choices(known),
    }


def parameter_field(parameter: dict[str, Any], parameters: dict[str, str], sticky: list[str]) -> dict[str, Any]:
    """Return a parameter with its text (None: not set), and a control that can show its value."""
    text = parameters.get(parameter["name"])
    choices: list[str] = []
    if parameter["type"] == "boolean":
        choices = ["true", "false"]
    elif parameter["name"] == "stickiness":
        choices = sticky
    if choices and (text or "") not in choices:
        choices = [text or "", *choices]
    is_slider = parameter["type"] == "percentage" and PERCENTAGE.fullmatch(text or "")
    return {**parameter, "text": text, "choices": choices, "control": "slider" if is_slider else "text"}


def list_segments(conn: Connection, reader: Reader, chosen: list[int], project_id: str) -> list[dict[str, Any]]:
    """Return the segments that strategies of the project can have, and those that the strategy has anyway."""
    visible = json.loads(segments.list_all(conn, reader.actor.viewer))["segments"]
    usable = [one for one in visible if one.get("project") in (None, project_id) or one["id"] in chosen]
    hidden = set(chosen) - {one["id"] for one in usable}
    return usable + [{"id": number, "name": f"Segment {number}"} for number in sorted(hidden)]


def stickiness_choices(fields: Sequence[dict[str, Any]]) -> list[str]:
    """Return the values of stickiness: those of every instance, and the context fields that can be used for it."""
    return list(dict.fromkeys([*STICKINESS, *(field["name"] for field in fields if field["stickiness"])]))
