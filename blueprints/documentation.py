"""The OpenAPI document, and a page that shows it."""

import json
from functools import lru_cache
from pathlib import Path

from flask import Blueprint, Response, current_app, send_from_directory

from serving.contract import operation
from serving.responses import json_response

DOCS = Path(__file__).parent.parent / "docs"
# What the page is made of; its README tells where the viewer comes from.
VIEWER = DOCS / "viewer"
SCRIPT = "rapidoc-9.3.8.min.js"
YEAR = 31_536_000

# The page can reach nothing but this service. Styles are inline because the viewer writes its own.
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
    # Nothing of it is anybody's.
    response.headers["Cache-Control"] = "no-cache"
    return response


@bp.get("/docs")
@operation(content="text/html", public=True)
def get_docs() -> Response:
    """Get a page that shows this document.

    The page asks nothing of any other site.
    """
    response = send_from_directory(VIEWER, "index.html", conditional=False, etag=False)
    response.headers["Content-Security-Policy"] = POLICY
    return response


@bp.get(f"/docs/{SCRIPT}")
@operation(content="text/javascript", public=True)
def get_viewer() -> Response:
    """Get the script of that page.

    Another version of it has another address, so it can be kept for ever.
    """
    response = send_from_directory(VIEWER, SCRIPT, mimetype="text/javascript", conditional=False, etag=False, max_age=YEAR)
    response.cache_control.immutable = True
    return response


@lru_cache(maxsize=1)
def document(base_url: str) -> str:
    """The OpenAPI document as JSON text, as that of the service at base_url."""
    written = json.loads((DOCS / "openapi.json").read_text(encoding="utf-8"))
    return json.dumps(written | {"servers": [{"url": base_url}]}, ensure_ascii=False)
