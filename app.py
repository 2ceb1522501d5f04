"""create_app(): settings, database, blueprints and error handlers."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from flask import Flask, request
from werkzeug.exceptions import BadRequest

import blueprints
from blueprints import pages
from operations import start
from rules import client_access, client_deltas, client_features, ofrep_usage, passwords, report_writer
from serving import (
    body_limits,
    browser_headers,
    caller_limit,
    client_streams,
    cross_origin,
    deprecation,
    errors,
    event_stream,
    metrics_endpoint,
    request_log,
    slow_requests,
)
from serving.mount import Mount
from serving.path_converters import CONVERTERS, decode_path_parameters
from sql import database


class Service(Flask):
    """Flask with the limit of serving/caller_limit.py, and without asynchronous views."""

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        return func

    def dispatch_request(self) -> Any:
        with caller_limit.keep_place():
            return super().dispatch_request()


def create_app(
    overrides: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] = os.environ,
    revive: Callable[[], None] | None = None,
) -> Flask:
    """Return the application with the settings in environ. Raises SettingError if one is invalid.

    overrides: values by setting name. They replace those in environ, and are not checked. revive: restarts the database
    if it has ended, or raises an error.
    """
    app = Service(__name__, static_folder=None)
    app.config.from_mapping(start.load_settings(environ) | dict(overrides or {}))
    app.config["PROVIDE_AUTOMATIC_OPTIONS"] = False
    # Do not redirect a path with a double slash. It is a different path, and usually 404.
    app.url_map.merge_slashes = False
    app.url_map.redirect_defaults = False
    app.url_map.converters |= CONVERTERS
    # Register these hooks first, so that the measured time includes the other hooks.
    meters = metrics_endpoint.init_app(app)
    request_log.init_app(app)
    database.init_app(app, limit=caller_limit.place_while_lent, meter=meters, revive=revive)
    caller_limit.init_app(app)
    passwords.init_app(app)
    client_access.init_app(app)
    client_features.init_app(app)
    client_deltas.init_app(app)
    report_writer.init_app(app)
    ofrep_usage.init_app(app)
    browser_headers.init_app(app)
    deprecation.init_app(app)
    slow_requests.init_app(app)
    event_stream.init_app(app)
    client_streams.init_app(app, meters)
    cross_origin.init_app(app)
    app.before_request(require_host)
    app.before_request(body_limits.read_body)
    app.url_value_preprocessor(decode_path_parameters)
    for blueprint in (*blueprints.ALL, pages.bp):
        app.register_blueprint(blueprint)
    errors.init_app(app)
    roots = {rule.rule.split("/")[1] for rule in app.url_map.iter_rules()}
    app.wsgi_app = Mount(app.wsgi_app, app.config["BASE_PATH"], roots)
    return app


def require_host() -> None:
    """Raise 400 for an HTTP/1.1 request without the header Host (RFC 9112, 3.2)."""
    if request.environ.get("SERVER_PROTOCOL") == "HTTP/1.1" and "Host" not in request.headers:
        raise BadRequest("The header Host is missing.")
