"""The usage of a flag, as applications report it."""

from flask import Blueprint, Response, abort

from rules.access import require
from rules.flags import NO_FLAG_ANYWHERE
from serving.operation import operation
from serving.request_data import load_query
from serving.responses import json_response
from sql.database import connection
from sql.flags import usage as flag_usage
from validators.flags.usage import UsageHours

bp = Blueprint("flag_usage", __name__)


@bp.get("/api/admin/client-metrics/features/<feature_name>")
@operation(record="flagUsage", refuses=(401, 403, 404))
def get_flag_usage(feature_name: str) -> Response:
    """Get a summary of a flag's usage.

    Returns the usage of the present hour in each environment, and the applications that reported the flag in the last
    30 days.
    """
    with connection() as conn:
        actor = require(conn)
        body = flag_usage.get_summary(conn, feature_name, actor.viewer) or abort(404, NO_FLAG_ANYWHERE)
    return json_response(body)


@bp.get("/api/admin/client-metrics/features/<feature_name>/raw")
@operation(record="flagUsageRaw", query=UsageHours, refuses=(401, 403, 404))
def list_flag_usage(feature_name: str) -> Response:
    """List the usage of a flag by hour.

    Returns a row for each application, environment and hour, newest first, and at most 100,000 rows. Usage that is
    older than 30 days has a row for each day.
    """
    with connection() as conn:
        actor = require(conn)
        hours = load_query(UsageHours)["hoursBack"]
        body = flag_usage.get_raw(conn, feature_name, actor.viewer, hours) or abort(404, NO_FLAG_ANYWHERE)
    return json_response(body)
