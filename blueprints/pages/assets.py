"""The stylesheet, the script and the icon of the pages."""

from hashlib import sha256
from pathlib import Path

from flask import Blueprint, Response, abort, current_app, request

FOLDER = Path(__file__).parent / "static"
TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
FILES = {path.name: path.read_bytes() for path in sorted(FOLDER.iterdir())}
VERSIONS = {name: sha256(content).hexdigest()[:12] for name, content in FILES.items()}

bp = Blueprint("assets", __name__)


@bp.get("/static/<name>")
def get_asset(name: str) -> Response:
    """Return a file. Browsers keep it for a year if the address has its current version."""
    if name not in FILES:
        abort(404)
    response = Response(FILES[name], mimetype=TYPES[Path(name).suffix])
    if request.args.get("v") == VERSIONS[name]:
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
    return response


def asset(name: str) -> str:
    """Return the address of a file, with its version."""
    return f"{current_app.config['BASE_PATH']}/static/{name}?v={VERSIONS[name]}"
