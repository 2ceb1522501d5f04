"""Context fields, which constraints ask about (neighbours.md 3.16)."""

from flask import Blueprint, Response, abort

from rules.access import require
from rules.limits import unique
from serving.contract import operation
from serving.request_data import load
from serving.responses import created, empty_response, json_response
from sql import events
from sql.database import as_json, connection, transaction
from sql.events import Event
from sql.vocabulary import context_fields
from validators.errors import NameExists
from validators.names import NewName
from validators.vocabulary.context_fields import CreateContextField, UpdateContextField

bp = Blueprint("context_fields", __name__)


@bp.get("/api/admin/context")
@operation(record="contextFields", refuses=(401, 403))
def list_context_fields() -> Response:
    """List context fields.

    By their places, with how many live flags ask about each, and in how many projects.
    """
    with connection() as conn:
        require(conn)
        body = context_fields.read(conn)
    return json_response(body)


@bp.post("/api/admin/context")
@operation(record="contextField", body=CreateContextField, status=201, refuses=(400, 401, 403, 409, 415))
def create_context_field() -> Response:
    """Create a context field.

    Constraints can then ask about it; with legal values, for those alone.
    """
    with transaction() as conn, unique(context_fields.TAKEN):
        actor = require(conn, "CREATE_CONTEXT_FIELD")
        asked = load(CreateContextField())
        field = context_fields.insert(
            conn,
            asked["name"],
            description=asked.get("description"),
            stickiness=asked["stickiness"],
            sort_order=asked["sortOrder"],
            legal_values=asked.get("legalValues", ()),
        )
        events.record(conn, Event("context-field-created", actor, data=field))
    return created(as_json(field), "context/{}", field["name"])


@bp.post("/api/admin/context/validate")
@operation(body=NewName, refuses=(400, 401, 403, 409, 415))
def validate_context_field_name() -> Response:
    """Check the name of a context field to be.

    Whether it is well formed and free.
    """
    with connection() as conn:
        require(conn, "UPDATE_CONTEXT_FIELD")
        asked = load(NewName())
        if context_fields.get(conn, asked["name"]) is not None:
            raise NameExists(context_fields.TAKEN["context_fields_pkey"])
    return empty_response()


@bp.get("/api/admin/context/<name>")
@operation(record="contextField", refuses=(401, 403, 404))
def get_context_field(name: str) -> Response:
    """Get a context field.

    With its legal values, if only some are legal.
    """
    with connection() as conn:
        require(conn)
        body = context_fields.get(conn, name) or abort(404, "No context field has that name.")
    return json_response(body)


@bp.put("/api/admin/context/<name>")
@operation(body=UpdateContextField, refuses=(400, 401, 403, 404, 415))
def update_context_field(name: str) -> Response:
    """Change a context field.

    What is absent stays. Constraints that are there stay as they are, and are checked again when they are written.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_CONTEXT_FIELD")
        asked = load(UpdateContextField())
        before = context_fields.lock(conn, name) or abort(404, "No context field has that name.")
        after = context_fields.update(conn, before | asked)
        events.record_change(conn, Event("context-field-updated", actor, data=after, pre_data=before))
    return empty_response()


@bp.delete("/api/admin/context/<name>")
@operation(refuses=(401, 403, 404))
def delete_context_field(name: str) -> Response:
    """Delete a context field.

    Also while constraints ask about it: those stay as they are.
    """
    with transaction() as conn:
        actor = require(conn, "DELETE_CONTEXT_FIELD")
        before = context_fields.lock(conn, name) or abort(404, "No context field has that name.")
        context_fields.delete(conn, name)
        events.record(conn, Event("context-field-deleted", actor, pre_data=before))
    return empty_response()


@bp.get("/api/admin/context/<name>/strategies")
@operation(record="strategyUses", refuses=(401, 403, 404))
def list_context_field_strategies(name: str) -> Response:
    """List the strategies that ask about a context field.

    Those of live flags in projects that the caller may see.
    """
    with connection() as conn:
        actor = require(conn)
        body = context_fields.strategies(conn, name, actor.viewer) or abort(404, "No context field has that name.")
    return json_response(body)
