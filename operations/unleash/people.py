"""Read the users, roles and groups of a running Unleash server."""

from typing import Any

from operations.unleash.client import Unleash, path_of
from rules import import_shapes as shapes
from rules.import_contents import Contents

CUSTOM = ("root-custom", "custom")


def read_people(server: Unleash, contents: Contents) -> None:
    """Add users, roles, groups and access to projects. Only the paid edition of Unleash has all of them."""

    def optional(what: str, path: str, shape: Any) -> Any:
        answer = server.get(path, shape, missing=(403, 404))
        if answer is None:
            contents.warnings.append(f"{what} are not moved, because that server has no GET {path}.")
        return answer

    accounts = {"serviceAccounts": (shapes.USER,)}
    answer = server.get("/api/admin/user-admin", {"users": (shapes.USER,), "rootRoles": [shapes.ROLE]})
    contents.users = [user | {"isService": False} for user in answer["users"]]
    if found := optional("Service accounts", "/api/admin/service-account", accounts):
        contents.users += [user | {"isService": True} for user in found["serviceAccounts"]]
    found = optional("Custom roles", "/api/admin/roles", {"roles": (shapes.ROLE,)}) or {"roles": answer["rootRoles"]}
    for role in found["roles"]:
        details = {"permissions": [shapes.PERMISSION]}
        is_custom = role["type"] in CUSTOM
        contents.roles.append(
            role | (server.get(f"/api/admin/roles/{role['id']}", details) if is_custom else {"permissions": []})
        )
    if found := optional("Groups", "/api/admin/groups", {"groups": (shapes.GROUP,)}):
        contents.groups = [
            group | {"users": [member["user"]["id"] for member in group["users"]]} for group in found["groups"]
        ]
    for project in contents.projects:
        access = optional("Project roles", path_of(project["id"], "access"), shapes.ACCESS)
        if access is None:
            break
        contents.access.append({"project": project["id"], **access})
