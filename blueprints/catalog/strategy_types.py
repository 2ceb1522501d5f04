"""Strategy types, both built-in and custom."""

from flask import Blueprint, Response, abort

from rules.access import require
from rules.instance_limits import unique_or_409
from rules.refusals import refuse_used
from rules.strategy_types import lock_editable
from serving.operation import operation
from serving.request_data import load
from serving.responses import created, empty_response, json_response, json_text
from sql import events
from sql.catalog import strategy_types
from sql.database import connection, transaction
from sql.events import Event
from validators.catalog.strategy_types import CreateStrategyType, UpdateStrategyType
from validators.returned import without_read_only

bp = Blueprint("strategy_types", __name__)


@bp.get("/api/admin/strategies")
@operation(record="strategyTypes", refuses=(401, 403))
def list_strategy_types() -> Response:
    """List strategy types.

    Returns built-in types first, then custom types sorted by name.
    """
    with connection() as conn:
        require(conn)
        body = strategy_types.list_all(conn)
    return json_response(body)


@bp.post("/api/admin/strategies")
@operation(record="strategyType", body=CreateStrategyType, status=201, refuses=(400, 401, 403, 409, 415))
def create_strategy_type() -> Response:
    """Create a strategy type.

    Flags with strategies of this type work only in SDKs that implement it.
    """
    with transaction() as conn, unique_or_409(strategy_types.TAKEN):
        actor = require(conn, "CREATE_STRATEGY")
        payload = load(CreateStrategyType())
        strategy_type = strategy_types.insert(conn, {"title": None, "description": None} | payload)
        events.record(conn, Event("strategy-created", actor, data=strategy_type))
    return created(json_text(strategy_type), "strategies/{}", strategy_type["name"])


@bp.get("/api/admin/strategies/<name>")
@operation(record="strategyType", refuses=(401, 403, 404))
def get_strategy_type(name: str) -> Response:
    """Get a strategy type.

    Returns it with its parameters.
    """
    with connection() as conn:
        require(conn)
        body = strategy_types.get(conn, name) or abort(404, "No strategy type has that name.")
    return json_response(body)


@bp.put("/api/admin/strategies/<name>")
@operation(body=UpdateStrategyType, refuses=(400, 401, 403, 404, 409, 415))
def update_strategy_type(name: str) -> Response:
    """Update a strategy type.

    409 for a built-in type. If title or description are omitted, they keep their values.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_STRATEGY")
        payload = load(UpdateStrategyType(), lambda: strategy_types.get(conn, name))
        before = lock_editable(conn, name)
        after = strategy_types.update(conn, before | without_read_only(payload, lambda: before))
        events.record_change(conn, Event("strategy-updated", actor, data=after, pre_data=before))
    return empty_response()


@bp.delete("/api/admin/strategies/<name>")
@operation(refuses=(401, 403, 404, 409))
def delete_strategy_type(name: str) -> Response:
    """Delete a strategy type.

    409 for a built-in type, and for a type that a flag uses.
    """
    with transaction() as conn:
        actor = require(conn, "DELETE_STRATEGY")
        lock_editable(conn, name)
        refuse_used("strategy type", strategy_types.list_places(conn, name, actor.viewer))
        strategy_types.delete(conn, name)
        events.record(conn, Event("strategy-deleted", actor, data={"name": name}))
    return empty_response()


@bp.post("/api/admin/strategies/<name>/deprecate")
@operation(refuses=(401, 403, 404, 409))
def deprecate_strategy_type(name: str) -> Response:
    """Deprecate a strategy type.

    Strategies of this type still work. The type default cannot be deprecated.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_STRATEGY")
        before = strategy_types.lock(conn, name) or abort(404, "No strategy type has that name.")
        if name == "default":
            abort(409, "The strategy type default cannot be deprecated.")
        if not before["deprecated"]:
            strategy_types.update(conn, before | {"deprecated": True})
            events.record(conn, Event("strategy-deprecated", actor, data={"name": name}))
    return empty_response()


@bp.post("/api/admin/strategies/<name>/reactivate")
@operation(refuses=(401, 403, 404))
def reactivate_strategy_type(name: str) -> Response:
    """Reactivate a strategy type.

    Removes its deprecation.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_STRATEGY")
        before = strategy_types.lock(conn, name) or abort(404, "No strategy type has that name.")
        if before["deprecated"]:
            strategy_types.update(conn, before | {"deprecated": False})
            events.record(conn, Event("strategy-reactivated", actor, data={"name": name}))
    return empty_response()
