"""The other tabs of a project: access, environments, API tokens and settings."""

import json
from typing import Any

from flask import Blueprint, Response

from blueprints.pages.lists import list_page
from blueprints.pages.newest_change import newest_change
from blueprints.pages.page import Reader, page, require_reader, user_hint, user_name
from blueprints.pages.project import read_tabs
from blueprints.pages.strategy import STICKINESS_TEXTS, stickiness_choices
from rules.project_access import WRITE
from sql.catalog import context_fields
from sql.catalog import environments as all_environments
from sql.database import Connection, connection
from sql.people import roles, user_records
from sql.projects import access, change_requests, environments
from sql.projects import list as project_list
from sql.tokens import api_tokens

bp = Blueprint("project_admin", __name__)

# The body that creates the role. No predefined role has these permissions.
REVIEWER: dict[str, Any] = {
    "name": "Reviewer",
    "description": "May approve and apply change requests.",
    "type": "custom",
    "permissions": [{"name": "APPROVE_CHANGE_REQUEST"}, {"name": "APPLY_CHANGE_REQUEST"}],
}


@bp.get("/projects/<project_id>/access")
def show_access(project_id: str) -> Response:
    """Show the users and groups of a project with their roles."""
    with connection() as conn:
        reader = require_reader(conn, "UPDATE_PROJECT", "PROJECT_USER_ACCESS_READ", project=project_id)
        project = read_tabs(conn, project_id, reader)
        holders = json.loads(access.get(conn, project_id))
        everybody = json.loads(user_records.list_users_and_groups(conn))
        grantable = grantable_roles(conn, project_id, reader, holders["roles"])
    return page(
        "project/access.html",
        project=project,
        roles={role["id"]: role for role in holders["roles"]},
        grantable=grantable,
        may_change=reader.may(*WRITE, project=project_id),
        choices=[
            *(("groups", group["id"], group["name"], "group") for group in everybody["groups"]),
            *(("users", user["id"], user_name(user), user_hint(user)) for user in everybody["users"]),
        ],
        **list_page(list_holders(holders, everybody["users"]), "name"),
    )


def grantable_roles(
    conn: Connection, project_id: str, reader: Reader, granted: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the roles that the reader can give, by the rule of rules.project_access.replace_grants()."""
    if reader.actor.is_admin:
        return granted
    excess = access.list_excess_roles(conn, project_id, reader.user_id, [role["id"] for role in granted])
    return [role for role in granted if role["id"] not in excess]


def list_holders(holders: dict[str, Any], users: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one row for each group, and one for each user and way to roles: of their own, or by a group.

    Groups are first, then people, and service accounts last, each by name.
    """
    found: list[dict[str, Any]] = []
    for group in holders["groups"]:
        row = {"roles": group["roles"], "since": group["addedAt"], "kind": "group", "by": None}
        found.append({**row, "id": group["id"], "name": group["name"], "hint": f"group, {len(group['users'])}"})
        found += [{**row, "kind": "user", "by": group["name"], "user": member["user"]} for member in group["users"]]
    for user in holders["users"]:
        found.append({"roles": user["roles"], "since": user["addedAt"], "kind": "user", "by": None, "user": user})
    known: dict[int, dict[str, Any]] = {user["id"]: user for user in users}
    for row in found:
        if row["kind"] == "user":
            # A user who is deleted meanwhile is not known.
            user: dict[str, Any] = known.get(row["user"]["id"]) or row["user"]
            row |= {"id": user["id"], "name": user_name(user), "hint": user_hint(user)}
    return sorted(
        found, key=lambda row: (row["kind"], row["hint"].startswith("service account"), row["name"].lower(), row["id"])
    )


@bp.get("/projects/<project_id>/environments")
def show_environments(project_id: str) -> Response:
    """Show the environments of a project, and those that can be added."""
    with connection() as conn:
        reader = require_reader(conn, project=project_id)
        project = read_tabs(conn, project_id, reader)
        linked = json.loads(environments.list_all(conn, project_id))["environments"]
        known = json.loads(all_environments.list_all(conn))["environments"]
    names = {environment["name"] for environment in linked}
    others = [environment for environment in known if environment["name"] not in names]
    return page("project/environments.html", project=project, linked=linked, others=others)


@bp.get("/projects/<project_id>/tokens")
def show_tokens(project_id: str) -> Response:
    """Show the API tokens that work for a project, without their secrets."""
    with connection() as conn:
        reader = require_reader(conn, "READ_PROJECT_API_TOKEN", project=project_id)
        project = read_tabs(conn, project_id, reader)
        tokens = json.loads(api_tokens.list_by_project(conn, project_id, reader.actor.viewer))["tokens"]
        names = project_list.names_by_id(conn, reader.actor.viewer)
        known = json.loads(all_environments.list_all(conn))["environments"]
    env_types = {environment["name"]: environment["type"] for environment in known}
    return page(
        "project/tokens.html", project=project, env_types=env_types, names=names, **list_page(tokens, "tokenName")
    )


@bp.get("/projects/<project_id>/settings")
def show_settings(project_id: str) -> Response:
    """Show the settings of a project, and the button that archives it."""
    with connection() as conn:
        reader = require_reader(
            conn, "UPDATE_PROJECT", "PROJECT_SETTINGS_WRITE", project=project_id, list_projects=True
        )
        project = read_tabs(conn, project_id, reader)
        newest = newest_change(conn, reader, project["version"], "project-updated", {}, project=project_id)
        fields = json.loads(context_fields.list_all(conn))
        protection = json.loads(change_requests.list_config(conn, project_id))
        reviewer = REVIEWER if reader.may("ADMIN") and not roles.is_taken(conn, REVIEWER["name"]) else None
    choices = {"stickiness": stickiness_choices(fields), "stickiness_texts": STICKINESS_TEXTS}
    return page("project/settings.html", project=project, protection=protection, reviewer=reviewer, **choices, **newest)
