"""Export of flags as a document (neighbours.md 1.7 and 3.17)."""

from flask import Blueprint, Response, abort

from rules.access import require
from serving.contract import operation
from serving.request_data import load
from serving.responses import bounded, json_response
from sql import events
from sql.database import transaction
from sql.events import Event
from sql.flags import export as flag_export
from validators.flags.export import ExportFlags

bp = Blueprint("flag_export", __name__)


@bp.post("/api/admin/features-batch/export")
@operation(record="exportDocument", body=ExportFlags, refuses=(401, 403, 404, 415))
def export_flags() -> Response:
    """Export flags as a document.

    Live flags with their strategies, variants and state in one environment, their tags and dependencies, and what these name. Of flags that
    are asked for by name, those that are unknown, archived or hidden from the caller are left out.
    """
    with transaction() as conn:
        require(conn)
        asked = load(ExportFlags())
        # Our choice: a project that is unknown or hidden is 404, as an environment that is unknown.
        actor = require(conn, project=asked.get("project"))
        exported = flag_export.export(conn, asked["environment"], asked["selector"], asked[asked["selector"]], actor.viewer)
        if exported is None:
            abort(404, "No environment has that name.")
        body = bounded(exported["body"], "Export fewer flags at a time.")
        # Our choice: repeated exports do not fill the log.
        flag_export.lock(conn, actor.name)
        if not events.recorded_lately(conn, "features-exported", actor, environment=asked["environment"]):
            events.record(
                conn, Event("features-exported", actor, data={"environment": asked["environment"], "features": exported["names"]})
            )
    response = json_response(body)
    if asked["downloadFile"]:
        response.headers["Content-Disposition"] = f'attachment; filename="features-{asked["environment"]}.json"'
    return response
