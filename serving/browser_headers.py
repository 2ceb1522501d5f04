"""Set the security headers for browsers: no sniffing, no caching, no framing."""

from collections.abc import Mapping
from typing import Any

from flask import Flask, Response

# Our choice: one year, and not includeSubDomains, because other hosts of the domain are not part of this service.
HSTS = "max-age=31536000"

ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
# For responses without a value of their own. JSON responses are not pages, and can contain private data.
DEFAULTS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
}


def init_app(app: Flask) -> None:
    """Add the headers to every response, including errors and streams."""
    always = constant_headers(app.config)

    def add_headers(response: Response) -> Response:
        given = {name.lower() for name, _ in response.headers}
        for name, text in always.items():
            response.headers.add(name, text)
        for name, text in DEFAULTS.items():
            if name.lower() not in given:
                response.headers.add(name, text)
        return response

    app.after_request(add_headers)


def constant_headers(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers that are the same on all responses with these settings."""
    return ALWAYS | ({"Strict-Transport-Security": HSTS} if config["BASE_URL"].startswith("https:") else {})
