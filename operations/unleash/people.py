"""Read the users, roles and groups of a running Unleash server."""

from typing import Any
from urllib.parse import quote

from operations.unleash.client import Unleash
from rules import import_shapes as shapes
from rules.import_contents import Contents
from rules.import_shapes import Json

CUSTOM = ("root-custom", "custom")


def read_people(server: Unleash, contents: Contents) -> None:
    """Add users, roles, groups and access to projects, as far as the server has them."""
    shape = {"users": [shapes.USER], "rootRoles": [shapes.ROLE]}
    answer = server.get("/api/admin/user-admin", shape)
    accounts = optional(server, contents, "Service accounts", "/api/admin/service-account", {"users": [shapes.USER]})
    for user, is_service in [
        *((user, False) for user in answer["users"]),
        *((user, True) for user in accounts["users"]),
    ]:
        contents.users.append({**user, "isService": is_service})
    roles = optional(server, contents, "Custom roles", "/api/admin/roles", {"roles": [shapes.ROLE]})["roles"]
    for role in {role["id"]: role for role in answer["rootRoles"] + roles}.values():
        permissions: list[Json] = []
        if role["type"] in CUSTOM:
            shape = {"permissions": [shapes.PERMISSION]}
            permissions = server.get(f"/api/admin/roles/{role['id']}", shape)["permissions"]
        contents.roles.append({**role, "permissions": permissions})
    groups = optional(server, contents, "Groups", "/api/admin/groups", {"groups": [shapes.GROUP]})["groups"]
    contents.groups = [group | {"users": [member["user"]["id"] for member in group["users"]]} for group in groups]
    for project in contents.projects:
        url = f"/api/admin/projects/{quote(project['id'], safe='')}/access"
        contents.access.append(
            {
                "project": project["id"],
                **optional(server, contents, f"Roles in project {project['id']}", url, shapes.ACCESS),
            }
        )


def optional(server: Unleash, contents: Contents, what: str, url: str, shape: Json) -> Any:
    """Return the answer to GET, or an empty one with a warning if the edition does not have it."""
    answer = server.get(url, shape, missing=(403, 404))
    if answer is None:
        contents.warnings.append(f"{what} are not moved, because this server has no GET {url}.")
        return shapes.fit({}, shape)
    return answer
