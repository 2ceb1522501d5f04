"""The users, for administrators."""

import json

from flask import Blueprint, Response

from blueprints.pages.lists import list_page
from blueprints.pages.page import page, require_reader, user_name
from sql.database import connection
from sql.people import user_records

bp = Blueprint("users", __name__)


@bp.get("/admin/users")
def show_users() -> Response:
    """Show the users, with their root roles and their last logins."""
    with connection() as conn:
        require_reader(conn, "ADMIN")
        body = json.loads(user_records.list_all(conn))
    users = sorted(body["users"], key=lambda user: user_name(user).lower())
    return page(
        "admin/users.html",
        roles=body["rootRoles"],
        role_names={role["id"]: role["name"] for role in body["rootRoles"]},
        **list_page(users, "name", "username", "email"),
    )
