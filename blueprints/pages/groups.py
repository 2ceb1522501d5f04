"""The groups of users, for administrators."""

import json

from flask import Blueprint, Response, abort

from blueprints.pages.lists import list_page
from blueprints.pages.page import page, require_reader
from rules.access import id_in_path
from sql.database import connection
from sql.people import groups, user_records

bp = Blueprint("groups", __name__)


@bp.get("/admin/groups")
def show_groups() -> Response:
    """Show the groups, by name."""
    with connection() as conn:
        require_reader(conn, "ADMIN")
        body = json.loads(groups.list_all(conn))
        roles = json.loads(user_records.list_all(conn))["rootRoles"]
    return page(
        "admin/groups.html",
        roles=roles,
        role_names={role["id"]: role["name"] for role in roles},
        **list_page(body["groups"], "name"),
    )


@bp.get("/admin/groups/<group_id>")
def show_group(group_id: str) -> Response:
    """Show a group with its members."""
    with connection() as conn:
        require_reader(conn, "ADMIN")
        group = groups.get(conn, id_in_path(group_id)) or abort(404, "No group has that id.")
        roles = json.loads(user_records.list_all(conn))["rootRoles"]
        people = json.loads(user_records.list_users_and_groups(conn))["users"]
    return page("admin/group.html", group=json.loads(group), roles=roles, people=people)
