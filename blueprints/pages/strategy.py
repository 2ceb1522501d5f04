"""The forms that add a strategy to a flag and edit one."""

import json
from typing import Any

from flask import Blueprint, Response, abort, request

from blueprints.pages.constraints import constraint_choices
from blueprints.pages.page import Reader, page, require_reader
from rules.strategies import NO_FLAG_THERE, NO_STRATEGY
from sql.database import Connection, connection
from sql.flags import strategies
from sql.projects import overview
from sql.vocabulary import context_fields, segments, strategy_types

bp = Blueprint("strategy", __name__)

STRATEGIES = "/projects/<project_id>/flags/<feature_name>/environments/<environment>/strategies"
# The values of stickiness that every instance has, beside the context fields for it.
STICKINESS = ["default", "random"]


@bp.get(f"{STRATEGIES}/new")
def show_new_strategy(project_id: str, feature_name: str, environment: str) -> Response:
    """Show the form of a new strategy. The parameter type names its strategy type: a gradual rollout by default."""
    with connection() as conn:
        reader = require_reader(conn, "CREATE_FEATURE_STRATEGY", project=project_id, environment=environment)
        if strategies.get_list(conn, project_id, feature_name, environment) is None:
            abort(404, NO_FLAG_THERE)
        name = request.args.get("type", "flexibleRollout")
        project = json.loads(overview.get(conn, project_id, reader.user_id) or abort(404))
        rollout = {"rollout": "100", "stickiness": project["defaultStickiness"], "groupId": feature_name}
        strategy = {
            "name": name,
            "title": None,
            "disabled": False,
            "parameters": rollout if name == "flexibleRollout" else {},
            "constraints": [],
            "segments": [],
            "variants": [],
        }
        choices = form_choices(conn, reader, name)
    place = {"project_id": project_id, "flag_name": feature_name, "environment": environment}
    return page("flag/strategy.html", strategy=strategy, is_new=True, **place, **choices)


@bp.get(f"{STRATEGIES}/<strategy_id>")
def show_strategy(project_id: str, feature_name: str, environment: str, strategy_id: str) -> Response:
    """Show the form that edits a strategy."""
    with connection() as conn:
        reader = require_reader(conn, "UPDATE_FEATURE_STRATEGY", project=project_id, environment=environment)
        found = strategies.get(conn, project_id, feature_name, environment, strategy_id) or abort(404, NO_STRATEGY)
        strategy = json.loads(found)
        choices = form_choices(conn, reader, strategy["name"])
    place = {"project_id": project_id, "flag_name": feature_name, "environment": environment}
    return page("flag/strategy.html", strategy=strategy, is_new=False, **place, **choices)


def form_choices(conn: Connection, reader: Reader, type_name: str) -> dict[str, Any]:
    """Return what the form offers: strategy types, the parameters of one type, stickiness, context fields, segments.

    Raise 404 if the strategy type does not exist.
    """
    types = json.loads(strategy_types.list_all(conn))["strategies"]
    fields = json.loads(context_fields.list_all(conn))
    chosen = next((kind for kind in types if kind["name"] == type_name), None) or abort(404, "No such strategy type.")
    return {
        "types": [kind for kind in types if not kind["deprecated"]],
        "type": chosen,
        "stickiness": STICKINESS + [field["name"] for field in fields if field["stickiness"]],
        "known_segments": json.loads(segments.list_all(conn, reader.actor.viewer))["segments"],
        **constraint_choices(fields),
    }
