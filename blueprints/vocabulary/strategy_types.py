"""Types of strategies (neighbours.md 3.16)."""

from typing import Any

from flask import Blueprint, Response, abort

from rules.access import require
from rules.limits import unique
from serving.contract import operation
from serving.request_data import load
from serving.responses import created, empty_response, json_response
from sql import events
from sql.database import Connection, as_json, connection, transaction
from sql.events import Event
from sql.vocabulary import strategy_types
from validators.vocabulary.strategy_types import CreateStrategyType, UpdateStrategyType

bp = Blueprint("strategy_types", __name__)


@bp.get("/api/admin/strategies")
@operation(record="strategyTypes", refuses=(401, 403))
def list_strategy_types() -> Response:
    """List types of strategies.

    The built-in ones, then one's own by name.
    """
    with connection() as conn:
        require(conn)
        body = strategy_types.read(conn)
    return json_response(body)


@bp.post("/api/admin/strategies")
@operation(record="strategyType", body=CreateStrategyType, status=201, refuses=(400, 401, 403, 409, 415))
def create_strategy_type() -> Response:
    """Create a type of strategies.

    SDKs must know how to evaluate it.
    """
    with transaction() as conn, unique(strategy_types.TAKEN):
        actor = require(conn, "CREATE_STRATEGY")
        asked = load(CreateStrategyType())
        said = {"title": asked.get("title"), "description": asked.get("description"), "parameters": asked["parameters"]}
        made = strategy_types.insert(conn, asked["name"], **said)
        events.record(conn, Event("strategy-created", actor, data=made))
    return created(as_json(made), "strategies/{}", made["name"])


@bp.get("/api/admin/strategies/<name>")
@operation(record="strategyType", refuses=(401, 403, 404))
def get_strategy_type(name: str) -> Response:
    """Get a type of strategies.

    With the parameters that it takes.
    """
    with connection() as conn:
        require(conn)
        body = strategy_types.get(conn, name) or abort(404, "No strategy has that name.")
    return json_response(body)


@bp.put("/api/admin/strategies/<name>")
@operation(body=UpdateStrategyType, refuses=(400, 401, 403, 404, 409, 415))
def update_strategy_type(name: str) -> Response:
    """Change a type of strategies.

    Not a built-in one. A title or description that is absent stays.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_STRATEGY")
        asked = load(UpdateStrategyType())
        if asked.pop("name", name) != name:
            abort(400, "name: must be the same as in the address")
        before = editable(conn, name)
        after = strategy_types.update(conn, before | asked)
        events.record_change(conn, Event("strategy-updated", actor, data=after, pre_data=before))
    return empty_response()


@bp.delete("/api/admin/strategies/<name>")
@operation(refuses=(401, 403, 404, 409))
def delete_strategy_type(name: str) -> Response:
    """Delete a type of strategies.

    One that is not built in, and that no flag uses.
    """
    with transaction() as conn:
        actor = require(conn, "DELETE_STRATEGY")
        editable(conn, name)
        uses = strategy_types.count_uses(conn, name)
        if uses:
            abort(409, f"Flags use this strategy, archived ones perhaps, in {uses} place{'' if uses == 1 else 's'}.")
        strategy_types.delete(conn, name)
        events.record(conn, Event("strategy-deleted", actor, data={"name": name}))
    return empty_response()


@bp.post("/api/admin/strategies/<name>/deprecate")
@operation(refuses=(401, 403, 404, 409))
def deprecate_strategy_type(name: str) -> Response:
    """Deprecate a type of strategies.

    It still works; tools may warn of it. The type called default cannot be deprecated.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_STRATEGY")
        before = strategy_types.lock(conn, name) or abort(404, "No strategy has that name.")
        if name == "default":
            abort(409, "The strategy called default cannot be deprecated.")
        if not before["deprecated"]:
            strategy_types.update(conn, before | {"deprecated": True})
            events.record(conn, Event("strategy-deprecated", actor, data={"name": name}))
    return empty_response()


@bp.post("/api/admin/strategies/<name>/reactivate")
@operation(refuses=(401, 403, 404))
def reactivate_strategy_type(name: str) -> Response:
    """Reactivate a type of strategies.

    Takes its deprecation back.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_STRATEGY")
        before = strategy_types.lock(conn, name) or abort(404, "No strategy has that name.")
        if before["deprecated"]:
            strategy_types.update(conn, before | {"deprecated": False})
            events.record(conn, Event("strategy-reactivated", actor, data={"name": name}))
    return empty_response()


def editable(conn: Connection, name: str) -> dict[str, Any]:
    """The type, locked; 404 when there is none, 409 when it is built in."""
    found = strategy_types.lock(conn, name) or abort(404, "No strategy has that name.")
    if not found["editable"]:
        abort(409, "A built-in strategy cannot be changed or deleted.")
    return found
