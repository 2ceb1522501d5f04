"""Read the users, roles and groups of a running Unleash server."""

from operations.unleash.client import Unleash, path_of
from rules import import_shapes as shapes
from rules.import_contents import Contents
from rules.import_shapes import Json

CUSTOM = ("root-custom", "custom")


def read_people(server: Unleash, contents: Contents) -> None:
    """Add users, roles, groups and access to projects. Only the paid edition of Unleash has all of them."""
    answer = server.get("/api/admin/user-admin", {"users": (shapes.USER,), "rootRoles": [shapes.ROLE]})
    contents.users = [user | {"isService": False} for user in answer["users"]]
    shape: Json = {"serviceAccounts": (shapes.USER,)}
    found = read_optional(server, contents, "Service accounts", "/api/admin/service-account", shape)
    contents.users += [user | {"isService": True} for user in found.get("serviceAccounts", ())]
    found = read_optional(server, contents, "Custom roles", "/api/admin/roles", {"roles": (shapes.ROLE,)})
    for role in found.get("roles", answer["rootRoles"]):
        details = {"permissions": [shapes.PERMISSION]}
        is_custom = role["type"] in CUSTOM
        permissions = server.get(f"/api/admin/roles/{role['id']}", details) if is_custom else {"permissions": []}
        contents.roles.append(role | permissions)
    found = read_optional(server, contents, "Groups", "/api/admin/groups", {"groups": (shapes.GROUP,)})
    for group in found.get("groups", ()):
        contents.groups.append(group | {"users": [member["user"]["id"] for member in group["users"]]})
    for project in contents.projects:
        access = read_optional(server, contents, "Project roles", path_of(project["id"], "access"), shapes.ACCESS)
        if not access:
            break
        contents.access.append({"project": project["id"], **access})


def read_optional(server: Unleash, contents: Contents, what: str, path: str, shape: Json) -> Json:
    """Return the answer to GET. If the server does not answer, return {} and add a warning. what: for the warning."""
    answer: Json | None = server.get(path, shape, missing=(403, 404))
    if answer is None:
        contents.warnings.append(f"{what} are not moved, because that server does not answer GET {path}.")
    return answer or {}
