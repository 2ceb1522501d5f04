"""Users, groups, roles and service accounts, to be sent back."""

from tests.support.returned.sendable import ADMIN, Json, Sendable, posted
from tests.support.world import Caller, World
from validators.people import groups, roles, service_accounts, users


def user(_: World, caller: Caller) -> Json:
    """A user with all names."""
    names = {"name": "Ada Lovelace", "username": "ada", "email": "ada@example.org"}
    return posted(caller, "user-admin", names | {"rootRole": 2, "sendEmail": False})


def group(world: World, caller: Caller) -> Json:
    """A group with two members, a root role and a project."""
    members = [{"user": {"id": person.id}} for person in (caller, world.user("Bob"))]
    body = {"name": "Payments", "description": "Pays.", "mappingsSSO": ["payments"], "rootRole": 3, "users": members}
    created = posted(caller, "groups", body)
    access = {"roles": [5], "users": [], "groups": [created["id"]]}
    assert caller.post(f"{ADMIN}/projects/default/access", json=access).status_code == 200
    return created


def role(_: World, caller: Caller) -> Json:
    """A role with permissions of all kinds."""
    permissions = [{"name": "UPDATE_FEATURE"}, {"name": "CREATE_FEATURE_STRATEGY", "environment": "production"}]
    permissions += [{"name": "DELETE_FEATURE_STRATEGY"}]
    body = {"name": "Releaser", "description": "Releases.", "type": "root-custom", "permissions": permissions}
    return posted(caller, "roles", body)["roles"]


def service_account(_: World, caller: Caller) -> Json:
    """A service account with a token."""
    created = posted(caller, "service-account", {"username": "terraform", "name": "Terraform", "rootRole": 2})
    token = {"description": "ci", "expiresAt": "2099-01-01T00:00:00Z"}
    posted(caller, f"service-account/{created['id']}/token", token)
    return created


OF_USERS = {"isAPI": True, "username": "other", "imageUrl": "https://example.org/a.png", "accountType": "Other"}
PEOPLE = (
    Sendable(
        "user",
        users.USER,
        users.UpdateUser,
        users.CreateUser,
        ("managedUser", "user"),
        user,
        ("user-admin/{id}", "user-admin"),
        "user-admin/{id}",
        "user-admin",
        {"username": "ada-2", "email": "ada-2@example.org"},
        OF_USERS,
    ),
    Sendable(
        "group",
        groups.GROUP,
        groups.UpdateGroup,
        groups.CreateGroup,
        ("group",),
        group,
        ("groups/{id}", "groups"),
        "groups/{id}",
        "groups",
        {"name": "Payments 2"},
        {"createdBy": "nobody", "projects": []},
    ),
    Sendable(
        "role",
        roles.ROLE,
        roles.UpdateRole,
        roles.CreateRole,
        ("role", "roleWithPermissions"),
        role,
        ("roles/{id}", "roles"),
        "roles/{id}",
        "roles",
        {"name": "Releaser 2"},
        {"project": "default"},
    ),
    Sendable(
        "service account",
        service_accounts.SERVICE_ACCOUNT,
        service_accounts.UpdateServiceAccount,
        service_accounts.CreateServiceAccount,
        ("serviceAccount",),
        service_account,
        ("service-account",),
        "service-account/{id}",
        "service-account",
        {"username": "terraform-2"},
        OF_USERS | {"tokens": []},
    ),
)
