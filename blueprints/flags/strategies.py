"""Strategies of a flag in an environment. They decide for whom the flag is on."""

from flask import Blueprint, Response, abort

from rules.access import require
from rules.constraints import check_strategy
from rules.refusals import Refusal
from rules.strategies import (
    NO_FLAG_THERE,
    NO_STRATEGY,
    add_strategies,
    change_order,
    change_strategy,
    find_strategy,
    lock_in_environment,
    remove_strategy,
)
from serving.etags import refuse_changed
from serving.operation import operation
from serving.request_data import load, load_many
from serving.responses import empty_response, json_response
from sql.database import connection, transaction
from sql.flags import strategies
from validators import or_400
from validators.flags.environments import StrategyPlace, refuse_duplicate_positions
from validators.flags.strategies import StrategyChange, StrategyInput, StrategyPatch, patched_strategy
from validators.returned import without_read_only

bp = Blueprint("strategies", __name__)

BASE = "/api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/strategies"


@bp.get(BASE)
@operation(record="strategies", refuses=(401, 403, 404))
def list_strategies(project_id: str, feature_name: str, environment: str) -> Response:
    """List the strategies of a flag in an environment.

    Returns the strategies sorted by position, also those of an archived flag.
    """
    with connection() as conn:
        require(conn, project=project_id)
        body = strategies.get_list(conn, project_id, feature_name, environment) or abort(404, NO_FLAG_THERE)
    return json_response(body)


@bp.post(BASE)
@operation(record="strategy", body=StrategyInput, refuses=(400, 401, 403, 404, 415))
def create_strategy(project_id: str, feature_name: str, environment: str) -> Response:
    """Add a strategy to a flag in an environment.

    Without sortOrder, the new strategy is the last one. A gradual rollout (flexibleRollout) gets defaults for missing
    parameters.
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

    Returns the strategy with its constraints, variants, parameters and segment ids.
    """
    with connection() as conn:
        require(conn, project=project_id)
        body = strategies.get(conn, project_id, feature_name, environment, strategy_id) or abort(404, NO_STRATEGY)
    return json_response(body)


@bp.put(f"{BASE}/<strategy_id>")
@operation(record="strategy", body=StrategyChange, refuses=(400, 401, 403, 404, 412, 415))
def update_strategy(project_id: str, feature_name: str, environment: str, strategy_id: str) -> Response:
    """Update a strategy.

    If constraints or variants are omitted, they are removed. Other omitted properties keep their values. Parts that
    stay unchanged are not checked. If this disables the last enabled strategy of an enabled environment, the flag is
    first disabled in that environment.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_FEATURE_STRATEGY", project=project_id, environment=environment)
        place = project_id, feature_name, environment, strategy_id
        refuse_changed(lambda: lock_in_environment(conn, *place[:3]) and strategies.get(conn, *place), NO_STRATEGY)
        change = load(StrategyChange(), lambda: strategies.get(conn, *place))
        flag = lock_in_environment(conn, project_id, feature_name, environment)
        strategy = find_strategy(conn, flag, strategy_id)
        change = without_read_only(change, lambda: strategy["record"])
        changed = change_strategy(conn, actor, flag, strategy, change)
    return json_response(changed["body"])


@bp.patch(f"{BASE}/<strategy_id>")
@operation(record="strategy", body=StrategyPatch, many=True, refuses=(400, 401, 403, 404, 412, 415))
def patch_strategy(project_id: str, feature_name: str, environment: str, strategy_id: str) -> Response:
    """Patch a strategy.

    The body is a JSON patch (RFC 6902) of the strategy. The patch cannot change id, featureName or sortOrder. Removed
    properties get their defaults. The rules of PUT apply.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_FEATURE_STRATEGY", project=project_id, environment=environment)
        place = project_id, feature_name, environment, strategy_id
        refuse_changed(lambda: lock_in_environment(conn, *place[:3]) and strategies.get(conn, *place), NO_STRATEGY)
        operations = load_many(StrategyPatch())
        flag = lock_in_environment(conn, project_id, feature_name, environment)
        strategy = find_strategy(conn, flag, strategy_id)
        change = or_400(lambda record: patched_strategy(record, operations), strategy["record"])
        changed = change_strategy(conn, actor, flag, strategy, change)
    return json_response(changed["body"])


@bp.delete(f"{BASE}/<strategy_id>")
@operation(
    record=None,
    refuses=(401, 403, 404, 412),
    errors={
        403: Refusal(
            "The caller lacks the permission to delete strategies in this environment.",
            "You lack the permission DELETE_FEATURE_STRATEGY in this project and environment.",
        ),
        404: Refusal(
            "The flag has no such strategy in this project and environment, or the project is hidden from the caller.",
            "The flag has no such strategy in this project and environment.",
        ),
    },
)
def delete_strategy(project_id: str, feature_name: str, environment: str, strategy_id: str) -> Response:
    """Delete a strategy from a flag.

    If this is the last enabled strategy of an enabled environment, the flag is first disabled in that environment.
    Without strategies, an enabled flag would be on for everyone.
    """
    with transaction() as conn:
        actor = require(conn, "DELETE_FEATURE_STRATEGY", project=project_id, environment=environment)
        flag = lock_in_environment(conn, project_id, feature_name, environment)
        strategy = find_strategy(conn, flag, strategy_id)
        refuse_changed(lambda: strategy["version"], None)
        remove_strategy(conn, actor, flag, strategy["record"])
    # Our choice: this is the only empty response with a Content-Type, because MCP servers check it.
    return json_response("")


@bp.post(f"{BASE}/set-sort-order")
@operation(record=None, body=StrategyPlace, many=True, refuses=(400, 401, 403, 404, 415))
def sort_strategies(project_id: str, feature_name: str, environment: str) -> Response:
    """Sort the strategies of a flag in an environment.

    The body sets their positions. Strategies that it does not name keep theirs.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_FEATURE_STRATEGY", project=project_id, environment=environment)
        order = or_400(refuse_duplicate_positions, load_many(StrategyPlace()))
        change_order(conn, actor, lock_in_environment(conn, project_id, feature_name, environment), order)
    return empty_response()
