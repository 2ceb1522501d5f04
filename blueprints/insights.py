"""Statistics of the whole instance by week: users, flags, health and usage."""

from flask import Blueprint, Response

from rules.access import require
from serving.operation import operation
from serving.request_data import load_query
from serving.responses import json_response
from sql import insights
from sql.database import connection
from validators.insights import InsightsRange

bp = Blueprint("insights", __name__)


@bp.get("/api/admin/insights")
@operation(record="instanceInsights", query=InsightsRange, refuses=(400, 401, 403))
def get_insights() -> Response:
    """Get instance insights.

    Returns one entry for each week that overlaps the requested days. Without parameters, it returns the last 13 weeks
    and the current one.
    """
    with connection() as conn:
        actor = require(conn)
        payload = load_query(InsightsRange)
        # Our choice: two of the arrays contain only projects that the caller can see. The others count the whole
        # instance.
        body = insights.trends(conn, payload["first_day"], payload["last_day"], actor.viewer)
    return json_response(body)
