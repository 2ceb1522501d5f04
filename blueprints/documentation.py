"""This OpenAPI document, and the page that shows it."""

import json
from functools import lru_cache
from pathlib import Path

from flask import Blueprint, Response, current_app, send_from_directory

from serving.operation import operation
from serving.responses import json_response

DOCS = Path(__file__).parent.parent / "docs"
# The files of the page /docs. The README in this folder says where the viewer comes from.
VIEWER = DOCS / "viewer"
SCRIPT = "rapidoc-9.3.8.min.js"
YEAR_SECONDS = 31_536_000

# The page can load data only from this service. Inline styles are allowed because the viewer writes its own.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)

bp = Blueprint("documentation", __name__)


@bp.get("/openapi.json")
@operation(content="application/json", public=True)
def get_openapi() -> Response:
    """Get this document.

    It describes every operation of the service in OpenAPI 3.1.
    """
    response = json_response(document(current_app.config["BASE_URL"]))
    # The document contains no data of users.
    response.headers["Cache-Control"] = "no-cache"
    return response


@bp.get("/docs")
@operation(content="text/html", public=True)
def get_docs() -> Response:
    """Get a page that shows this document.

    The page loads nothing from other sites.
    """
    response = send_from_directory(VIEWER, "index.html", conditional=False, etag=False)
    response.headers["Content-Security-Policy"] = POLICY
    return response


@bp.get(f"/docs/{SCRIPT}")
@operation(content="text/javascript", public=True)
def get_viewer() -> Response:
    """Get the script of that page.

    Browsers can cache it for a year, because another version has another address.
    """
    response = send_from_directory(
        VIEWER, SCRIPT, mimetype="text/javascript", conditional=False, etag=False, max_age=YEAR_SECONDS
    )
    response.cache_control.immutable = True
    return response


@lru_cache(maxsize=1)
def document(base_url: str) -> str:
    """Return the OpenAPI document as JSON text, with base_url as its server."""
    generated = json.loads((DOCS / "openapi.json").read_text(encoding="utf-8"))
    return json.dumps(generated | {"servers": [{"url": base_url}]}, ensure_ascii=False)
