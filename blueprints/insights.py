"""Instance insights (api.md 2)."""

from flask import Blueprint, Response

from rules.access import require
from serving.contract import operation
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

    One entry for each week that overlaps the days asked for; without them, for the last thirteen weeks and the running one.
    """
    with connection() as conn:
        actor = require(conn)
        asked = load_query(InsightsRange)
        # Our choice: two of the arrays hold only the projects that the caller may see; the others count the whole instance.
        body = insights.trends(conn, asked["first_day"], asked["last_day"], actor.viewer)
    return json_response(body)
