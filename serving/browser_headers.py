"""What every answer tells a browser: take it for what it says it is, keep nothing of it, show it in nobody's frame."""

from collections.abc import Mapping
from typing import Any

from flask import Flask, Response

# Our choice: a year, for this name alone. What else runs under the domain is not ours to decide.
HSTS = "max-age=31536000"

ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
}
# Where an answer has none of its own: it is no page, and may hold what is somebody's.
USUALLY = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}


def init_app(app: Flask) -> None:
    """Put them on every answer of this app, refusals and streams too."""
    always = of_every_answer(app.config)

    def tell(response: Response) -> Response:
        response.headers.update(always)
        for name, text in USUALLY.items():
            response.headers.setdefault(name, text)
        return response

    app.after_request(tell)


def of_every_answer(config: Mapping[str, Any]) -> dict[str, str]:
    """What is the same on all answers of a service with these settings."""
    return ALWAYS | ({"Strict-Transport-Security": HSTS} if config["BASE_URL"].startswith("https:") else {})
