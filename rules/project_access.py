"""Give and take roles in a project."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

from werkzeug.exceptions import BadRequest, Conflict, Forbidden, NotFound

from rules.access import Actor
from sql import events
from sql.database import Connection
from sql.events import Event
from sql.people.roles import OWNER
from sql.people.users import hold_many as hold_users
from sql.projects import access as project_access
from sql.projects.access import RoleGrant

# Our choice: callers need one of these permissions to change the roles in a project.
WRITE = ("UPDATE_PROJECT", "PROJECT_USER_ACCESS_WRITE")

UPDATED = {"user": "project-access-user-roles-updated", "group": "project-access-group-roles-updated"}
DELETED = {"user": "project-access-user-roles-deleted", "group": "project-access-group-roles-deleted"}

Holder = Literal["user", "group"]
Grants = Collection[RoleGrant]


def add_roles(conn: Connection, actor: Actor, project_id: str, change: Mapping[str, Sequence[int]]) -> None:
    """Give each of the `users` and `groups` each of the `roles`. Raise 400, or as replace_grants()."""
    # Sets: two lists that repeat one id a thousand times would make a million pairs.
    roles, users, groups = set(change["roles"]), set(change["users"]), set(change["groups"])
    before = lock_grants(conn, project_id)
    check_exist(conn, roles=roles, users=users, groups=groups)
    added = {RoleGrant(role, "user", user) for role in roles for user in users}
    added |= {RoleGrant(role, "group", group) for role in roles for group in groups}
    if replace_grants(conn, actor, project_id, before, before | added):
        data = by_role(added - before, "roleId", "userIds", "groupIds")
        events.record(conn, Event("project-access-added", actor, project=project_id, data=data))


def replace_roles(conn: Connection, actor: Actor, project_id: str, roles: Sequence[Mapping[str, Any]]) -> None:
    """Replace all roles by these, each with `id`, `users` and `groups`. Raise as add_roles()."""
    before = lock_grants(conn, project_id)
    after = {RoleGrant(role["id"], "user", user) for role in roles for user in role["users"]}
    after |= {RoleGrant(role["id"], "group", group) for role in roles for group in role["groups"]}
    users, groups = ({grant.id for grant in after if grant.holder == holder} for holder in ("user", "group"))
    check_exist(conn, roles={role["id"] for role in roles}, users=users, groups=groups)
    if replace_grants(conn, actor, project_id, before, after):
        data, pre_data = (by_role(grants, "id", "users", "groups") for grants in (after, before))
        events.record(conn, Event("project-access-updated", actor, project=project_id, data=data, pre_data=pre_data))


def set_roles(
    conn: Connection, actor: Actor, project_id: str, holder: Holder, holder_id: int, roles: Sequence[int]
) -> None:
    """Replace the roles of one user or group. Raise 404 if it is unknown, and 400 for an unknown role."""
    before = lock_grants(conn, project_id)
    check_holder_exists(conn, holder, holder_id)
    check_exist(conn, roles=roles)
    old = grants_of(before, holder, holder_id)
    new = {RoleGrant(role, holder, holder_id) for role in roles}
    if replace_grants(conn, actor, project_id, before, before - old | new, keep_owner=True):
        data, pre_data = ({"roles": roles_of(grants), f"{holder}Id": holder_id} for grants in (new, old))
        events.record(conn, Event(UPDATED[holder], actor, project=project_id, data=data, pre_data=pre_data))


def remove_roles(conn: Connection, actor: Actor, project_id: str, holder: Holder, holder_id: int) -> None:
    """Take all roles from one user or group. Raise 404 if unknown, and 409 for the last owner."""
    before = lock_grants(conn, project_id)
    check_holder_exists(conn, holder, holder_id)
    old = grants_of(before, holder, holder_id)
    if replace_grants(conn, actor, project_id, before, before - old, keep_owner=True):
        pre_data = {"roles": roles_of(old), f"{holder}Id": holder_id}
        events.record(conn, Event(DELETED[holder], actor, project=project_id, pre_data=pre_data))


def lock_grants(conn: Connection, project_id: str) -> set[RoleGrant]:
    """Lock and return the roles in the project. Raise 404 if it was deleted after require() checked the permission."""
    grants = project_access.lock_grants(conn, project_id)
    if grants is None:
        raise NotFound("No project has that id.")
    return grants


def check_exist(
    conn: Connection, *, roles: Collection[int], users: Collection[int] = (), groups: Collection[int] = ()
) -> None:
    """Raise 400 for ids of unknown users or groups, and of roles that cannot be assigned in a project."""
    problems = []
    if set(roles) - project_access.hold_roles(conn, set(roles)):
        problems.append("roles: must be ids of roles that can be assigned in a project")
    # A change of a group locks the group first, then its members.
    if set(groups) - project_access.hold_groups(conn, set(groups)):
        problems.append("groups: must be ids of existing groups")
    if set(users) - hold_users(conn, set(users)):
        problems.append("users: must be ids of existing users")
    if problems:
        raise BadRequest("; ".join(problems))


def check_holder_exists(conn: Connection, holder: Holder, holder_id: int) -> None:
    """Raise 404 if the user or group does not exist."""
    hold = hold_users if holder == "user" else project_access.hold_groups
    if not hold(conn, [holder_id]):
        raise NotFound(f"No {holder} has that id.")


def replace_grants(
    conn: Connection, actor: Actor, project_id: str, before: Grants, after: Grants, *, keep_owner: bool = False
) -> bool:
    """Replace the roles in the project, and return whether they changed.

    Raises 403 if the caller lacks a permission of an added role and is neither an administrator nor an owner of the
    project. keep_owner: raise 409 if the project would lose its last owner.
    """
    added = {grant.role for grant in set(after) - set(before)}
    if not actor.is_admin and project_access.list_excess_roles(conn, project_id, actor.user_id, added):
        raise Forbidden("You can only assign roles whose permissions you have in this project.")
    if keep_owner and has_owner(before) and not has_owner(after):
        raise Conflict("This is the last owner of the project. Add another owner first.")
    project_access.replace_grants(conn, project_id, before, after)
    return before != after


def has_owner(grants: Iterable[RoleGrant]) -> bool:
    """Return whether a user or group is an owner of the project."""
    return any(grant.role == OWNER for grant in grants)


def grants_of(grants: Iterable[RoleGrant], holder: Holder, holder_id: int) -> set[RoleGrant]:
    """Return the grants of one user or group."""
    return {grant for grant in grants if (grant.holder, grant.id) == (holder, holder_id)}


def roles_of(grants: Iterable[RoleGrant]) -> list[int]:
    """Return the sorted ids of the roles."""
    return sorted({grant.role for grant in grants})


def by_role(grants: Grants, role: str, users: str, groups: str) -> dict[str, Any]:
    """Return {"roles": [{role: 5, users: [7, 8], groups: []}]}, sorted, with these names of the keys."""
    return {
        "roles": [
            {role: role_id, users: holders_of(grants, role_id, "user"), groups: holders_of(grants, role_id, "group")}
            for role_id in roles_of(grants)
        ]
    }


def holders_of(grants: Iterable[RoleGrant], role_id: int, holder: Holder) -> list[int]:
    """Return the sorted ids of the users or of the groups that have a role."""
    return sorted(grant.id for grant in grants if (grant.role, grant.holder) == (role_id, holder))
