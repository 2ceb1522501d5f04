"""Let web pages of other origins use the operations for browsers (CORS)."""

import re
from dataclasses import replace

from flask import Flask, Response, current_app, g, request
from werkzeug.exceptions import Forbidden

from rules.client_access import ClientToken, require_client
from serving.responses import empty_response
from validators.tokens.origins import ANY

# The operations below these paths are for browsers. Other operations have no CORS headers.
PATHS = ("/api/frontend", "/ofrep")
BELOW = tuple(f"{path}/" for path in PATHS)
HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST, OPTIONS",
    # Chromium keeps a preflight for two hours at most, Firefox for a day.
    "Access-Control-Max-Age": "86400",
}


def init_app(app: Flask) -> None:
    """Respond to preflight requests, and add the CORS headers to every other response, including errors."""
    app.before_request(preflight_response)
    app.after_request(add_headers)


def is_for_browsers() -> bool:
    """Return whether the path of the request is one of PATHS, or below."""
    return f"{request.path}/".startswith(BELOW)


def preflight_response() -> Response | None:
    """Return the response to a preflight request. It has no token, so it allows every origin and every header."""
    if request.method != "OPTIONS" or not is_for_browsers():
        return None
    response = empty_response(204)
    response.headers.update(PREFLIGHT)
    requested = request.headers.get("Access-Control-Request-Headers", "").split(",")
    names = [name.strip() for name in requested if HEADER_NAME.fullmatch(name.strip())]
    if names:
        response.headers["Access-Control-Allow-Headers"] = ", ".join(names)
    return response


def require_page(*kinds: str) -> ClientToken:
    """Return the token of the request. Raise 403 for a page whose origin cannot use it, else as require_client()."""
    return allow_page(require_client(*kinds))


def allow_page(token: ClientToken) -> ClientToken:
    """Return the token. Raise 403 if the origin of the request cannot use it."""
    origins = token.origins or current_app.config["FRONTEND_ORIGINS"]
    g.caller = replace(g.caller, origins=origins)
    # Our choice: 403 instead of a response that the browser hides from the page. Otherwise the page could still report
    # usage, and the log would not show it. Requests without the header, such as those of apps, are allowed.
    origin = request.headers.get("Origin")
    if origin is not None and not allows(origins, origin):
        raise Forbidden("Pages of this origin cannot use this token. Add the origin to origins of the token.")
    return token


def add_headers(response: Response) -> Response:
    """Allow the page to read the response if its origin can use the token."""
    if not is_for_browsers():
        return response
    response.vary.add("Origin")
    # Our choice: every page can read responses before the token is known, such as a 401. They contain nothing private,
    # and an SDK that cannot read them cannot tell them from a broken connection.
    origins, origin = (g.get("caller") and g.caller.origins) or (ANY,), request.headers.get("Origin")
    if allows(origins, origin or ANY):
        response.headers["Access-Control-Allow-Origin"] = ANY if ANY in origins else origin
        response.headers["Access-Control-Expose-Headers"] = "ETag"
    return response


def allows(origins: tuple[str, ...], origin: str) -> bool:
    """Return whether one of the origins is this one, or *."""
    return ANY in origins or origin in origins
