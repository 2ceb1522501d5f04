"""The users, for administrators."""

import json

from flask import Blueprint, Response

from blueprints.pages.lists import ListQuery, slice_of
from blueprints.pages.page import page, require_reader, user_name
from serving.request_data import load_query
from sql.database import connection
from sql.people import user_records

bp = Blueprint("users", __name__)


@bp.get("/admin/users")
def show_users() -> Response:
    """Show the users, with their root roles and their last logins."""
    with connection() as conn:
        require_reader(conn, "ADMIN")
        query = load_query(ListQuery)
        body = json.loads(user_records.list_all(conn))
    found = [
        user
        for user in body["users"]
        if any(query["query"].lower() in user.get(name, "").lower() for name in ("name", "username", "email"))
    ]
    found.sort(key=lambda user: user_name(user).lower())
    return page(
        "admin/users.html",
        query=query["query"],
        roles=body["rootRoles"],
        role_names={role["id"]: role["name"] for role in body["rootRoles"]},
        **slice_of(found, query["offset"]),
    )
