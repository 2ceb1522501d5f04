"""The routes of the API, without those of the pages, and their paths in the document."""

import re
from collections.abc import Iterator

from flask import Flask
from werkzeug.routing import Rule


def api_rules(app: Flask, endpoint: str | None = None) -> Iterator[Rule]:
    """Yield the routes of the API, or those of an endpoint."""
    return (rule for rule in app.url_map.iter_rules(endpoint) if not is_page(rule.endpoint))


def is_page(endpoint: str | None) -> bool:
    """Return whether an endpoint is a page."""
    return endpoint is not None and endpoint.startswith("pages.")


def path_of(rule: Rule | str) -> str:
    """Return /a/{projectId} for /a/<project_id>."""
    return re.sub(r"<(?:[a-z_]+:)?([a-z_]+)>", lambda found: f"{{{camel(found[1])}}}", str(rule))


def camel(words: str) -> str:
    """Return projectId for project_id."""
    first, *others = words.split("_")
    return first + "".join(word.title() for word in others)
