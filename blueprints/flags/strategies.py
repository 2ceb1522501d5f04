"""Strategies of a flag in an environment (api.md 4)."""

from flask import Blueprint, Response, abort

from rules.access import require
from rules.constraints import check_strategy
from rules.flags import flag_event
from rules.strategies import (
    NO_FLAG_THERE,
    NO_STRATEGY,
    add_strategies,
    change_strategy,
    find_strategy,
    leave_without,
    lock_in_environment,
    remove_strategies,
)
from serving.contract import operation
from serving.request_data import load, load_many
from serving.responses import empty_response, json_response
from sql import events
from sql.database import connection, transaction
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
        body = strategies.get_list(conn, project_id, feature_name, environment) or abort(404, NO_FLAG_THERE)
    return json_response(body)


@bp.post(BASE)
@operation(record="strategy", body=StrategyInput, refuses=(400, 401, 403, 404, 415))
def create_strategy(project_id: str, feature_name: str, environment: str) -> Response:
    """Add a strategy to a flag.

    It comes behind the last one unless it says where. A gradual rollout (flexibleRollout) gets the parameters that it lacks.
    """
    with transaction() as conn:
        actor = require(conn, "CREATE_FEATURE_STRATEGY", project=project_id, environment=environment)
        strategy = load(StrategyInput())
        flag = lock_in_environment(conn, project_id, feature_name, environment)
        check_strategy(conn, strategy, project_id)
        [added] = add_strategies(conn, actor, [(flag, strategy)])
    return json_response(added["body"])


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
        change = load(StrategyChange())
        flag = lock_in_environment(conn, project_id, feature_name, environment)
        strategy = find_strategy(conn, flag, strategy_id)
        changed = change_strategy(conn, actor, flag, strategy, change)
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
        flag = lock_in_environment(conn, project_id, feature_name, environment)
        strategy = find_strategy(conn, flag, strategy_id)
        leave_without(conn, actor, flag, strategy_id)
        remove_strategies(conn, actor, [(flag, strategy["record"])])
    return empty_response()


@bp.post(f"{BASE}/set-sort-order")
@operation(record=None, body=StrategyPlace, many=True, refuses=(400, 401, 403, 404, 415))
def sort_strategies(project_id: str, feature_name: str, environment: str) -> Response:
    """Set the order of strategies.

    Those that are not named stay where they are.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_FEATURE_STRATEGY", project=project_id, environment=environment)
        order = or_400(each_once, load_many(StrategyPlace()))
        flag = lock_in_environment(conn, project_id, feature_name, environment)
        before = strategy_order.ids(conn, flag["id"], environment)
        if not {strategy["id"] for strategy in order} <= set(before):
            abort(404, NO_STRATEGY)
        if strategy_order.change(conn, order):
            after = {"strategyIds": strategy_order.ids(conn, flag["id"], environment)}
            events.record(conn, flag_event("strategy-order-changed", actor, flag, data=after, pre_data={"strategyIds": before}))
    return empty_response()
