"""The playground: evaluate flags for a made-up user, and see why each flag is on or off."""

from flask import Blueprint, Response, abort

from rules.access import require
from rules.playground import evaluate, evaluate_contexts, refuse_unknown
from rules.strategies import NO_FLAG_THERE
from serving.operation import operation
from serving.request_data import load
from serving.responses import json_response, json_text
from sql.database import connection
from validators.playground import FlagEvaluation, PlaygroundComparison, PlaygroundRequest

bp = Blueprint("playground", __name__)


@bp.post("/api/admin/playground")
@operation(record="playground", body=PlaygroundRequest, refuses=(401, 403, 415))
def evaluate_flags() -> Response:
    """Evaluate flags for a context.

    Returns the live flags of the projects that the caller can see, as an application would evaluate them, and why each
    is on or off: its strategies, constraints and rollouts with the values of the context. Nothing counts as usage.
    """
    with connection() as conn:
        actor = require(conn)
        asked = load(PlaygroundRequest())
        refuse_unknown(conn, actor.viewer, [asked["environment"]], asked["projects"])
        features = evaluate(conn, actor.viewer, asked["environment"], asked["projects"], asked["context"])
    given = {name: asked[name] or "*" for name in ("environment", "projects", "context")}
    return json_response(json_text({"input": given, "features": features}))


@bp.post("/api/admin/playground/advanced")
@operation(record="playgroundComparison", body=PlaygroundComparison, refuses=(401, 403, 415))
def evaluate_flags_for_contexts() -> Response:
    """Evaluate flags for several contexts and environments.

    A text of the context can have several values with commas between them. Then the response has a result for each
    combination of values, in each environment. The maximum is 10,000 results, and 64 MiB.
    """
    with connection() as conn:
        actor = require(conn)
        asked = load(PlaygroundComparison())
        refuse_unknown(conn, actor.viewer, asked["environments"], asked["projects"])
        features = evaluate_contexts(conn, actor.viewer, asked["environments"], asked["projects"], asked["context"])
    projects = asked["projects"] or "*"
    given = {"environments": asked["environments"], "projects": projects, "context": asked["context"]}
    return json_response(json_text({"input": given, "features": features}))


@bp.post("/api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/evaluate")
@operation(record="playgroundFlag", body=FlagEvaluation, refuses=(401, 403, 404, 415))
def evaluate_flag(project_id: str, feature_name: str, environment: str) -> Response:
    """Evaluate one flag for a context.

    Returns why the flag is on or off, and which strategy, constraint and bucket decided.
    """
    with connection() as conn:
        actor = require(conn, project=project_id)
        context = load(FlagEvaluation())["context"]
        found = evaluate(conn, actor.viewer, environment, [project_id], context, feature_name)
    return json_response(json_text(found[0])) if found else abort(404, NO_FLAG_THERE)
