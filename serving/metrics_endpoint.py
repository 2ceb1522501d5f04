"""Serve metrics at /metrics for requests with METRICS_TOKEN (docs/reference/metrics.md). Metrics are off by default."""

from hmac import compare_digest
from typing import TYPE_CHECKING

from flask import Blueprint, Flask, Response, current_app, request
from werkzeug.exceptions import Unauthorized

from sql.access import digest

# Every version of Prometheus reads this format.
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

if TYPE_CHECKING:
    from serving.metrics import Meters

bp = Blueprint("metrics", __name__)


def init_app(app: Flask) -> "Meters | None":
    """Count requests, serve /metrics and return the metrics, if METRICS_TOKEN is set. If not, it is 404."""
    # Our choice: without a token, /metrics is 404 like any unknown path.
    if not app.config["METRICS_TOKEN"]:
        return None
    # Imported here, so that the library is only loaded with metrics.
    from serving.metrics import Meters

    meters = app.extensions["metrics"] = Meters(app.config)
    app.after_request(meters.end)
    app.register_blueprint(bp)
    return meters


@bp.get("/metrics")
def get_metrics() -> Response:
    """Get the metrics of all worker processes, in the text format of Prometheus."""
    if not has_token(request.headers.get("Authorization", ""), current_app.config["METRICS_TOKEN"]):
        raise Unauthorized("The header Authorization: Bearer <METRICS_TOKEN> is required.")
    return Response(current_app.extensions["metrics"].text(), content_type=CONTENT_TYPE)


def has_token(header: str, token: str) -> bool:
    """Return whether a header Authorization contains the token."""
    scheme, _, given = header.partition(" ")
    # Digests have the same length, so the time of the comparison reveals nothing.
    return (
        compare_digest(digest(given.strip(" \t").encode("latin-1", "replace")), digest(token))
        and scheme.lower() == "bearer"
    )
