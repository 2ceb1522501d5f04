"""The routes of the API, without those of the pages for people."""

from collections.abc import Iterator

from flask import Flask
from werkzeug.routing import Rule


def api_rules(app: Flask, endpoint: str | None = None) -> Iterator[Rule]:
    """Yield the routes of the API, or those of an endpoint."""
    return (rule for rule in app.url_map.iter_rules(endpoint) if not is_page(rule.endpoint))


def is_page(endpoint: str | None) -> bool:
    return endpoint is not None and endpoint.startswith("pages.")
