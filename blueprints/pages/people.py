"""The users, the groups and the service accounts, for administrators."""

import json
from collections.abc import Sequence
from typing import Any

from flask import Blueprint, Response, abort

from blueprints.pages.lists import list_page
from blueprints.pages.newest_change import newest_change
from blueprints.pages.page import page, require_reader, user_hint, user_name
from rules.access import id_in_path
from sql.database import connection
from sql.people import groups, service_accounts, user_records

bp = Blueprint("people", __name__)


@bp.get("/admin/users")
def show_users() -> Response:
    """Show the users, with their root roles and their last logins."""
    with connection() as conn:
        require_reader(conn, "ADMIN")
        body = json.loads(user_records.list_all(conn))
    users = sorted(body["users"], key=lambda user: user_name(user).lower())
    return page("admin/users.html", **choices(body["rootRoles"]), **list_page(users, "name", "username", "email"))


@bp.get("/admin/groups")
def show_groups() -> Response:
    """Show the groups, by name."""
    with connection() as conn:
        require_reader(conn, "ADMIN")
        body = json.loads(groups.list_all(conn))
        roles = json.loads(user_records.list_all(conn))["rootRoles"]
    return page("admin/groups.html", **choices(roles), **list_page(body["groups"], "name"))


@bp.get("/admin/groups/<group_id>")
def show_group(group_id: str) -> Response:
    """Show a group with its members."""
    with connection() as conn:
        reader = require_reader(conn, "ADMIN")
        group = groups.get(conn, id_in_path(group_id)) or abort(404, "No group has that id.")
        newest = newest_change(conn, reader, group.version, "group-updated", {"id": int(group_id)})
        roles = json.loads(user_records.list_all(conn))["rootRoles"]
        people = json.loads(user_records.list_users_and_groups(conn))["users"]
    group = json.loads(group)
    members = {member["user"]["id"] for member in group["users"]}
    choices = [("users", {"user": {"id": user["id"]}}, user_name(user), user_hint(user)) for user in people]
    return page(
        "admin/group.html",
        group=group,
        roles=roles,
        choices=choices,
        names={user.get(key): user_name(user) for user in people for key in ("username", "email")},
        members=[choice for choice in choices if choice[1]["user"]["id"] in members],
        **newest,
    )


@bp.get("/admin/service-accounts")
def show_service_accounts() -> Response:
    """Show the service accounts with their tokens."""
    with connection() as conn:
        require_reader(conn, "ADMIN")
        body = json.loads(service_accounts.list_all(conn))
    accounts = list_page(body["serviceAccounts"], "name", "username")
    return page("admin/service_accounts.html", **choices(body["rootRoles"]), **accounts)


def choices(roles: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the root roles that the forms offer, and their names by id."""
    return {"roles": roles, "role_names": {role["id"]: role["name"] for role in roles}}
