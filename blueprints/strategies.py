"""Removal of a strategy from a flag in one environment (api.md 4)."""

from flask import Blueprint, Response, abort

from blueprints.access import require
from blueprints.contract import operation
from blueprints.respond import empty_response
from sql import events, strategies, transaction

bp = Blueprint("strategies", __name__)


@bp.delete("/api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies/<strategy_id>")
@operation(record=None, refuses=(401, 403, 404))
def delete_strategy(project_id: str, feature_name: str, environment: str, strategy_id: str) -> Response:
    """Delete a strategy from a flag.

    Removing the last enabled strategy of an enabled environment switches that environment off first, because an environment that is on
    without strategies is on for everyone.
    """
    with transaction() as conn:
        actor = require(conn, "DELETE_FEATURE_STRATEGY", project=project_id, environment=environment)
        strategy = strategies.lock(conn, project_id, feature_name, environment, strategy_id)
        if strategy is None:
            abort(404, "No such strategy belongs to this flag in this project and environment.")
        about = {"project": project_id, "environment": environment, "feature": feature_name, "tags": strategy["tags"]}
        # Our choice: off comes first, in the log as in the transaction.
        if strategies.disable_environment_without(conn, strategy_id):
            events.record(conn, "feature-environment-disabled", actor, **about)
        strategies.delete(conn, strategy_id)
        events.record(conn, "feature-strategy-remove", actor, pre_data=strategy["record"], **about)
    return empty_response()
