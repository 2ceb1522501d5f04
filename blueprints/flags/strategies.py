"""Strategies of a flag in an environment (api.md 4)."""

from flask import Blueprint, Response, abort

from rules.access import require
from rules.constraints import check_strategy
from rules.strategies import NO_STRATEGY, NOT_THERE, add_strategy, change_strategy, find_strategy, hold, leave_without
from serving.contract import operation
from serving.request_data import load, load_many
from serving.responses import empty_response, json_response
from sql import events
from sql.database import connection, transaction
from sql.events import Event
from sql.flags import strategies, strategy_order
from validators import or_400
from validators.flags.environments import StrategyPlace, each_once
from validators.flags.strategies import StrategyChange, StrategyInput

bp = Blueprint("strategies", __name__)

BASE = "/api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies"


@bp.get(BASE)
@operation(record="strategies", refuses=(401, 403, 404))
def list_strategies(project_id: str, feature_name: str, environment: str) -> Response:
    """List the strategies of a flag.

    Those in one environment, in their order.
    """
    with connection() as conn:
        require(conn, project=project_id)
        body = strategies.get_list(conn, project_id, feature_name, environment) or abort(404, NOT_THERE)
    return json_response(body)


@bp.post(BASE)
@operation(record="strategy", body=StrategyInput, refuses=(400, 401, 403, 404, 415))
def create_strategy(project_id: str, feature_name: str, environment: str) -> Response:
    """Add a strategy to a flag.

    It comes behind the last one unless it says where. A gradual rollout (flexibleRollout) gets the parameters that it lacks.
    """
    with transaction() as conn:
        actor = require(conn, "CREATE_FEATURE_STRATEGY", project=project_id, environment=environment)
        asked = load(StrategyInput())
        place = hold(conn, project_id, feature_name, environment)
        check_strategy(conn, asked, project_id)
        made = add_strategy(conn, actor, place, asked)
    return json_response(made["body"])


@bp.get(f"{BASE}/<strategy_id>")
@operation(record="strategy", refuses=(401, 403, 404))
def get_strategy(project_id: str, feature_name: str, environment: str, strategy_id: str) -> Response:
    """Get a strategy.

    With its constraints, variants, parameters and the ids of its segments.
    """
    with connection() as conn:
        require(conn, project=project_id)
        body = strategies.get(conn, project_id, feature_name, environment, strategy_id) or abort(404, NO_STRATEGY)
    return json_response(body)


@bp.put(f"{BASE}/<strategy_id>")
@operation(record="strategy", body=StrategyChange, refuses=(400, 401, 403, 404, 415))
def update_strategy(project_id: str, feature_name: str, environment: str, strategy_id: str) -> Response:
    """Change a strategy.

    Without constraints or variants it has none afterwards; what else is left out stays as it is. Disabling the last enabled strategy of
    an enabled environment switches that environment off first.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_FEATURE_STRATEGY", project=project_id, environment=environment)
        asked = load(StrategyChange())
        place = hold(conn, project_id, feature_name, environment)
        strategy = find_strategy(conn, place, strategy_id)
        changed = change_strategy(conn, actor, place, strategy, asked)
    return json_response(changed["body"])


@bp.delete(f"{BASE}/<strategy_id>")
@operation(record=None, refuses=(401, 403, 404))
def delete_strategy(project_id: str, feature_name: str, environment: str, strategy_id: str) -> Response:
    """Delete a strategy from a flag.

    Removing the last enabled strategy of an enabled environment switches that environment off first, because an environment that is on
    without strategies is on for everyone.
    """
    with transaction() as conn:
        actor = require(conn, "DELETE_FEATURE_STRATEGY", project=project_id, environment=environment)
        place = hold(conn, project_id, feature_name, environment)
        strategy = find_strategy(conn, place, strategy_id)
        leave_without(conn, actor, place, strategy_id)
        strategies.delete(conn, strategy_id)
        events.record(conn, Event("feature-strategy-remove", actor, pre_data=strategy["record"], **place["about"]))
    return empty_response()


@bp.post(f"{BASE}/set-sort-order")
@operation(record=None, body=StrategyPlace, many=True, refuses=(400, 401, 403, 404, 415))
def sort_strategies(project_id: str, feature_name: str, environment: str) -> Response:
    """Set the order of strategies.

    Those that are not named stay where they are.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_FEATURE_STRATEGY", project=project_id, environment=environment)
        asked = or_400(each_once, load_many(StrategyPlace()))
        place = hold(conn, project_id, feature_name, environment)
        before = strategy_order.ids(conn, place["flag_id"], environment)
        if not {strategy["id"] for strategy in asked} <= set(before):
            abort(404, NO_STRATEGY)
        if strategy_order.change(conn, asked):
            after = {"strategyIds": strategy_order.ids(conn, place["flag_id"], environment)}
            events.record(conn, Event("strategy-order-changed", actor, data=after, pre_data={"strategyIds": before}, **place["about"]))
    return empty_response()
