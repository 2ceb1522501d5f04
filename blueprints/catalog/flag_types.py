"""Flag types and their lifetimes."""

from flask import Blueprint, Response, abort

from rules.access import require
from serving.operation import operation
from serving.request_data import load
from serving.responses import json_response, json_text
from sql import events
from sql.catalog import flag_types
from sql.database import connection, transaction
from sql.events import Event
from validators.catalog.flag_types import UpdateLifetime
from validators.returned import without_read_only

bp = Blueprint("flag_types", __name__)


@bp.get("/api/admin/feature-types")
@operation(record="flagTypes", refuses=(401, 403))
def list_flag_types() -> Response:
    """List flag types.

    Returns each type with its expected lifetime. A flag that is older than that is potentially stale.
    """
    with connection() as conn:
        require(conn)
        body = flag_types.list_all(conn)
    return json_response(body)


@bp.put("/api/admin/feature-types/<type_id>/lifetime")
@operation(record="flagType", body=UpdateLifetime, refuses=(400, 401, 403, 404, 415))
def update_flag_type_lifetime(type_id: str) -> Response:
    """Change the expected lifetime of flags of a type.

    The new lifetime applies at once, also to past weeks in insights.
    """
    with transaction() as conn:
        actor = require(conn, "ADMIN")
        payload = load(UpdateLifetime())
        before = flag_types.lock(conn, type_id) or abort(404, "No flag type has that id.")
        after = flag_types.update(conn, before | without_read_only(payload, lambda: before))
        events.record_change(conn, Event("feature-type-updated", actor, data=after, pre_data=before))
    return json_response(json_text(after))
