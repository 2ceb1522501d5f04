"""The public signup tokens, for administrators."""

import json
from datetime import UTC, datetime

from flask import Blueprint, Response, current_app

from blueprints.pages.lists import ListQuery, slice_of
from blueprints.pages.page import page, require_reader
from serving.request_data import load_query
from sql.database import connection
from sql.tokens import signup_tokens

bp = Blueprint("signup_tokens", __name__)


@bp.get("/admin/signup-tokens")
def show_signup_tokens() -> Response:
    """Show the signup tokens with their links and the users who signed up, newest first."""
    with connection() as conn:
        require_reader(conn, "ADMIN")
        query = load_query(ListQuery)
        body = json.loads(signup_tokens.list_all(conn, current_app.config["BASE_URL"]))
    found = [token for token in body["tokens"] if query["query"].lower() in token["name"].lower()]
    return page(
        "admin/signup_tokens.html",
        query=query["query"],
        now=datetime.now(UTC).isoformat(),
        **slice_of(found, query["offset"]),
    )
