"""The users and groups with roles in a project, and where their roles come from."""

import json
from typing import Any

from flask import Blueprint, Response

from blueprints.pages.lists import list_page
from blueprints.pages.page import Reader, page, require_reader, user_name
from blueprints.pages.project import read_project
from rules.project_access import WRITE
from sql.database import Connection, connection
from sql.people import user_records
from sql.projects import access

bp = Blueprint("project_access", __name__)

READ = ("UPDATE_PROJECT", "PROJECT_USER_ACCESS_READ")


@bp.get("/projects/<project_id>/access")
def show_access(project_id: str) -> Response:
    """Show the users and groups of a project with their roles."""
    with connection() as conn:
        reader = require_reader(conn, *READ, project=project_id)
        project = read_project(conn, project_id, reader)
        holders = json.loads(access.get(conn, project_id))
        everybody = json.loads(user_records.list_users_and_groups(conn))
        grantable = grantable_roles(conn, project_id, reader, holders["roles"])
    names = {user["id"]: user_name(user) for user in everybody["users"]}
    members = list_members(holders, names)
    return page(
        "project/access.html",
        project=project,
        groups=holders["groups"],
        roles={role["id"]: role for role in holders["roles"]},
        grantable=grantable,
        may_change=reader.may(*WRITE, project=project_id),
        users=sorted(names.items(), key=lambda item: item[1].lower()),
        all_groups=everybody["groups"],
        **list_page(members, "name"),
    )


def grantable_roles(
    conn: Connection, project_id: str, reader: Reader, roles: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the roles that the reader can give, by the rule of rules.project_access.replace_grants()."""
    if reader.actor.is_admin:
        return roles
    excess = access.list_excess_roles(conn, project_id, reader.user_id, [role["id"] for role in roles])
    return [role for role in roles if role["id"] not in excess]


def list_members(holders: dict[str, Any], names: dict[int, str]) -> list[dict[str, Any]]:
    """Return the users with a role in the project, by name. groups: the groups of the project that the user is in."""
    members = {
        user["id"]: {
            "id": user["id"],
            "name": names.get(user["id"]) or user_name(user),
            "email": user["email"],
            "roles": user["roles"],
            "since": user["addedAt"],
            "groups": [],
        }
        for user in holders["users"]
    }
    for group in holders["groups"]:
        for entry in group["users"]:
            user = entry["user"]
            empty = {"id": user["id"], "email": user.get("email"), "roles": [], "since": None, "groups": []}
            member = members.setdefault(user["id"], empty | {"name": names.get(user["id"]) or user_name(user)})
            member["groups"].append(group)
    return sorted(members.values(), key=lambda member: (member["name"].lower(), member["id"]))
