"""The feature search (neighbours.md 3.15)."""

from flask import Blueprint, Response

from blueprints.access import require
from blueprints.contract import operation
from blueprints.respond import bounded, json_response
from sql import connection, feature_search
from validators import load_query
from validators.feature_search import FeatureSearch

bp = Blueprint("feature_search", __name__)


@bp.get("/api/admin/search/features")
@operation(record="featureSearch", query=FeatureSearch, refuses=(400, 401, 403))
def search_features() -> Response:
    """Search for flags.

    Live flags of the projects that the caller may see. Filters combine with AND. The total counts every match, whatever the page.
    """
    with connection() as conn:
        actor = require(conn)
        asked = load_query(FeatureSearch)
        body = feature_search.search(conn, viewer=actor.viewer, user_id=actor.user_id, **asked)
    return json_response(bounded(body, "Ask for fewer flags: set a smaller limit."))
