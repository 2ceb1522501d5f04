"""Search for flags in all projects that you can see."""

from flask import Blueprint, Response

from rules.access import require
from serving.operation import operation
from serving.request_data import load_query
from serving.responses import bounded, json_response
from sql.database import connection
from sql.flags import search as feature_search
from validators.flags.search import FeatureSearch

bp = Blueprint("flag_search", __name__)


@bp.get("/api/admin/search/features")
@operation(record="featureSearch", query=FeatureSearch, refuses=(400, 401, 403))
def search_flags() -> Response:
    """Search for flags.

    Finds live or archived flags of projects that the caller can see. Filters combine with AND. The total counts all
    matches, not only those of the page.
    """
    with connection() as conn:
        actor = require(conn)
        payload = load_query(FeatureSearch)
        body = feature_search.search(conn, viewer=actor.viewer, user_id=actor.user_id, **payload)
    return json_response(bounded(body, "Ask for fewer flags: set a smaller limit."))
