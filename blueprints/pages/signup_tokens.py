"""The public signup tokens, for administrators."""

import json
from datetime import UTC, datetime

from flask import Blueprint, Response, current_app

from blueprints.pages.lists import list_page
from blueprints.pages.page import page, require_reader
from sql.database import connection
from sql.tokens import signup_tokens
from validators.tokens.signup_tokens import DEFAULT_LIFETIME

bp = Blueprint("signup_tokens", __name__)


@bp.get("/admin/signup-tokens")
def show_signup_tokens() -> Response:
    """Show the signup tokens with their links and the users who signed up, newest first."""
    with connection() as conn:
        require_reader(conn, "ADMIN")
        body = json.loads(signup_tokens.list_all(conn, current_app.config["BASE_URL"]))
    return page(
        "admin/signup_tokens.html",
        default_expiry=(datetime.now(UTC) + DEFAULT_LIFETIME).isoformat(),
        **list_page(body["tokens"], "name"),
    )
