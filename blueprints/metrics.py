"""Numbers for Prometheus: at /metrics for who has the token, and counted at all only where a setting asks for them (docs/metrics.md)."""

from collections.abc import Mapping
from hmac import compare_digest
from typing import TYPE_CHECKING, Any

from flask import Blueprint, Flask, Response, current_app, request
from werkzeug.exceptions import Unauthorized

from sql import Database
from sql.access import digest

if TYPE_CHECKING:
    from blueprints.meters import Meters

# What every version of Prometheus reads.
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

bp = Blueprint("metrics", __name__)


def init_app(app: Flask) -> None:
    """Count what this app does, and serve the numbers, as far as the settings ask for it. By default this does nothing."""
    config = app.config
    if not are_wanted(config):
        return
    # Here, not above: who does not want metrics does not load the library.
    from blueprints.meters import Meters

    meters = Meters(config)
    app.extensions["metrics"] = meters
    app.before_request(meters.begin)
    app.after_request(meters.end)
    database: Database = app.extensions["database"]
    database.meter = meters
    # Our choice: without the token there is nothing at that address, as at any other that is not ours.
    if config["METRICS_TOKEN"]:
        app.register_blueprint(bp)


def are_wanted(config: Mapping[str, Any]) -> bool:
    """Whether a setting asks for metrics."""
    return config["METRICS_TOKEN"] is not None or config["METRICS_PORT"] is not None


def meters_of(app: Flask) -> "Meters | None":
    """What an app counts with; None: it counts nothing."""
    return app.extensions.get("metrics")


@bp.get("/metrics")
def get_metrics() -> Response:
    """Get the numbers of all worker processes, in the text format of Prometheus."""
    if not knows_token(request.headers.get("Authorization", ""), current_app.config["METRICS_TOKEN"]):
        raise Unauthorized("The token of METRICS_TOKEN in the header Authorization: Bearer … is required.")
    response = Response(current_app.extensions["metrics"].text(), content_type=CONTENT_TYPE)
    response.headers["Cache-Control"] = "no-store"
    return response


def knows_token(header: str, token: str) -> bool:
    """Whether a header Authorization carries the token."""
    scheme, _, given = header.partition(" ")
    # Of the same length whatever was sent: how long the comparison takes tells nothing.
    return compare_digest(digest(given.strip(" \t").encode("latin-1", "replace")), digest(token)) and scheme.lower() == "bearer"
