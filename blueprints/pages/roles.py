"""The roles and their permissions."""

import json
from typing import Any

from flask import Blueprint, Response, abort, request

from blueprints.pages.lists import list_page
from blueprints.pages.newest_change import newest_change
from blueprints.pages.page import page, require_reader
from rules.access import id_in_path
from sql.database import connection
from sql.people import permissions, roles

bp = Blueprint("roles", __name__)

TYPES = {
    "root": "root role, predefined",
    "root-custom": "root role",
    "project": "project role, predefined",
    "custom": "project role",
}


@bp.get("/admin/roles")
def show_roles() -> Response:
    """Show the roles, predefined ones first."""
    with connection() as conn:
        require_reader(conn, "READ_ROLE")
        body = json.loads(roles.list_all(conn))
    return page("admin/roles.html", types=TYPES, **list_page(body["roles"], "name"))


@bp.get("/admin/roles/new")
def show_new_role() -> Response:
    """Show the form of a new project role or root role."""
    with connection() as conn:
        require_reader(conn, "ADMIN")
        tree = json.loads(permissions.tree(conn))["permissions"]
    role = {"type": "root-custom" if request.args.get("type") == "root-custom" else "custom", "permissions": []}
    return page("admin/role.html", role=role, groups=groups_of(tree, role), types=TYPES, editable=True)


@bp.get("/admin/roles/<role_id>")
def show_role(role_id: str) -> Response:
    """Show a role with its permissions."""
    with connection() as conn:
        reader = require_reader(conn, "READ_ROLE", list_projects=True)
        found = roles.get(conn, id_in_path(role_id)) or abort(404, "No role has that id.")
        role = json.loads(found)
        newest = newest_change(conn, reader, found.version, "role-updated", {"id": role["id"]})
        held = [permission["name"] for permission in role["permissions"]]
        tree = json.loads(permissions.tree(conn, held))["permissions"]
    editable = reader.may("ADMIN") and role["type"] in ("root-custom", "custom")
    return page("admin/role.html", role=role, groups=groups_of(tree, role), types=TYPES, editable=editable, **newest)


def groups_of(tree: dict[str, Any], role: dict[str, Any]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the permissions that a role can contain, in groups with titles. Each has held: whether the role has it."""
    environments = tree["environments"]
    everywhere = [{**item, "environment": None} for item in environments[0]["permissions"]] if environments else []
    groups = [("Projects", tree["project"]), ("All environments", everywhere)]
    groups += [(f"Environment {environment['name']}", environment["permissions"]) for environment in environments]
    if role["type"] in ("root", "root-custom"):
        # Only the predefined role Admin can have the permission ADMIN.
        root = [item for item in tree["root"] if item["name"] != "ADMIN" or role["type"] == "root"]
        groups.insert(0, ("Whole instance", root))
    held = {(item["name"], item.get("environment")) for item in role["permissions"]}
    for item in (item for _, items in groups for item in items if item["name"] in permissions.WITHOUT_EFFECT):
        item["displayName"] += " (no effect on this server)"
    return [
        (title, [{**item, "held": (item["name"], item.get("environment")) in held} for item in items])
        for title, items in groups
    ]
