"""Instance insights (api.md 2)."""

from flask import Blueprint, Response

from blueprints.access import require
from blueprints.contract import operation
from blueprints.respond import json_response
from sql import connection, insights
from validators import load_query
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
