"""Tell clients that an operation is deprecated, and which one replaces it."""

from urllib.parse import quote

from flask import Flask, Response, current_app, request

from serving.operation import CONTRACTS


def init_app(app: Flask) -> None:
    """Add the headers Deprecation and Link to all responses of deprecated operations, including errors."""
    app.after_request(point_to_successor)


def point_to_successor(response: Response) -> Response:
    """Add Deprecation if the operation is deprecated, and a Link to its replacement if it has one."""
    view = current_app.view_functions.get(request.endpoint or "")
    contract = CONTRACTS.get(view) if view else None
    deprecated = contract.deprecated if contract else False
    if deprecated:
        response.headers["Deprecation"] = "true"
    if isinstance(deprecated, str):
        parameters = {name: quote(str(value), safe="") for name, value in (request.view_args or {}).items()}
        path = deprecated.format(**parameters)
        response.headers["Link"] = f'<{current_app.config["BASE_URL"]}{path}>; rel="successor-version"'
    return response
