"""Context fields. Constraints compare them with values."""

from typing import Any

from flask import Blueprint, Response, abort

from rules.access import Actor, require
from rules.instance_limits import unique_or_409
from rules.refusals import Refusal, refuse_used
from serving.etags import refuse_changed
from serving.operation import operation
from serving.request_data import load, load_query
from serving.responses import created, empty_response, json_response
from sql import events
from sql.catalog import context_fields
from sql.database import Connection, connection, transaction
from sql.events import Event
from validators import MAX_ITEMS
from validators.catalog.context_fields import CreateContextField, LegalValue, ProjectContextFields, UpdateContextField
from validators.errors import NameExists
from validators.names import NewName
from validators.returned import without_read_only

bp = Blueprint("context_fields", __name__)

UNKNOWN = "No context field has that name."


@bp.get("/api/admin/context")
@operation(record="contextFields", refuses=(401, 403))
def list_context_fields() -> Response:
    """List context fields.

    Returns the fields sorted by position. Each has the number of live flags that use it in a constraint, in an override
    or as stickiness, the number of their projects, and the number of segments with it.
    """
    with connection() as conn:
        require(conn)
        body = context_fields.list_all(conn)
    return json_response(body)


@bp.get("/api/admin/projects/<project_id>/context")
@operation(record="contextFields", query=ProjectContextFields, refuses=(400, 401, 403, 404))
def list_project_context_fields(project_id: str) -> Response:
    """List the context fields of a project.

    The list is empty, because no context field belongs to a project here. With include=root, the list has all context
    fields. The web UI of Unleash 8 offers these in the constraints of strategies.
    """
    with connection() as conn:
        require(conn, project=project_id)
        body = context_fields.list_all(conn) if load_query(ProjectContextFields)["include"] == "root" else "[]"
    return json_response(body)


@bp.post("/api/admin/context")
@operation(record="contextField", body=CreateContextField, status=201, refuses=(400, 401, 403, 409, 415))
def create_context_field() -> Response:
    """Create a context field.

    Then constraints can use the field. If it has legal values, constraints can use only these values.
    """
    with transaction() as conn, unique_or_409(context_fields.TAKEN):
        actor = require(conn, "CREATE_CONTEXT_FIELD")
        payload = load(CreateContextField())
        field = context_fields.insert(
            conn,
            payload["name"],
            description=payload.get("description"),
            stickiness=payload["stickiness"],
            sort_order=payload["sortOrder"],
            legal_values=payload.get("legalValues", ()),
        )
        events.record(conn, Event("context-field-created", actor, data=field))
        body = context_fields.get(conn, field["name"])
    return created(body, "context/{}", field["name"])


@bp.post("/api/admin/context/validate")
@operation(body=NewName, refuses=(400, 401, 403, 409, 415))
def validate_context_field_name() -> Response:
    """Check a name for a new context field.

    200 if the name is valid and free.
    """
    with connection() as conn:
        require(conn, "UPDATE_CONTEXT_FIELD")
        payload = load(NewName())
        if context_fields.get(conn, payload["name"]) is not None:
            raise NameExists(context_fields.TAKEN["context_fields_pkey"])
    return empty_response()


@bp.get("/api/admin/context/<name>")
@operation(record="contextField", refuses=(401, 403, 404))
def get_context_field(name: str) -> Response:
    """Get a context field.

    Returns it with its legal values.
    """
    with connection() as conn:
        require(conn)
        body = context_fields.get(conn, name) or abort(404, UNKNOWN)
    return json_response(body)


@bp.put("/api/admin/context/<name>")
@operation(body=UpdateContextField, refuses=(400, 401, 403, 404, 412, 415))
def update_context_field(name: str) -> Response:
    """Update a context field.

    Omitted properties keep their values. Existing constraints stay, even if their values are no longer legal. New and
    changed constraints need legal values.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_CONTEXT_FIELD")
        refuse_changed(lambda: context_fields.lock(conn, name) and context_fields.get(conn, name), UNKNOWN)
        payload = load(UpdateContextField(), lambda: context_fields.get(conn, name))
        before = context_fields.lock(conn, name) or abort(404, UNKNOWN)
        after = context_fields.update(conn, before | without_read_only(payload, lambda: before))
        events.record_change(conn, Event("context-field-updated", actor, data=after, pre_data=before))
        record = context_fields.get(conn, name)
    return empty_response(record=record)


@bp.delete("/api/admin/context/<name>")
@operation(
    refuses=(401, 403, 404, 409, 412),
    errors={
        409: Refusal(
            "Strategies, variants, segments, default strategies or projects use the context field.",
            "The context field is used by flag new-checkout in production, segment Beta. Remove it there first.",
        )
    },
)
def delete_context_field(name: str) -> Response:
    """Delete a context field.

    409 if a strategy, variant, segment or default strategy uses the field, or a project as its default stickiness.
    Archived flags count too.
    """
    with transaction() as conn:
        actor = require(conn, "DELETE_CONTEXT_FIELD")
        refuse_changed(lambda: context_fields.lock(conn, name) and context_fields.get(conn, name), UNKNOWN)
        before = context_fields.lock(conn, name) or abort(404, UNKNOWN)
        refuse_used("context field", context_fields.list_places(conn, name, actor.viewer))
        context_fields.delete(conn, name)
        events.record(conn, Event("context-field-deleted", actor, pre_data=before))
    return empty_response()


@bp.get("/api/admin/context/<name>/strategies")
@operation(record="strategyUses", refuses=(401, 403, 404))
def list_context_field_strategies(name: str) -> Response:
    """List the strategies that use a context field.

    Returns strategies of live flags, in projects that the caller can see.
    """
    with connection() as conn:
        actor = require(conn)
        body = context_fields.list_strategies(conn, name, actor.viewer) or abort(404, UNKNOWN)
    return json_response(body)


@bp.post("/api/admin/context/<name>/legal-values")
@operation(body=LegalValue, refuses=(400, 401, 403, 404, 415))
def add_legal_value(name: str) -> Response:
    """Add a legal value to a context field.

    If the field has the value already, its description is replaced.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_CONTEXT_FIELD")
        legal = load(LegalValue())
        set_legal_value(conn, actor, name, legal["value"], legal)
    return empty_response()


@bp.delete("/api/admin/context/<name>/legal-values/<anything:legal_value>")
@operation(refuses=(401, 403, 404))
def delete_legal_value(name: str, legal_value: str) -> Response:
    """Delete a legal value of a context field.

    Existing constraints keep the value. 200 also if the field does not have it.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_CONTEXT_FIELD")
        set_legal_value(conn, actor, name, legal_value, None)
    return empty_response()


def set_legal_value(conn: Connection, actor: Actor, name: str, text: str, legal: dict[str, Any] | None) -> None:
    """Add or replace a legal value, or delete it (None). Raise 404 without the field, and 400 for too many values."""
    before = context_fields.lock(conn, name) or abort(404, UNKNOWN)
    by_text = {one["value"]: one for one in before["legalValues"]} | {text: legal}
    values = [one for one in by_text.values() if one]
    # A move can bring more values than requests may add.
    if len(values) > max(MAX_ITEMS, len(before["legalValues"])):
        abort(400, f"legalValues: must have at most {MAX_ITEMS} items")
    after = context_fields.update(conn, before | {"legalValues": values})
    events.record_change(conn, Event("context-field-updated", actor, data=after, pre_data=before))
